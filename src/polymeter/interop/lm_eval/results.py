"""lm-eval's result files, made from a run folder, so that scripts that read them keep working.

This is only a translation: values come from ``results.json``. Standard errors are those that lm-eval itself states,
without clusters and with its own resamples (``tasks.stated_errors``); intervals stay in our run folder.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any

from polymeter.core.machine.files import replacing
from polymeter.core.machine.places import stored_at
from polymeter.core.names.parity import parity_with
from polymeter.core.task import GroupSpec, TaskSpec
from polymeter.core.text.json_text import json_text
from polymeter.interop.lm_eval.files.rereading import (
    ClassRereading,
    TaskRereading,
    author_contained,
    is_class,
    plain_config,
    rereading_of,
)
from polymeter.interop.lm_eval.files.sample_lines import (
    Record,
    Render,
    sample_records,
    write_lines,
)
from polymeter.interop.lm_eval.tasks.groups import stated_group
from polymeter.interop.lm_eval.tasks.scoring.stated_errors import ITERATIONS, NOT_STATED, stated_stderr
from polymeter.interop.lm_family.evaluation import DEFAULT_SEEDS, Seeds
from polymeter.interop.lm_family.files.names import (
    Directions,
    filters_of,
    hash_text,
    merge_directions,
    read_version,
    safe_name,
)
from polymeter.reading.stored import samples_as_read
from polymeter.store.exports.export import read_sample_file, read_samples
from polymeter.store.folder import RunFolder

NAME_KEYS = ("peft", "delta", "pretrained", "model", "path", "engine")
_NO_VERSION = "Yaml"
_NO_GROUP_VERSION = "N/A"
_RANDOM_CHARACTERS = 8
_AT_ONCE = 500
"""Samples that are worked out before the first of them is written."""


@dataclass(frozen=True, slots=True)
class LmEvalFacts:
    """Facts of a command that lm-eval's files record and the run folder does not.

    Attributes:
        model: The model as the user named it.
        model_args: Its arguments, without secrets.
        stamp: The local time in the file names, as ISO 8601 with hyphens for colons.
        specs: The tasks, by name.
        groups: The groups that were named and those inside them, by name.
        metadata: What the run adds to the tasks' metadata.
        seeds: Those of Python, NumPy, torch and the few-shot sampler.
        bootstrap_iters: How many resamples a standard error rests on; 0: none is stated.
        checkpoint: What is known of a checkpoint on this machine, under the names that documents have.
        render: The chat template that conversations were put into, if it is known.
        settings: Further options by name: ``batch_size``, ``device``, ``use_cache``, ``limit``, ``gen_kwargs``,
            ``system_instruction``, ``fewshot_as_multiturn``, ``chat_template``.
    """

    model: str
    model_args: Mapping[str, Any]
    stamp: str
    specs: Mapping[str, TaskSpec]
    groups: Mapping[str, GroupSpec] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    seeds: Seeds = DEFAULT_SEEDS
    bootstrap_iters: int = ITERATIONS
    settings: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    render: Render | None = None


class LmEvalStoredRun:
    """A finished run, read from its folder and its tasks' files.

    Args:
        folder: The run folder.
        facts: The command.
    """

    def __init__(self, folder: RunFolder, facts: LmEvalFacts) -> None:
        self.manifest, self.results = folder.read_manifest(), folder.read_results()
        self.facts = facts
        self._folder = folder
        self._planned = {task["name"]: task for task in self.manifest["tasks"]}
        self._rereadings: dict[str, TaskRereading | None] = {}
        self._entries: dict[str, dict[str, Any]] = {}
        self._values: dict[str, dict[tuple[str, str], list[Any]]] = {}

    @property
    def tasks(self) -> Mapping[str, Any]:
        """The tasks of ``results.json``."""
        tasks: Mapping[str, Any] = self.results["tasks"]
        return tasks

    def planned(self, task: str) -> Mapping[str, Any]:
        """Return the entry of a task in the manifest."""
        found: Mapping[str, Any] = self._planned[task]
        return found

    def read(self, task: str) -> Iterator[dict[str, Any]]:
        """The stored samples of a task."""
        return samples_as_read(read_samples(self._folder, task), self.manifest, task)

    def read_heads(self, task: str) -> Iterator[Mapping[str, Any]]:
        """The same, for a reader that asks how samples ended and for their scores, and for nothing else."""
        return read_sample_file(self._folder, task)

    def rereading(self, task: str) -> TaskRereading | None:
        """The task's own view of its samples; ``None`` if it is not one of lm-eval's."""
        if task not in self._rereadings:
            first = next(self.read(task), None)
            spec, identity = self.facts.specs.get(task), self.manifest["options"]["identity"]
            self._rereadings[task] = (
                None
                if spec is None or first is None
                else rereading_of(
                    spec,
                    tuple(first["doc"]),
                    identity.get("generation") or {},
                    parity_with(identity.get("parity", "")),
                )
            )
        return self._rereadings[task]

    def entry(self, task: str) -> dict[str, Any]:
        """A task's entry in ``results``: its values under ``metric,filter``, each with its standard error. Worked out
        once, since resampling takes a while.
        """
        if task not in self._entries:
            self._entries[task] = _task_entry(self, task)
        return dict(self._entries[task])

    def values(self, task: str) -> Mapping[tuple[str, str], list[Any]]:
        """The values of a task's scored samples, by metric and filter."""
        if task not in self._values:
            values: dict[tuple[str, str], list[Any]] = {}
            for sample in self.read_heads(task):
                _note_values(sample, values)
            self._values[task] = values
        return self._values[task]

    def _noted(self, task: str) -> Iterator[dict[str, Any]]:
        """The samples of a task, whose values are known once all were read."""
        values: dict[tuple[str, str], list[Any]] = {}
        for sample in self.read(task):
            _note_values(sample, values)
            yield sample
        self._values[task] = values

    def records(self, task: str) -> Iterator[Record]:
        """The samples of a task as lm-eval's Python interface gives them."""
        reread, spec = self.rereading(task), self.facts.specs.get(task)
        view = ClassRereading() if spec is not None and is_class(spec) else reread
        found = sample_records(lambda: self._noted(task), self.filters(task), view, self.facts.render)
        while True:
            with author_contained() if reread is not None else nullcontext():
                some = list(islice(found, _AT_ONCE))
            if not some:
                return
            yield from some

    def filters(self, task: str) -> tuple[str, ...]:
        """The filters of a task."""
        reread = self.rereading(task)
        return filters_of(self.tasks[task]) if reread is None else reread.scorer.filters


def model_name(model_args: Mapping[str, Any]) -> str:
    """The model's name as lm-eval takes it from the model's arguments; eight random characters if none names it."""
    named = next((str(model_args[key]) for key in NAME_KEYS if key in model_args), "")
    letters = string.ascii_lowercase + string.digits
    return named or "".join(random.SystemRandom().choices(letters, k=_RANDOM_CHARACTERS))


def files_folder(output_path: str, name: str) -> Path:
    """The folder for the files: named for the model below the output path, or beside a ``.json`` file."""
    path = Path(output_path)
    return path.parent if path.suffix == ".json" else path / safe_name(name)


def time_stamp() -> str:
    """The local time, as file names have it."""
    return datetime.now(timezone.utc).astimezone().replace(tzinfo=None).isoformat().replace(":", "-")


def write_files(run: LmEvalStoredRun, output_path: str, name: str, *, has_samples: bool) -> tuple[Path, ...]:
    """Write lm-eval's files for a run.

    Args:
        run: The run.
        output_path: As the user named it: a folder, or a ``.json`` file.
        name: The model's name.
        has_samples: Whether to write the samples too.

    Returns:
        The paths of the files, that of the results first.
    """
    folder, stamp = files_folder(output_path, name), run.facts.stamp
    is_file = Path(output_path).suffix == ".json"
    path = folder / (f"{Path(output_path).stem}_{stamp}.json" if is_file else f"results_{stamp}.json")
    written, hashes = [path], {}
    for task in run.tasks if has_samples else ():
        samples = folder / f"samples_{safe_name(task)}_{stamp}.jsonl"
        hashes[task] = write_lines(samples, run.records(task))
        written.append(samples)
    document = {**results_document(run), "task_hashes": hashes, **_experiment(run, name)}
    with stored_at(path, "Writing results"), replacing(path) as file:
        file.write(json_text(document, nan=None, indent=2))
    return tuple(written)


def results_document(run: LmEvalStoredRun, *, has_samples: bool = False) -> dict[str, Any]:
    """Return the results as ``simple_evaluate`` of lm-eval returns them.

    Args:
        run: The run.
        has_samples: Whether to include the samples, under ``samples``.
    """
    manifest, facts = run.manifest, run.facts
    entries = {task: run.entry(task) for task in run.tasks}
    groups = {name: _group_entry(group, facts.groups, entries) for name, group in facts.groups.items()}
    aggregated = {name: entry for name, entry in groups.items() if facts.groups[name].aggregates}
    members = {name: list(group.members) for name, group in facts.groups.items()}
    versions = {task: _version(run, task) for task in run.tasks}
    versions |= {name: group.version or _NO_GROUP_VERSION for name, group in facts.groups.items()}  # texts, as there
    shots = {task: int(owner["num_fewshot"]) for task, owner in run.tasks.items()}
    return {
        "results": {**entries, **groups},
        **({"groups": aggregated} if aggregated else {}),
        "group_subtasks": members,
        "configs": {task: _config(run, task) for task in sorted(run.tasks)},
        "versions": dict(sorted(versions.items())),
        "n-shot": dict(sorted((shots | _shared_shots(members, shots)).items())),
        "higher_is_better": dict(sorted(_directions(run, members).items())),
        "n-samples": {
            task: {"original": run.planned(task)["n_rows"], "effective": entries[task]["sample_len"]}
            for task in run.tasks
        },
        **({"samples": {task: list(run.records(task)) for task in run.tasks}} if has_samples else {}),
        "config": _command(facts),
        "git_hash": manifest["polymeter"].get("commit"),
        "date": datetime.fromisoformat(manifest["started"]).timestamp(),
        "transformers_version": manifest["packages"].get("transformers"),
        "lm_eval_version": f"polymeter {manifest['polymeter']['version']}",
        "upper_git_hash": None,
        **facts.checkpoint,
    }


def _task_entry(run: LmEvalStoredRun, task: str) -> dict[str, Any]:
    owner, reread = run.tasks[task], run.rereading(task)
    entry: dict[str, Any] = {"name": task, "alias": owner["alias"] or task, "sample_len": owner["n_scored"]}
    whole = [result for result in owner["results"] if not result["subset"]]
    values = run.values(task) if reread is not None else {}
    counts = [len(values[key]) for key in values]
    entry["sample_len"] = max(counts, default=owner["n_scored"])
    for result in whole:
        key, error = (result["metric"], result["filter"]), result["stderr"]
        if result["value"] is None:
            continue
        if reread is not None:
            aggregation = reread.aggregations.get(result["metric"], "mean")
            error = _stated(result["metric"], aggregation, values.get(key, ()), run.facts.bootstrap_iters)
        entry[f"{key[0]},{key[1]}"] = result["value"]
        entry[f"{key[0]}_stderr,{key[1]}"] = NOT_STATED if error is None else error
    return entry


def _stated(metric: str, aggregation: str, values: Iterable[Any], bootstrap_iters: int) -> float | str:
    try:
        return stated_stderr(metric, aggregation, list(values), bootstrap_iters)
    except (TypeError, ValueError, ZeroDivisionError):  # an author's values, of which there is no such error
        return NOT_STATED


def _note_values(sample: Mapping[str, Any], values: dict[tuple[str, str], list[Any]]) -> None:
    """Add the values of a sample, if it has a score, to those of all, by metric and filter."""
    for score in sample["scores"] if sample["status"] == "ok" else ():
        values.setdefault((score["metric"], score["filter"]), []).append(score["value"])


def _group_entry(group: GroupSpec, groups: Mapping[str, GroupSpec], entries: Mapping[str, Any]) -> dict[str, Any]:
    """A group's entry: its names, and its numbers if it has any."""
    names = {"name": group.name, "alias": group.alias or group.name}
    if not group.aggregates:
        return names
    return {**names, **stated_group(group.aggregates, [entries[task] for task in _leaves(group, groups, entries)])}


def _leaves(group: GroupSpec, groups: Mapping[str, GroupSpec], entries: Mapping[str, Any]) -> Iterator[str]:
    """The tasks below a group, through the groups in it; one that is in two of them comes twice."""
    for member in group.members:
        if member in groups:
            yield from _leaves(groups[member], groups, entries)
        elif member in entries:
            yield member


def _shared_shots(members: Mapping[str, Iterable[str]], shots: Mapping[str, int]) -> dict[str, int]:
    """The number of examples of groups whose members all have the same."""
    found = {name: {shots[member] for member in listed if member in shots} for name, listed in members.items()}
    return {name: numbers.pop() for name, numbers in found.items() if len(numbers) == 1}


def _directions(run: LmEvalStoredRun, members: Mapping[str, Iterable[str]]) -> dict[str, Directions]:
    """Return the direction of each metric: true if higher is better, ``None`` if the members of a group differ."""
    directions: dict[str, Directions] = {}
    for task, owner in run.tasks.items():
        reread = run.rereading(task)
        stated = {result["metric"]: result["higher_is_better"] for result in owner["results"]}
        # A metric that the task's code gives and its file does not list has no direction there.
        told = {metric: direction for metric, direction in stated.items() if direction is not None}
        directions[task] = stated if reread is None else {**reread.directions, **told}
    for name, listed in members.items():
        merged: Directions = {}
        merge_directions(merged, (directions.get(member, {}) for member in listed))
        if merged:
            directions[name] = merged
    return directions


def _config(run: LmEvalStoredRun, task: str) -> dict[str, Any]:
    spec, shots = run.facts.specs.get(task), int(run.tasks[task]["num_fewshot"])
    if spec is None:
        return {"task": task, **run.planned(task)["config"], "num_fewshot": shots}
    return plain_config(spec, shots, run.facts.metadata, run.rereading(task))


def _version(run: LmEvalStoredRun, task: str) -> Any:
    """The author's version as it is written."""
    metadata = run.planned(task)["config"].get("metadata")
    written = metadata.get("version") if isinstance(metadata, Mapping) else None
    return written if written is not None else read_version(run.planned(task)["version"]) or _NO_VERSION


def _command(facts: LmEvalFacts) -> dict[str, Any]:
    told: Callable[[str], Any] = facts.settings.get
    seeds = dict(zip(("random_seed", "numpy_seed", "torch_seed", "fewshot_seed"), facts.seeds, strict=True))
    return {
        "model": facts.model,
        "model_args": dict(facts.model_args),
        "batch_size": told("batch_size"),
        "batch_sizes": [],
        "device": told("device"),
        "use_cache": told("use_cache"),
        "limit": told("limit"),
        "bootstrap_iters": facts.bootstrap_iters,
        "gen_kwargs": told("gen_kwargs"),
        **seeds,
    }


def _experiment(run: LmEvalStoredRun, name: str) -> dict[str, Any]:
    told = run.facts.settings
    system, template = told.get("system_instruction") or None, told.get("chat_template") or None
    return {
        "model_source": run.facts.model,
        "model_name": name,
        "model_name_sanitized": safe_name(name),
        "system_instruction": system,
        "system_instruction_sha": hash_text(system) if system else None,
        "fewshot_as_multiturn": told.get("fewshot_as_multiturn"),
        "chat_template": template,
        "chat_template_sha": hash_text(template) if template else None,
        "total_evaluation_time_seconds": str(run.manifest["seconds"]),
    }
