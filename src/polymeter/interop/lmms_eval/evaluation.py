"""An evaluation with lmms-eval's options, which writes lmms-eval's result and sample files beside our run folder.

This module owns what the options mean (argument strings, seeds, tasks, time zones); ``model_names`` owns which model a
name means.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from fnmatch import filter as filter_names
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from polymeter.api.result import RunResult
from polymeter.api.running import evaluate
from polymeter.api.settings import parity_of
from polymeter.catalog.listing import build_catalog
from polymeter.core.errors import PlanError
from polymeter.core.identity import fingerprint
from polymeter.core.model import Model
from polymeter.core.records.progress import Progress
from polymeter.core.text.secrets import hide_secrets, without_secrets
from polymeter.exchange.sending import make_trackers, send_to_all
from polymeter.interop.lm_family.evaluation import (
    DEFAULT_SEEDS,
    Seeds,
    check_output_path,
    identity_options,
    parse_batch_size,
    run_folder,
)
from polymeter.interop.lmms_eval import SYSTEM
from polymeter.interop.lmms_eval import results as files
from polymeter.interop.lmms_eval.files.efficiency import build_efficiency_summary
from polymeter.interop.lmms_eval.model_names import model_and_arguments, path_in_checkout
from polymeter.interop.lmms_eval.models.arguments import simple_parse_args_string
from polymeter.interop.lmms_eval.results import LmmsEvalFacts
from polymeter.interop.lmms_eval.shim.lmms_eval.figures import reset_logged_metrics, summarize_logged_metrics
from polymeter.interop.lmms_eval.tracking import hub_arguments, wandb_arguments

DEFAULT_ZONE = "Asia/Singapore"
_CHECKOUT_TASKS = Path("lmms_eval", "tasks")


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
    timezone: str = DEFAULT_ZONE
    predict_only: bool = False
    seed: str = "0,1234,1234,1234"
    process_with_media: bool = False
    force_simple: bool = False
    strict_resume: bool = False
    repeats: int = 1
    baseline: str | None = None
    parity: str | None = None
    wandb_args: str = ""
    wandb_log_samples: bool = False
    hf_hub_log_args: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LmmsEvalResult:
    """A finished evaluation.

    Attributes:
        run: Ours.
        files: lmms-eval's files, as written.
        notes: What the user should know about how the command was carried out.
        facts: The command, as lmms-eval's documents record it.
    """

    run: RunResult
    files: tuple[Path, ...]
    notes: tuple[str, ...]
    facts: LmmsEvalFacts


def evaluate_lmms_eval(
    command: LmmsEvalCommand, *, progress: Progress | None = None, typed: str = "", model: Model | None = None
) -> LmmsEvalResult:
    """Run a command of lmms-eval.

    With an ``output_path``, the run folder lies beside the files. The same command again resumes a run that was
    interrupted or has failed samples; with ``use_cache`` it also reuses the answers of a complete one.

    Args:
        command: The command.
        progress: Receives the progress of the run.
        typed: What the user typed, for the record.
        model: An existing model, in place of the one that the command names.

    Raises:
        PlanError: if it cannot run with these options; nothing was spent.
        DataError: if a dataset cannot be opened; nothing was spent.
    """
    _check(command)
    stamp = time_stamp(command.timezone)
    seeds = parse_seeds(command.seed)
    patterns, include_paths = patterns_and_paths(command.tasks, command.include_path)
    include_paths = with_tasks_of_checkout(patterns, include_paths)
    arguments = parse_arguments(command.model_args, "--model_args")
    model_path = command.model_path or (path_in_checkout(command.model) if model is None else "")
    name, model_args, note = (
        model_and_arguments(command.model, arguments, command.device, model_path)
        if model is None
        else (command.model, {}, "")
    )
    options = {**_options(command, seeds), **_prompts(command, name), "include_paths": include_paths}
    options["prefer"] = (SYSTEM.log_name,)
    if model is None and command.force_simple and name.startswith("lmms"):
        model_args = {**model_args, "force_simple": True}
    identity = fingerprint(
        [name, command.model_path, hide_secrets(command.model_args), sorted(patterns), _options_in_name(options)]
    )[:8]
    folder = _folder(command)
    log_to = _log_to(command, stamp)
    trackers = make_trackers(log_to)
    reset_logged_metrics()
    run = evaluate(
        name if model is None else model,
        patterns,
        model_path=model_path if model is None else "",
        model_args=model_args,
        progress=progress,
        command=typed,
        output=run_folder(command.use_cache, folder, "{stamp}_run_{identity}", identity, stamp),
        **options,
    )
    facts = LmmsEvalFacts(
        command.model,
        hide_secrets(command.model_args),
        stamp,
        seeds,
        without_secrets(dict(command.arguments)),
        summarize_logged_metrics(),
    )
    written: tuple[Path, ...] = ()
    if folder is not None and run.is_complete:
        has_samples = command.log_samples or command.predict_only
        stored = files.stored_run(run.folder)
        written = files.write_files(stored, folder, facts, has_samples=has_samples, baseline=command.baseline or "")
    further = {f"{files.model_name(command.model_args) or command.model}/{path.name}": path for path in written[:1]}
    run = send_to_all(run, trackers, log_to, further)
    notes = [note, _seed_note(seeds)]
    return LmmsEvalResult(run, written, tuple(text for text in notes if text), facts)


def lmms_eval_document(result: LmmsEvalResult, *, has_samples: bool = True) -> dict[str, Any]:
    """Return the results as ``simple_evaluate`` of lmms-eval returns them: the content of its results file, and
    ``samples`` by task, each with its row (``doc``) without media.

    Args:
        result: A finished evaluation.
        has_samples: Whether to include the samples.

    Raises:
        PlanError: if the run is not finished.
    """
    run = files.stored_run(result.run.folder)
    document = files.results_document(run.manifest, run.results, result.facts, errors=files.item_errors(run))
    if has_samples:
        document["samples"] = files.samples_with_docs(run)
        document["efficiency"] = build_efficiency_summary(document)
    return document


def _check(command: LmmsEvalCommand) -> None:
    check_output_path(command.output_path, log_samples=command.log_samples, predict_only=command.predict_only)
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


def _options(command: LmmsEvalCommand, seeds: Seeds) -> dict[str, Any]:
    """Our options for a command; those that it does not set keep their defaults."""
    task_yaml: dict[str, Any] = {
        "repeats": command.repeats if command.repeats > 1 else None,
        "reasoning_tags": command.reasoning_tags,
        "process_with_media": command.process_with_media or None,
        "predict_only": command.predict_only or None,
        "force_simple": command.force_simple or None,
    }
    parity = parity_of(command.parity)
    if parity and seeds[3] is not None:
        task_yaml["fewshot_seed"] = seeds[3]
    task_yaml_options = {name: value for name, value in task_yaml.items() if value is not None}
    options = {
        "limit": None if command.limit == -1 else command.limit,
        "offset": command.offset or None,
        "seed": next((seed for seed in seeds if seed is not None), 0),
        "generation": parse_generation(command.gen_kwargs) or None,
        "num_fewshot": command.num_fewshot,
        "system_prompt": read_text(command.system_instruction) or None,
        "parity": parity or command.parity,
        "is_strict_resume": command.strict_resume or None,
        "batch_size": parse_batch_size(command.batch_size) if command.batch_size is not None else None,
        "dialect_options": {"task_yaml": task_yaml_options} if task_yaml_options else None,
    }
    return {name: value for name, value in options.items() if value is not None}


def _prompts(command: LmmsEvalCommand, name: str) -> dict[str, Any]:
    """The key for model-specific prompts: tasks list them under lmms-eval's model names, whichever of our backends runs
    the model.
    """
    is_ours = name.removeprefix("lmms:").partition(":")[0] == command.model.partition(":")[0]
    return {} if is_ours else {"prompt_key": command.model}


def _log_to(command: LmmsEvalCommand, stamp: str) -> dict[str, dict[str, Any]]:
    """Trackers with their arguments."""
    log_to: dict[str, dict[str, Any]] = {}
    if command.wandb_args:
        given = parse_arguments(command.wandb_args, "--wandb_args")
        name = f"{command.model}_{hide_secrets(command.model_args)}_{stamp}"
        log_to["wandb"] = wandb_arguments(given, name=name, has_samples=command.wandb_log_samples)
    if command.hf_hub_log_args:
        given = parse_arguments(command.hf_hub_log_args, "--hf_hub_log_args")
        hub = hub_arguments(given, has_samples=command.log_samples or command.predict_only)
        log_to |= {} if hub is None else {"hub": hub}
    return log_to


def _folder(command: LmmsEvalCommand) -> Path | None:
    """The folder for lmms-eval's files, named for the model if its arguments name it."""
    if not command.output_path:
        return None
    return Path(command.output_path) / files.model_folder(files.model_name(command.model_args))


def _options_in_name(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the name of the run folder depends on.

    ``include_paths`` is a runtime option but is part of the name, as absolute paths: here nothing else distinguishes
    tasks of the same name in different folders.
    """
    return {**identity_options(options), "include_paths": [str(path.resolve()) for path in options["include_paths"]]}


def _seed_note(seeds: Seeds) -> str:
    first = next((seed for seed in seeds if seed is not None), 0)
    if seeds == DEFAULT_SEEDS or all(seed == first for seed in seeds):
        return ""
    return f"A run has one seed, from which all others are derived: {first} is used, the other seeds have no effect."


def parse_arguments(text: str, option: str) -> dict[str, Any]:
    """Parse ``k=v,k=v`` by lmms-eval's rules: commas inside quotes and brackets separate nothing; booleans, whole
    numbers and floats are read as such, everything else is text (a negative number is a float, JSON stays text).

    Raises:
        PlanError: if an argument has no ``=``.
    """
    try:
        return simple_parse_args_string(text)
    except ValueError as error:
        raise PlanError(f"{error}.", where=option, hint="Write name=value,other=value") from None


def parse_generation(text: str) -> dict[str, Any]:
    """Parse ``--gen_kwargs``: as ``parse_arguments``, but JSON lists and objects are decoded (``until=["a","b"]``).

    Raises:
        PlanError: if a setting has no ``=``, or its JSON is broken.
    """
    settings = parse_arguments(text, "--gen_kwargs")
    for key, value in settings.items():
        if isinstance(value, str) and value[:1] in ("[", "{"):
            try:
                settings[key] = json.loads(value)
            except ValueError as error:
                raise PlanError(f"{value!r} is not valid JSON: {error}.", where=f"--gen_kwargs {key}") from None
    return settings


def parse_seeds(text: str) -> Seeds:
    """Parse ``--seed``: four numbers or ``None`` for Python, NumPy, torch and the few-shot sampler. One number stands
    for all four; a missing fourth is the default.

    Raises:
        PlanError: if there are not one, three or four of them, or one is neither a number nor ``None``.
    """
    items = [item.strip() for item in text.split(",")]
    try:
        seeds = [None if item.lower() == "none" else int(item) for item in items]
    except ValueError:
        raise PlanError(
            f"{text!r} contains something that is neither a number nor None.",
            where="--seed",
            hint="Write 0,1234,1234,1234",
        ) from None
    if len(seeds) == 1:
        seeds *= 4
    if len(seeds) == 3:
        seeds.append(DEFAULT_SEEDS[3])
    if len(seeds) != 4:
        raise PlanError(f"{text!r} has {len(seeds)} seeds.", where="--seed", hint="Write one, or 0,1234,1234,1234")
    return (seeds[0], seeds[1], seeds[2], seeds[3])


def patterns_and_paths(tasks: str, include_path: str | Sequence[str] | None) -> tuple[list[str], tuple[Path, ...]]:
    """Task patterns, and the folders to search. A folder among the tasks stands for all tasks in it.

    Raises:
        PlanError: if no task is named, or a folder contains none.
    """
    words = [word.strip() for word in tasks.split(",") if word.strip()]
    if not words:
        raise PlanError("No task is named.", where="--tasks", hint="'polymeter lmms-eval tasks list' lists them.")
    include_paths = [include_path] if isinstance(include_path, str) else include_path or []
    paths = tuple(Path(path) for path in include_paths if path)
    folders = tuple(Path(word) for word in words if Path(word).is_dir())
    if not folders:
        return words, paths
    catalog = build_catalog((*paths, *folders))
    names: list[str] = []
    for word in words:
        if Path(word) not in folders or word in catalog.entries or word in catalog.tags():
            names.append(word)
            continue
        folder = Path(word).resolve()
        in_folder = [entry.name for entry in catalog if entry.kind == "task" and entry.file.is_relative_to(folder)]
        if not in_folder:
            raise PlanError(f"The folder {word!r} contains no task.", where="--tasks")
        names.extend(in_folder)
    return names, (*paths, *folders)


def with_tasks_of_checkout(patterns: Sequence[str], include_paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """The folders to search, with the tasks of the checkout of lmms-eval that this process was started in if a pattern
    means nothing without them.
    """
    if not _CHECKOUT_TASKS.is_dir():
        return include_paths
    catalog = build_catalog(include_paths)
    names = [*catalog.entries, *catalog.tags()]
    is_known = all(Path(pattern).exists() or filter_names(names, pattern) for pattern in patterns)
    return include_paths if is_known else (*include_paths, _CHECKOUT_TASKS)


def read_text(text_or_path: str | None) -> str:
    """Read ``--system_instruction``: the text itself, or the content of the file of that name."""
    if not text_or_path:
        return ""
    is_short = len(text_or_path) < 1024 and "\n" not in text_or_path
    if is_short and Path(text_or_path).is_file():
        return Path(text_or_path).read_text(encoding="utf-8")
    return text_or_path


def time_stamp(zone: str) -> str:
    """The current time in a time zone, as file names have it: ``YYYYMMDD_HHMMSS``.

    Raises:
        PlanError: if this machine knows no such time zone.
    """
    return f"{datetime.now(_zone(zone)):%Y%m%d_%H%M%S}"


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        if name == DEFAULT_ZONE:
            # The default must work on a machine without tzdata; Singapore has no daylight saving time.
            return timezone(timedelta(hours=8))
        raise PlanError(
            f"There is no time zone {name!r} on this machine.", where="--timezone", hint="Install tzdata, or write UTC."
        ) from None
