"""Import of another tool's log into a run folder, which every command reads like one of Polymeter's own.

The folder is written beside its place and moved there when it is complete, so a damaged log leaves nothing behind.
"""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

from polymeter import __version__
from polymeter.api.result import RunResult, open_run, write_report
from polymeter.core.errors import DataError, PlanError
from polymeter.core.logs import LoggedRun, LoggedTask, reader_of
from polymeter.core.machine.files import temporary_name
from polymeter.core.machine.places import file_name, naming_places, require_place, stored_at
from polymeter.core.media.sources import digest
from polymeter.core.names.stable_names import TASK_FORMAT
from polymeter.core.names.systems import System
from polymeter.core.records.usage import USAGE_BY_ROLE, usage_document
from polymeter.core.task import GroupSpec
from polymeter.core.text.codec import jsonable
from polymeter.core.text.secrets import without_secrets
from polymeter.exchange.importing.results import STATED, group_numbers, imported_results, stated_document
from polymeter.store.exports.export import write_results, write_samples
from polymeter.store.exports.imported import IMPORTED, write_journal
from polymeter.store.folder import RUNS, RunFolder
from polymeter.store.journal import Journal
from polymeter.store.reading.usage import tokens, usage_of_journal


@naming_places()
def import_log(path: Path | str, *, system: str = "", output: Path | str | None = None) -> RunResult:
    """Read the log of another tool into a run folder, which is marked as imported.

    The values are those that the tool states. Standard errors and intervals are computed from the samples. You can
    show, report, verify and compare an imported run, but not resume it or score it again.

    Args:
        path: The log: a file or folder that the tool has written.
        system: The tool (``lm-eval``, ``lmms-eval``, …); default: the one that recognises the log.
        output: The run folder to create; default: a new one below ``runs``.

    Raises:
        PlanError: if the log is of an unknown tool, could be of several tools, or the folder exists.
        DataError: if a file of the log is damaged.
        StorageError: if a file cannot be read or written.
    """
    source = Path(path)
    found, reader = reader_of(source, system)
    logged = reader.read(source)
    _check_tasks(logged, source)
    target = _place(logged, found) if output is None else Path(output)
    require_place(target, "The run folder")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise PlanError(f"{target} already exists.", where="--output", hint="Name a folder that does not exist.")
    draft = target.with_name(temporary_name(target.name))
    try:
        with stored_at(draft, "Creating the run folder"):
            draft.mkdir(parents=True)
        _write(RunFolder(draft), logged, found)
        with stored_at(target, "Creating the run folder"):
            os.replace(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return open_run(target)


def _check_tasks(logged: LoggedRun, source: Path) -> None:
    names = [task.name for task in logged.tasks] + [group.name for group in logged.groups]
    if not logged.tasks:
        raise DataError(f"The log at {source} contains no task.", hint="Name the log of a run that has ended.")
    if len(set(names)) < len(names):
        raise DataError(f"The log at {source} contains a task or group twice.")


def _place(logged: LoggedRun, system: System) -> Path:
    """Return a path below ``runs`` that does not exist yet, named after the tool, the model and the tasks."""
    tasks = logged.tasks[0].name if len(logged.tasks) == 1 else f"{len(logged.tasks)}-tasks"
    words = (system.log_name, logged.model.rstrip("/").rpartition("/")[2], tasks)
    name = "-".join("".join(sign if sign.isalnum() or sign in "._" else "_" for sign in word) for word in words if word)
    number = 1
    while True:
        place = RUNS / file_name(name, "" if number == 1 else f"-{number}")
        if not place.exists():
            return place
        number += 1


def _write(folder: RunFolder, logged: LoggedRun, system: System) -> None:
    """Write the whole folder."""
    write_journal(folder.journal, logged.tasks)
    manifest = _manifest(logged, system)
    with closing(Journal(folder.journal)) as journal:
        for entry in manifest["tasks"]:
            if entry["n_samples"] is None:
                entry["n_samples"] = sum(journal.statuses(entry["name"]).values())
            entry["n_rows"] = entry["n_samples"]
        usage = usage_of_journal(journal, manifest)
        manifest["usage"], manifest[USAGE_BY_ROLE] = tokens(usage), usage_document(usage)
        manifest["n_failed"] = sum(
            n for task in logged.tasks for status, n in journal.statuses(task.name).items() if status != "ok"
        )
    results = imported_results(folder, manifest)
    specs = {
        group.name: GroupSpec(group.name, group.alias, group.members, version=group.version) for group in logged.groups
    }
    if specs:
        manifest["selection"]["group_numbers"] = group_numbers(specs, {**results["tasks"], **results["groups"]})
    with stored_at(folder.samples, "Creating the folder of samples"):
        folder.samples.mkdir()
    with closing(Journal(folder.journal)) as journal:
        for task in logged.tasks:
            write_samples(folder, journal, task.name)
    write_results(folder, results)
    folder.write_manifest(manifest)
    write_report(folder, folder.read_results())
    for ending in ("-wal", "-shm"):  # they are empty: readers create them
        folder.journal.with_name(folder.journal.name + ending).unlink(missing_ok=True)


def _manifest(logged: LoggedRun, system: System) -> dict[str, Any]:
    """Return the content of ``run.json``: the keys that every reader needs, with the values that the log states."""
    groups = {group.name: list(group.members) for group in logged.groups}
    return {
        "status": "complete",
        IMPORTED: {
            "system": system.name,
            "title": logged.title,
            "version": logged.version,
            "files": [{"name": path.name, "digest": _digest(path)} for path in logged.files],
            "settings": without_secrets(jsonable(dict(logged.settings))),
            "groups": {group.name: {"alias": group.alias, "version": group.version} for group in logged.groups},
            STATED: {
                "tasks": {task.name: [jsonable(stated_document(one)) for one in task.results] for task in logged.tasks},
                "groups": {
                    group.name: [jsonable(stated_document(one)) for one in group.results] for group in logged.groups
                },
            },
        },
        "started": logged.started or None,
        "ended": logged.ended or None,
        "seconds": logged.seconds,
        "command": "",
        "model": {"name": logged.model, "spec": None, "identity": {"name": logged.model}},
        "roles": {},
        "patterns": [task.name for task in logged.tasks],
        "selection": {"tasks": [task.name for task in logged.tasks], "groups": groups, "layout": _layout(logged)},
        "tasks": [_task(task) for task in logged.tasks],
        "identity": {"model": {IMPORTED: logged.model}, "roles": {}, "tasks": [], "options": {}},
        "options": {"identity": {"generation": {}}, "runtime": {"include_paths": []}},
        "polymeter": {"version": __version__},
        "usage": {"input_tokens": 0, "output_tokens": 0},
        "sessions": [],
        "notes": list(logged.notes),
    }


def _task(task: LoggedTask) -> dict[str, Any]:
    return {
        "name": task.name,
        "alias": task.alias or task.name,
        TASK_FORMAT: "",
        "version": task.version,
        "config": jsonable(dict(task.config)),
        "sources": [],
        "source_hash": "",
        "score_digest": IMPORTED,
        "dataset_fingerprint": "",
        "num_fewshot": task.num_fewshot,
        "n_samples": task.n_samples,
    }


def _layout(logged: LoggedRun) -> list[list[Any]]:
    """Return the lines of the table: each group above its members."""
    members = {group.name: group.members for group in logged.groups}
    below = {name for names in members.values() for name in names}
    lines: list[list[Any]] = []

    def place(name: str, depth: int) -> None:
        if [line for line in lines if line[1] == name] or depth > len(members):
            return
        lines.append(["group" if name in members else "task", name, depth])
        for member in members.get(name, ()):
            place(member, depth + 1)

    for name in [*members, *(task.name for task in logged.tasks)]:
        if name not in below:
            place(name, 0)
    known = {task.name for task in logged.tasks} | members.keys()
    return [line for line in lines if line[1] in known]


def _digest(path: Path) -> str:
    with stored_at(path, f"Reading {path.name}"):
        return digest(path.read_bytes())
