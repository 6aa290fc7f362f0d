"""Views of a run folder: its scores, one of its samples, or those that failed. Nothing is run, and no code of a
benchmark is loaded. The run may still be running, or may have been stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.machine.places import naming_places
from polymeter.core.text.phrases import first_of
from polymeter.store.exports.export import read_sample_file, read_samples, sample_file
from polymeter.store.folder import RunFolder, open_folder

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class FoundSample:
    """A sample of a run.

    Attributes:
        task: Its task.
        sample: Its line in ``samples/<task>.jsonl``.
        media: The folder with its media files.
    """

    task: str
    sample: Mapping[str, Any]
    media: Path


@dataclass(frozen=True, slots=True)
class RunOverview:
    """A run as a whole.

    Attributes:
        folder: Its folder.
        manifest: The content of ``run.json``.
        results: The content of ``results.json``; empty if the run has not ended.
    """

    folder: RunFolder
    manifest: Mapping[str, Any]
    results: Mapping[str, Any]


@naming_places()
def run_overview(path: Path | str, task: str = "") -> RunOverview:
    """Read a run's manifest and its results.

    Args:
        path: The run folder.
        task: Only this task; an unambiguous beginning of its name is enough.

    Raises:
        PlanError: if the run or the task does not exist.
    """
    folder = open_folder(Path(path))
    manifest = folder.read_manifest()
    is_complete = manifest["status"] == "complete" and folder.results.exists()
    results = folder.read_results() if is_complete else {}
    if task:
        name = _task_named(task, manifest)
        kept = {key: value for key, value in results.get("tasks", {}).items() if key == name}
        layout = [["task", name, 0]]
        results = {**results, "tasks": kept, "groups": {}, "layout": layout, "notes": []} if results else {}
    return RunOverview(folder, manifest, results)


@naming_places()
def find_sample(path: Path | str, sample: str, task: str = "") -> FoundSample:
    """Find a sample of a run that has ended.

    Args:
        path: The run folder.
        sample: Its id; an unambiguous beginning is enough.
        task: Its task; an unambiguous beginning is enough. Default: any.

    Raises:
        PlanError: if the run, task or sample does not exist, or several samples begin like this.
    """
    folder = open_folder(Path(path))
    tasks = _tasks(folder, task)
    found: list[tuple[str, Mapping[str, Any]]] = []
    similar: list[tuple[str, Mapping[str, Any]]] = []
    n_similar = 0
    for name in tasks:
        for one in _samples_of_task(folder, name):
            if one["id"] == sample:
                found.append((name, one))
            elif str(one["id"]).startswith(sample):
                n_similar += 1
                if n_similar <= _MOST_NAMED:
                    similar.append((name, one))
    if not found and n_similar == 1:
        found = similar
    if len(found) == 1:
        return FoundSample(found[0][0], found[0][1], folder.media)
    if found:
        names = ", ".join(name for name, _ in found)
        raise PlanError(
            f"{len(found)} tasks have a sample {sample!r}: {names}.", where="--sample", hint="Name one with --task."
        )
    if similar:
        ids = ", ".join(str(one["id"]) for _, one in similar)
        more = f" and {n_similar - len(similar)} more" if n_similar > len(similar) else ""
        raise PlanError(f"{n_similar} samples begin with {sample!r}: {ids}{more}.", where="--sample")
    raise PlanError(
        f"No sample {sample!r} has ended in {'task ' + repr(tasks[0]) if len(tasks) == 1 else 'this run'}.",
        where="--sample",
        hint=_known_ids(folder, tasks),
    )


@naming_places()
def failed_samples(path: Path | str, task: str = "") -> Iterator[FoundSample]:
    """Return the samples of a run that ended without a score, in the order of tasks and rows.

    Args:
        path: The run folder.
        task: Only those of this task; an unambiguous beginning of its name is enough.

    Raises:
        PlanError: if the run or the task does not exist.
    """
    folder = open_folder(Path(path))
    return (
        FoundSample(name, sample, folder.media)
        for name in _tasks(folder, task)
        for sample in _samples_of_task(folder, name)
        if sample["status"] != "ok"
    )


def _samples_of_task(folder: RunFolder, task: str) -> Iterable[Mapping[str, Any]]:
    """Return the ended samples of a task. For a complete run, they come from its file, which is much faster than the
    journal.
    """
    if folder.read_manifest()["status"] == "complete" and sample_file(folder, task).exists():
        return read_sample_file(folder, task)
    return read_samples(folder, task)


def _tasks(folder: RunFolder, task: str) -> list[str]:
    manifest = folder.read_manifest()
    return [_task_named(task, manifest)] if task else _task_names(manifest)


def _task_names(manifest: Mapping[str, Any]) -> list[str]:
    return [str(task["name"]) for task in manifest["tasks"]]


def _task_named(task: str, manifest: Mapping[str, Any]) -> str:
    names = _task_names(manifest)
    matching = [name for name in names if name == task] or [name for name in names if name.startswith(task)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise PlanError(f"{len(matching)} tasks begin with {task!r}: {', '.join(matching)}.", where="--task")
    hint = did_you_mean(task, names) or f"It has: {first_of(names, _MOST_NAMED)}."
    raise PlanError(f"This run has no task {task!r}.", where="--task", hint=hint)


def _known_ids(folder: RunFolder, tasks: Iterable[str]) -> str:
    """Return a sentence with the first ids of a run."""
    ids: list[str] = []
    for task in tasks:
        for sample in _samples_of_task(folder, task):
            if len(ids) == _MOST_NAMED:
                return f"Its samples are: {', '.join(ids)}, …"
            ids.append(str(sample["id"]))
    return f"Its samples are: {', '.join(ids)}." if ids else "None has ended yet."
