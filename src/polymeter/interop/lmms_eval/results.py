"""lmms-eval's result files, made from a run folder, so that scripts that read them keep working.

This is only a translation: every number comes from ``results.json``. A key for which there is no true value is
``None``, ``"N/A"`` or absent. ``result_samples`` makes the lines of the sample files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from polymeter.core.errors import PlanError
from polymeter.core.machine.files import replacing
from polymeter.core.machine.places import stored_at
from polymeter.core.names.parity import Parity, parity_with
from polymeter.core.text.json_text import json_text
from polymeter.interop.lm_family.evaluation import DEFAULT_SEEDS, Seeds
from polymeter.interop.lm_family.files.names import (
    Directions,
    filters_of,
    hash_text,
    merge_directions,
    read_version,
    safe_name,
)
from polymeter.interop.lmms_eval.files import result_samples as samples
from polymeter.interop.lmms_eval.files.efficiency import overall_efficiency, task_efficiency
from polymeter.interop.lmms_eval.files.filtered_answers import filters_of_task
from polymeter.reading.stored import samples_as_read
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import RunFolder, write_json

_NO_ERROR = "N/A"
_NO_VERSION = "Yaml"
_MODEL_KEYS = ("peft", "delta", "pretrained", "model", "model_version", "model_name", "model_id", "path", "engine")
ItemErrors = Mapping[tuple[str, str], tuple[float | None, float | None]]
"""By metric and filter: the standard error of the mean of the samples' numbers, and the clustered one."""
_DEFAULTS = {"output_type": "generate_until", "repeats": 1, "score_key": "score"}


@dataclass(frozen=True, slots=True)
class LmmsEvalFacts:
    """Facts of the command that lmms-eval's files record and the run folder does not.

    Attributes:
        model: The model as the user named it.
        model_args: Its arguments, as one string.
        stamp: The local time in the file names, ``YYYYMMDD_HHMMSS``.
        seeds: The given seeds of Python, NumPy, torch and the few-shot sampler.
        arguments: All arguments by name, with defaults.
        throughput: What a wrapper has reported of its speed; empty if it reports nothing.
    """

    model: str
    model_args: str
    stamp: str
    seeds: Seeds = DEFAULT_SEEDS
    arguments: Mapping[str, Any] = field(default_factory=dict)
    throughput: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LmmsEvalStoredRun:
    """The content of a run folder.

    Attributes:
        manifest: The content of ``run.json``.
        results: The content of ``results.json``.
        read: ``(task) → samples`` that have ended.
    """

    manifest: Mapping[str, Any]
    results: Mapping[str, Any]
    read: Callable[[str], Iterable[dict[str, Any]]]


def stored_run(run: RunFolder) -> LmmsEvalStoredRun:
    """A finished run.

    Raises:
        PlanError: if it is not finished.
    """
    manifest = run.read_manifest()
    return LmmsEvalStoredRun(
        manifest, run.read_results(), lambda task: samples_as_read(read_samples(run, task), manifest, task)
    )


def model_name(model_args: str) -> str:
    """The model's name as lmms-eval takes it from the model's arguments; empty if none of them names it."""
    for key in _MODEL_KEYS:
        match = re.search(rf"(?:^|,)\s*{key}=([^,]*)", model_args)
        if match:
            return match[1].strip()
    return ""


def model_folder(name: str) -> str:
    """The folder's name: the last two parts of the model's name, without characters that file systems refuse."""
    parts = [part for part in name.replace("\\", "/").split("/") if part]
    return safe_name("/".join(parts[-2:]))


def results_file(folder: Path, stamp: str) -> Path:
    """The path of the results file."""
    return folder / f"{stamp}_results.json"


def write_files(
    run: LmmsEvalStoredRun, folder: Path, facts: LmmsEvalFacts, *, has_samples: bool = False, baseline: str = ""
) -> tuple[Path, ...]:
    """Write lmms-eval's files for a run.

    Args:
        run: The run.
        folder: The folder for the files.
        facts: The command.
        has_samples: Whether to write the samples too.
        baseline: A sample file, or a folder of them, to compare with; empty for none.

    Raises:
        PlanError: if the baseline cannot be read.
    """
    manifest, results = run.manifest, run.results
    parity = _parity(manifest)
    written: list[Path] = []
    hashes: dict[str, str] = {}
    efficiency: dict[str, Any] = {}
    for name in results["tasks"] if has_samples else ():
        path = samples.samples_file(folder, facts.stamp, name)
        with stored_at(path, "Writing samples"), replacing(path) as file:
            lines = map(samples.file_line, _records(run, name))
            efficiency[name] = task_efficiency(_written(lines, file), _score_key(manifest, name))
        hashes[name] = samples.task_hash(lambda name=name: run.read(name), parity)  # type: ignore[misc]
        written.append(path)
    document = results_document(manifest, results, facts, hashes, item_errors(run), overall_efficiency(efficiency))
    for name, task in results["tasks"].items() if baseline else ():
        document["results"][name] |= _paired(run, name, task, Path(baseline))
    path = results_file(folder, facts.stamp)
    write_json(path, document, nan=None)
    return (path, *written)


def item_errors(run: LmmsEvalStoredRun) -> dict[str, ItemErrors]:
    """lmms-eval's own standard errors by task, for those tasks of which ``results.json`` does not have them: with
    clusters, or with an aggregation that is not the mean.
    """
    configs = {task["name"]: task["config"] for task in run.manifest["tasks"]}
    return {
        name: samples.item_errors(
            lambda name=name: run.read(name),  # type: ignore[misc]
            _score_key(run.manifest, name),
            configs[name].get("cluster_key"),
        )
        for name, task in run.results["tasks"].items()
        if any(result["stderr_method"] != "mean" for result in task["results"])
    }


def samples_with_docs(run: LmmsEvalStoredRun) -> dict[str, list[dict[str, Any]]]:
    """The samples by task, as ``simple_evaluate`` gives them: each with its row (``doc``) without media."""
    samples_of: dict[str, list[dict[str, Any]]] = {}
    for name in run.results["tasks"]:
        docs = {sample["index"]: sample["doc"] for sample in run.read(name)}
        samples_of[name] = [{**record, "doc": docs[record["doc_id"]]} for record in _records(run, name)]
    return samples_of


def _parity(manifest: Mapping[str, Any]) -> Parity:
    """Return the parity that the run used."""
    return parity_with(manifest["options"]["identity"].get("parity", ""))


def results_document(
    manifest: Mapping[str, Any],
    results: Mapping[str, Any],
    facts: LmmsEvalFacts,
    task_hashes: Mapping[str, str] | None = None,
    errors: Mapping[str, ItemErrors] | None = None,
    efficiency: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The content of ``…_results.json``.

    Args:
        manifest: ``run.json``.
        results: ``results.json``.
        facts: The command.
        task_hashes: The hash of each task's docs, if samples were written.
        errors: As ``item_errors`` gives them.
        efficiency: As ``overall_efficiency`` gives it, if samples were written.
    """
    tasks, groups = results["tasks"], results["groups"]
    depths = {name: depth for _, name, depth in results["layout"]}
    task_rows = {name: _row(task, (errors or {}).get(name, {})) for name, task in tasks.items()}
    group_rows = {name: _group_row(name, group) for name, group in groups.items()}
    rows = {
        name: {**row, "alias": _indented(row["alias"], depths.get(name, 0))}
        for name, row in (task_rows | group_rows).items()
    }
    numbered = {name: rows[name] for name, group in groups.items() if group["results"]}
    planned = {task["name"]: task for task in manifest["tasks"]}
    parity = _parity(manifest)
    throughput = dict(facts.throughput) or _throughput(manifest)
    return {
        "results": rows,
        **({"groups": numbered} if numbered else {}),
        "group_subtasks": _subtasks(tasks, groups),
        "configs": {name: _config(planned[name], manifest) for name in sorted(tasks)},
        "versions": _versions(planned, groups, parity),
        "n-shot": {name: tasks[name]["num_fewshot"] for name in sorted(tasks)},
        "higher_is_better": _directions(tasks, groups, parity),
        "n-samples": {
            name: {
                "original": planned[name]["n_rows"],
                "effective": task["n_samples"],
                "scored": task["n_scored"],
            }
            for name, task in tasks.items()
        },
        "config": _command(manifest, facts),
        "git_hash": manifest["polymeter"].get("commit"),
        "git_branch": None,
        "lmms_eval_version": f"polymeter {manifest['polymeter']['version']}",
        "date": facts.stamp,
        **({"throughput": throughput} if throughput else {}),
        "usage": _usage(manifest["usage"]),
        **({"efficiency": efficiency} if efficiency else {}),
        "task_hashes": dict(task_hashes or {}),
        **_experiment(manifest, facts),
    }


def _row(owner: Mapping[str, Any], errors: ItemErrors = MappingProxyType({})) -> dict[str, Any]:
    """A task's entry in ``results``: the values under ``metric,filter``, and their standard errors."""
    row: dict[str, Any] = {"alias": owner["alias"]}
    if not owner["results"]:
        return {" ": " ", **row}
    for result in owner["results"]:
        metric = "/".join([result["metric"], *result["subset"]])
        error, name = result["stderr"], result["filter"]
        # What the task's own aggregation made of its items counts, as it is all that lmms-eval has by then.
        changed = result.get("item_errors") or errors.get((metric, name))
        of_mean, clustered = changed if changed and not result["subset"] else (None, None)
        if result["stderr_method"] == "mean":
            of_mean = error
        shown = [_NO_ERROR if number is None else number for number in (error, of_mean, clustered)]
        row[f"{metric},{name}"] = result["value"]
        row[f"{metric}_stderr,{name}"], row[f"{metric}_stderr_clt,{name}"] = shown[:2]
        row[f"{metric}_stderr_clustered,{name}"] = shown[2]
    return row


def _group_row(name: str, group: Mapping[str, Any]) -> dict[str, Any]:
    """A group's entry: its numbers and their pooled errors. Errors of single samples are the tasks'."""
    row = _row(group)
    of_tasks = ("_stderr_clt,", "_stderr_clustered,")
    kept = {key: value for key, value in row.items() if not any(mark in key for mark in of_tasks)}
    return {**kept, "alias": group["alias"] or name}


def _indented(alias: str, depth: int) -> str:
    """A name as lmms-eval indents it below the groups around it."""
    return f"{' ' * depth}- {alias}" if depth else alias


def _subtasks(tasks: Iterable[str], groups: Mapping[str, Any]) -> dict[str, list[str]]:
    """The members of each group; a task in no group is listed with no members."""
    grouped = {member for group in groups.values() for member in group["members"]}
    members = {name: list(group["members"]) for name, group in groups.items()}
    return members | {name: [] for name in tasks if name not in grouped}


def _config(task: Mapping[str, Any], manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A task's configuration; functions are the text of their YAML tags."""
    config = {**_DEFAULTS, **task["config"], "num_fewshot": task["num_fewshot"]}
    format_options = manifest["options"]["identity"].get("dialect_options", {}).get(task["dialect"], {})
    if format_options.get("repeats", 1) > 1:
        config["repeats"] = format_options["repeats"]
    return {"task": task["name"], **config}


def _versions(tasks: Mapping[str, Any], groups: Mapping[str, Any], parity: Parity) -> dict[str, Any]:
    versions: dict[str, Any] = {
        name: read_version(group["version"]) for name, group in groups.items() if group["results"] and group["version"]
    }
    for name, task in tasks.items():
        is_unread = parity.on("metadata-list") and isinstance(task["config"].get("metadata"), list)
        versions[name] = _NO_VERSION if is_unread else _version(task)
    return dict(sorted(versions.items()))


def _version(task: Mapping[str, Any]) -> Any:
    """The author's version; a number if it is written as one."""
    metadata = task["config"].get("metadata")
    for part in metadata if isinstance(metadata, list) else [metadata]:
        if isinstance(part, Mapping) and "version" in part:
            return part["version"]
    return task["version"] or _NO_VERSION


def _directions(tasks: Mapping[str, Any], groups: Mapping[str, Any], parity: Parity) -> dict[str, Directions]:
    directions = {
        name: {result["metric"]: result["higher_is_better"] for result in task["results"]}
        for name, task in tasks.items()
    }
    shared: Directions = {}
    for name in groups:
        merged: Directions = shared if parity.on("group-direction") else {}
        merge_directions(merged, (directions.get(member, {}) for member in _tasks_below(name, groups)))
        directions[name] = merged
    return dict(sorted(directions.items()))


def _tasks_below(name: str, groups: Mapping[str, Any]) -> list[str]:
    if name not in groups:
        return [name]
    return [task for member in groups[name]["members"] for task in _tasks_below(member, groups)]


def _command(manifest: Mapping[str, Any], facts: LmmsEvalFacts) -> dict[str, Any]:
    arguments = facts.arguments
    seeds = dict(zip(("random_seed", "numpy_seed", "torch_seed", "fewshot_seed"), facts.seeds, strict=True))
    return {
        "model": facts.model,
        "model_args": facts.model_args,
        "model_backend": (manifest["model"].get("spec") or {}).get("backend"),
        "batch_size": arguments.get("batch_size"),
        "batch_sizes": [],
        "device": arguments.get("device"),
        "use_cache": arguments.get("use_cache"),
        "limit": arguments.get("limit"),
        "offset": arguments.get("offset", 0),
        "bootstrap_iters": None,
        "gen_kwargs": arguments.get("gen_kwargs"),
        **seeds,
        "resolved_cli_args": dict(arguments),
    }


def _usage(usage: Mapping[str, int]) -> dict[str, Any]:
    """Token counts; empty if the model reported none."""
    total = usage["input_tokens"] + usage["output_tokens"]
    return {"total": {**usage, "total_tokens": total}} if total else {}


def _throughput(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Generated tokens and their speed over the whole run, for models that report none themselves; empty without
    counts.
    """
    tokens, seconds = manifest["usage"]["output_tokens"], manifest["seconds"]
    if not tokens or not seconds:
        return {}
    return {"total_gen_tokens": tokens, "total_elapsed_time": seconds, "avg_speed": tokens / seconds}


def _planned(manifest: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return next(task for task in manifest["tasks"] if task["name"] == name)


def _score_key(manifest: Mapping[str, Any], name: str) -> str:
    return str(_planned(manifest, name)["config"].get("score_key") or _DEFAULTS["score_key"])


def _written(lines: Iterable[dict[str, Any]], file: IO[str]) -> Iterator[dict[str, Any]]:
    """Lines, each of them written."""
    for line in lines:
        file.write(json_text(line, nan=None))
        file.write("\n")
        yield line


def _experiment(manifest: Mapping[str, Any], facts: LmmsEvalFacts) -> dict[str, Any]:
    name = model_name(facts.model_args)
    system = manifest["options"]["identity"].get("system_prompt") or None
    return {
        "model_source": facts.model,
        "model_name": name,
        "model_name_sanitized": model_folder(name),
        "system_instruction": system,
        "system_instruction_sha": hash_text(system) if system else None,
        "chat_template": None,
        "chat_template_sha": None,
        "fewshot_as_multiturn": False,
        "start_time": _seconds(manifest["started"]),
        "end_time": _seconds(manifest["ended"]),
        "total_evaluation_time_seconds": str(manifest["seconds"]),
    }


def _seconds(moment: str | None) -> float | None:
    return datetime.fromisoformat(moment).timestamp() if moment else None


def _records(run: LmmsEvalStoredRun, name: str) -> Iterator[dict[str, Any]]:
    planned = _planned(run.manifest, name)
    options = run.manifest["options"]["identity"].get("dialect_options", {}).get(planned["dialect"], {})
    run_tags = run.manifest["options"]["identity"].get("reasoning_tags")
    filtered = filters_of_task(planned, options.get("reasoning_tags", run_tags), _parity(run.manifest))
    filters = filters_of(run.results["tasks"][name])
    return samples.sample_records(lambda: run.read(name), filters, _parity(run.manifest), filtered)


def _paired(run: LmmsEvalStoredRun, name: str, task: Mapping[str, Any], baseline: Path) -> dict[str, Any]:
    """The comparison with a baseline; empty if a folder of baselines has no file for this task."""
    file = baseline
    if baseline.is_dir():
        sample_files = sorted(baseline.rglob(f"*_samples_{name}.jsonl"))
        if not sample_files:
            return {}
        file = sample_files[-1]
    before = samples.paired_values(task, _lines(file))
    return samples.paired_row(samples.paired_values(task, _records(run, name)), before, file.stem[:30])


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                yield json.loads(line)
            except ValueError:
                raise PlanError("A line of the baseline is not JSON.", where=f"{path}:{number}") from None
