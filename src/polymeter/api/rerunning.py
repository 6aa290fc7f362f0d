"""Running a run again from its manifest alone, and comparing the two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polymeter.api.imports import import_file
from polymeter.api.result import RunResult
from polymeter.api.running import run_request
from polymeter.core.errors import PlanError
from polymeter.core.machine.places import naming_places
from polymeter.core.records.progress import Progress, Silence
from polymeter.run.plan.request import resume_request
from polymeter.store.folder import RunFolder, open_folder
from polymeter.store.reading.comparing import RunDifference, first_difference


@dataclass(frozen=True, slots=True)
class Rerun:
    """A run that was run again.

    Attributes:
        result: The new run.
        difference: Where it differs first; ``None`` if it does not.
        changed: What is known to have changed since the first run, one sentence each.
    """

    result: RunResult
    difference: RunDifference | None
    changed: tuple[str, ...]


@naming_places()
def rerun(
    path: Path | str,
    *,
    output: Path | str | None = None,
    allow_generated_code: bool = False,
    progress: Progress | None = None,
    command: str = "",
) -> Rerun:
    """Run a run again with the model, tasks and options that its manifest names, and find the first difference.

    Every request is sent anew. Compared are requests, answers, ends and scores of the samples in order, then the
    results; only samples that ended in the first run.

    Args:
        path: The run folder.
        output: The new run folder; default: beside the run, with ``-rerun`` after its name.
        allow_generated_code: Whether code that the model writes may run.
        progress: Receives progress; default: none.
        command: The command to record.

    Raises:
        PlanError: if there is no run, its manifest does not say enough (a model that was a Python object, a secret
            argument), or the output holds a run.
        DataError: if a dataset cannot be opened.
    """
    source, progress = open_folder(Path(path)), progress or Silence()
    target = Path(output) if output is not None else _beside(source.path)
    if RunFolder(target).is_begun():
        raise PlanError("The output folder holds a run.", where=str(target), hint="Choose another --output.")
    changes = {
        "output": target,
        "is_strict": False,
        "is_strict_resume": False,
        "retry_errors": None,
        "publish": "",
        "reuse": (),
        "reuse_days": None,
        "allow_generated_code": allow_generated_code,
    }
    request = resume_request(source.path, changes, command)
    for file in request.options.imports:
        import_file(file)
    result = run_request(replace(request, is_resume=False), progress)
    changed = tuple(_changed_tasks(source.read_manifest(), result.folder.read_manifest()))
    difference = first_difference(source, result.folder) if result.status == "complete" else None
    return Rerun(result, difference, changed)


def _beside(path: Path) -> Path:
    whole = path.resolve()
    number = 1
    while True:
        target = whole.with_name(f"{whole.name}-rerun{'' if number == 1 else f'-{number}'}")
        if not target.exists():
            return target
        number += 1


def _changed_tasks(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """Yield the differences between two manifests of the same plan that may explain other results."""
    tasks = {task["name"]: task for task in after["tasks"]}
    for task in before["tasks"]:
        now = tasks.get(task["name"])
        if now is None:
            yield f"Task {task['name']!r} is not part of the run any more."
            continue
        for key, what in (("source_hash", "sources"), ("dataset_fingerprint", "data"), ("config", "configuration")):
            if task[key] != now[key]:
                yield f"The {what} of task {task['name']!r} changed."
    for key, what in (("model", "model"), ("roles", "judge")):
        if before["identity"].get(key) != after["identity"].get(key):
            yield f"The identity of the {what} changed."
    if (before.get("sessions") or [{}])[-1].get("code") != after["sessions"][-1]["code"]:
        yield "Another version of Polymeter makes prompts and scores."
    for name, version in before["packages"].items():
        if after["packages"].get(name) != version:
            yield f"The package {name} was {version} and is {after['packages'].get(name, 'not installed')}."
