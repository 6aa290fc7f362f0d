"""Evaluating as lmms-eval does: its options in, its result and sample files out, beside our run folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.api.running import RunResult, evaluate
from polymeter.core.errors import PlanError
from polymeter.core.identity import fingerprint
from polymeter.core.model import Model
from polymeter.core.progress import Progress
from polymeter.core.secrets import hide_secrets, without_secrets
from polymeter.interop.lmms_eval import result_samples as sample_files
from polymeter.interop.lmms_eval import results as files
from polymeter.interop.lmms_eval import terms
from polymeter.interop.lmms_eval.results import CommandFacts
from polymeter.store.export import read_samples
from polymeter.store.files import replacing, write_json
from polymeter.store.folder import RunFolder


@dataclass(frozen=True, slots=True)
class LmmsEvalCommand:
    """An evaluation in lmms-eval's terms. Each field is the option of that name.

    Attributes:
        arguments: All options of the command line by name, for the record.
    """

    model: str
    tasks: str
    model_args: str = ""
    model_path: str | None = None
    num_fewshot: int | None = None
    batch_size: str | None = None
    device: str | None = None
    output_path: str | None = None
    limit: float | None = None
    offset: int = 0
    use_cache: str | None = None
    log_samples: bool = False
    system_instruction: str | None = None
    include_path: str | Sequence[str] | None = None
    gen_kwargs: str = ""
    reasoning_tags: str | None = None
    timezone: str = terms.DEFAULT_ZONE
    predict_only: bool = False
    seed: str = "0,1234,1234,1234"
    process_with_media: bool = False
    force_simple: bool = False
    repeats: int = 1
    baseline: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LmmsEvalResult:
    """A finished evaluation.

    Attributes:
        run: Ours.
        files: lmms-eval's files, as written.
        notes: What the user should know of how the command was taken.
        facts: The command, for further documents.
    """

    run: RunResult
    files: tuple[Path, ...]
    notes: tuple[str, ...]
    facts: CommandFacts


def evaluate_lmms_eval(
    command: LmmsEvalCommand, *, progress: Progress | None = None, typed: str = "", model: Model | None = None
) -> LmmsEvalResult:
    """Run a command of lmms-eval.

    Where there is an ``output_path``, the run folder lies beside the files. The same command again goes on with a run
    that did not end well; with ``use_cache`` it also keeps the answers of one that did.

    Args:
        command: The command.
        progress: Who watches.
        typed: What the user typed, for the record.
        model: A model that is there already, in place of the one that the command names.

    Raises:
        PlanError: It cannot run as asked for; nothing was spent.
        DataError: A dataset cannot be opened; nothing was spent.
    """
    _check(command)
    stamp = terms.time_stamp(command.timezone)
    seeds = terms.parse_seeds(command.seed)
    patterns, include_paths = terms.patterns_and_paths(command.tasks, command.include_path)
    arguments = terms.parse_arguments(command.model_args, "--model_args")
    name, model_args, note = (
        terms.model_and_arguments(command.model, arguments, command.device, command.model_path or "")
        if model is None
        else (command.model, {}, "")
    )
    options = {**_options(command, seeds), **_prompts(command, name), "include_paths": include_paths}
    identity = fingerprint(
        [name, command.model_path, hide_secrets(command.model_args), sorted(patterns), _plain(options)]
    )[:8]
    folder = _folder(command)
    run = evaluate(
        name if model is None else model,
        patterns,
        model_path=(command.model_path or "") if model is None else "",
        model_args=model_args,
        progress=progress,
        command=typed,
        output=_run_folder(command, folder, stamp, identity),
        **options,
    )
    facts = CommandFacts(
        command.model, hide_secrets(command.model_args), stamp, seeds, without_secrets(dict(command.arguments))
    )
    written: tuple[Path, ...] = ()
    if folder is not None and run.results:
        has_samples = command.log_samples or command.predict_only
        written = write_lmms_eval_files(
            run.folder, folder, facts, has_samples=has_samples, baseline=command.baseline or ""
        )
    notes = [note, _seed_note(seeds)]
    return LmmsEvalResult(run, written, tuple(text for text in notes if text), facts)


def lmms_eval_document(result: LmmsEvalResult, *, has_samples: bool = True) -> dict[str, Any]:
    """What ``simple_evaluate`` of lmms-eval gives back: the content of its results file, and ``samples`` by task, each
    with its row (``doc``) without media.

    Args:
        result: A finished evaluation.
        has_samples: Whether samples are wanted.

    Raises:
        PlanError: The run is not finished.
    """
    run = result.run.folder
    results = run.read_results()
    document = files.results_document(run.read_manifest(), results, result.facts)
    if has_samples:
        document["samples"] = {
            name: _with_docs(run, name, _records(run, name, task)) for name, task in results["tasks"].items()
        }
    return document


def write_lmms_eval_files(
    run: RunFolder, folder: Path, facts: CommandFacts, *, has_samples: bool = False, baseline: str = ""
) -> tuple[Path, ...]:
    """Write lmms-eval's files for a finished run.

    Args:
        run: The run folder.
        folder: Where the files go.
        facts: The command.
        has_samples: Whether samples are written too.
        baseline: A sample file, or a folder of them, to compare with; empty for none.

    Raises:
        PlanError: The run is not finished, or the baseline cannot be read.
    """
    results = run.read_results()
    written: list[Path] = []
    hashes: dict[str, str] = {}
    for name, task in results["tasks"].items() if has_samples else ():
        path = sample_files.samples_file(folder, facts.stamp, name)
        with replacing(path) as file:
            for record in _records(run, name, task):
                file.write(json.dumps(record, ensure_ascii=False))
                file.write("\n")
        hashes[name] = sample_files.task_hash(lambda name=name: read_samples(run, name))  # type: ignore[misc]
        written.append(path)
    document = files.results_document(run.read_manifest(), results, facts, hashes)
    for name, task in results["tasks"].items() if baseline else ():
        document["results"][name] |= _paired(run, name, task, Path(baseline))
    path = files.results_file(folder, facts.stamp)
    write_json(path, document)
    return (path, *written)


def _check(command: LmmsEvalCommand) -> None:
    if (command.log_samples or command.predict_only) and not command.output_path:
        option = "--log_samples" if command.log_samples else "--predict_only"
        raise PlanError(f"{option} needs a place to write to.", where=option, hint="Name a folder with --output_path.")
    if command.limit is not None and command.limit <= 0 and command.limit != -1:
        raise PlanError(
            f"{command.limit:g} is not a limit.", where="--limit", hint="Write 100, 0.1 for a tenth, or -1 for all."
        )
    if command.baseline and not Path(command.baseline).exists():
        raise PlanError(
            f"There is no baseline at {command.baseline!r}.",
            where="--baseline",
            hint="Name a ..._samples_<task>.jsonl file or a folder of them; named presets and hf:// are not fetched.",
        )
    if command.baseline and not command.output_path:
        raise PlanError("The comparison goes into the results file.", where="--baseline", hint="Name an --output_path.")


def _options(command: LmmsEvalCommand, seeds: terms.Seeds) -> dict[str, Any]:
    """Our options for a command; those that it does not name keep their defaults."""
    yaml = {
        "repeats": command.repeats if command.repeats > 1 else None,
        "reasoning_tags": command.reasoning_tags,
        "process_with_media": command.process_with_media or None,
        "predict_only": command.predict_only or None,
        "force_simple": command.force_simple or None,
    }
    told_to_yaml = {name: value for name, value in yaml.items() if value is not None}
    told = {
        "limit": None if command.limit == -1 else command.limit,
        "offset": command.offset or None,
        "seed": next((seed for seed in seeds if seed is not None), 0),
        "generation": terms.parse_generation(command.gen_kwargs) or None,
        "num_fewshot": command.num_fewshot,
        "system_prompt": terms.read_text(command.system_instruction) or None,
        "batch_size": terms.parse_batch_size(command.batch_size) if command.batch_size is not None else None,
        "dialect_options": {"task_yaml": told_to_yaml} if told_to_yaml else None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _prompts(command: LmmsEvalCommand, name: str) -> dict[str, Any]:
    """Tasks have prompts for models by lmms-eval's names for them, whatever runs such a model here."""
    is_ours = name.removeprefix("lmms:").partition(":")[0] == command.model.partition(":")[0]
    return {} if is_ours else {"prompt_key": command.model}


def _folder(command: LmmsEvalCommand) -> Path | None:
    """Where lmms-eval's files go: a folder of the model's name, where its arguments name it."""
    if not command.output_path:
        return None
    return Path(command.output_path) / files.model_folder(files.model_name(command.model_args))


def _run_folder(command: LmmsEvalCommand, folder: Path | None, stamp: str, identity: str) -> Path | None:
    if command.use_cache:
        return Path(command.use_cache) / f"run_{identity}"
    if folder is None:
        return None
    unfinished = [path for path in folder.glob(f"*_run_{identity}") if _can_go_on(RunFolder(path))]
    return max(unfinished, default=folder / f"{stamp}_run_{identity}")


def _can_go_on(run: RunFolder) -> bool:
    """Whether a run stopped before its end, or left samples without a score."""
    if not run.is_begun():
        return False
    manifest = run.read_manifest()
    return manifest["status"] != "complete" or bool(manifest.get("n_failed"))


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in options.items() if name not in ("include_paths", "batch_size")}
    return {**rest, "include_paths": [str(path.resolve()) for path in options["include_paths"]]}


def _seed_note(seeds: terms.Seeds) -> str:
    first = next((seed for seed in seeds if seed is not None), 0)
    if seeds == terms.DEFAULT_SEEDS or all(seed == first for seed in seeds):
        return ""
    return f"A run has one seed, from which all others are derived: {first} is used, the other seeds have no effect."


def _records(run: RunFolder, name: str, task: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    return sample_files.sample_records(lambda: read_samples(run, name), sample_files.filters_of(task))


def _with_docs(run: RunFolder, name: str, records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    docs = {sample["index"]: sample["doc"] for sample in read_samples(run, name)}
    return [{**record, "doc": docs[record["doc_id"]]} for record in records]


def _paired(run: RunFolder, name: str, task: Mapping[str, Any], baseline: Path) -> dict[str, Any]:
    """The comparison with a baseline; empty where a folder of baselines has no file for this task."""
    file = baseline
    if baseline.is_dir():
        found = sorted(baseline.rglob(f"*_samples_{name}.jsonl"))
        if not found:
            return {}
        file = found[-1]
    before = sample_files.paired_values(task, _lines(file))
    return sample_files.paired_row(sample_files.paired_values(task, _records(run, name, task)), before, file.stem[:30])


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                yield json.loads(line)
            except ValueError:
                raise PlanError("A line of the baseline is not JSON.", where=f"{path}:{number}") from None
