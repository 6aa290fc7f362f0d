"""The index of tasks: those in Python files below the user's roots, which are read and not run, and those that a call
was given as objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, Problem
from polymeter.core.format import Loaded
from polymeter.core.identity import source_hash
from polymeter.core.machine.folders import files_below
from polymeter.core.media.showing import check_showing
from polymeter.core.names.catalog import Catalog, Entry, Root, protocol_name
from polymeter.core.records.protocol import BenchmarkProtocol, read_protocol
from polymeter.core.task import GroupSpec, TaskSpec
from polymeter.guests.reading.sources import files_behind
from polymeter.tasks.python.files.loading import tasks_in
from polymeter.tasks.python.files.reading import PythonFile, WrittenTask, read_file, written_task
from polymeter.tasks.python.files.session import code_text, held_tasks
from polymeter.tasks.python.writing.records import PythonTask

NAME = "python"
_ENDING = ".py"
_TABLE = ".tsv"
"""The ending of tables that are benchmarks by themselves unless another one reads them."""
_ABOUT = ("name", "prompt", "tags", "version")


def index(roots: Sequence[Root]) -> Catalog:
    """List all tasks under the roots of the user. A root is a folder, or a single Python file."""
    catalog = Catalog()
    for (home, name), task in held_tasks().items():
        catalog.add(Entry(name, "task", NAME, home, True, tags=tuple(task.tags), about=task.description))
    for root in roots:
        if not root.is_user:
            continue
        for path in files_below(root.path, _ENDING):
            try:
                file = read_file(path)
            except PlanError as error:
                catalog.problems.append(Problem(error.where or str(path), error.what))
                continue
            _add(catalog, file, is_named=path == root.path)
    return catalog


def _add(catalog: Catalog, file: PythonFile, *, is_named: bool) -> None:
    written = [one.values.get("rows") for one in file.tasks]
    catalog.claims.names.update(Path(rows).stem for rows in written if isinstance(rows, str) and rows.endswith(_TABLE))
    for one in file.named:
        tags = one.values.get("tags")
        labels = tuple(map(str, tags)) if isinstance(tags, (list, tuple)) else ()
        stated = one.values.get("protocol")
        catalog.add(
            Entry(
                one.name,
                "task",
                NAME,
                file.path,
                True,
                "",
                labels,
                packages=file.packages,
                about=one.description,
                protocol=protocol_name(stated),
                is_default=isinstance(stated, Mapping) and stated.get("default") is True,
            )
        )
    if not file.has_computed:
        return
    if is_named:
        catalog.add(Entry(file.path.name, "group", NAME, file.path, True, packages=file.packages))
        return
    line = next(one.line for one in file.tasks if not one.name)
    catalog.problems.append(
        Problem(
            f"{file.path}:{line}",
            "The name of this task is computed, so it cannot be listed. Name the file itself with --tasks to run it.",
        )
    )


def load(entry: Entry) -> Loaded:
    """Return the specs behind an entry. Runs a file only if the names of its tasks are computed.

    Raises:
        PlanError: if the file is broken, or does not define the task.
    """
    held = held_tasks().get((entry.file, entry.name))
    if held is not None and not entry.file.is_file():
        return Loaded((_of_object(held, entry),))
    if entry.kind == "group":
        tasks = tasks_in(entry.file)
        if not tasks:
            raise PlanError(
                f"{entry.file.name} defines no task when it is loaded.",
                where=str(entry.file),
                hint="Keep each task in a variable, a list or a dictionary of the module.",
            )
        return Loaded(tuple(_of_file(entry.file, name) for name in tasks), (GroupSpec(entry.name, "", tuple(tasks)),))
    return Loaded((_of_file(entry.file, entry.name),))


def _of_file(file: Path, name: str) -> TaskSpec:
    written = written_task(file, name) or WrittenTask(name, 1)
    sources = files_behind([file])
    return TaskSpec(
        name=name,
        format=NAME,
        file=file,
        config=_config(written),
        source_hash=source_hash(sources),
        sources=sources,
        version=str(written.values.get("version") or ""),
        protocol=_protocol(written, file),
    )


def _of_object(task: PythonTask, entry: Entry) -> TaskSpec:
    """Make the spec of a task that no file holds."""
    config = {"description": task.description, "output": _output(task.choices, task.choices_as, task.output)}
    return TaskSpec(
        name=task.name,
        format=NAME,
        file=entry.file,
        config=config,
        source_hash=source_hash((), [code_text(task), dict(task.metadata), task.version]),
        version=task.version,
        protocol=read_protocol(task.protocol, task.where),
    )


def _protocol(written: WrittenTask, file: Path) -> BenchmarkProtocol | None:
    """Return the protocol that is written in a file; one that is computed is known when the file has run."""
    stated = written.values.get("protocol")
    return read_protocol(stated, f"{file}:{written.line}") if isinstance(stated, Mapping) else None


def _config(written: WrittenTask) -> dict[str, Any]:
    values = {key: value for key, value in written.values.items() if key not in _ABOUT}
    output = _output(values.get("choices"), values.get("choices_as", "likelihood"), values.get("output", "text"))
    described = {"description": written.description} if written.description else {}
    return {**described, **values, "output": output}


def _output(choices: Any, choices_as: str, output: str) -> str:
    """Return the kind of answer, for listings."""
    if choices is None:
        return str(output)
    return "letter" if choices_as == "letters" else "choice"


def describe(entry: Entry) -> list[tuple[str, Any, Path]]:
    """Return the arguments of a task: key, value or source text, and the file."""
    return [(key, value, entry.file) for key, value in load(entry).tasks[0].config.items()]


def check(entry: Entry) -> list[Problem]:
    """Find mistakes in an entry without running it."""
    if entry.kind == "group" or not entry.file.is_file():
        return []
    try:
        written = written_task(entry.file, entry.name)
        if written is not None:
            values = {name: value for name, value in written.values.items() if isinstance(value, Mapping)}
            check_showing(values, lambda key: f"{entry.file}:{written.line}")
    except PlanError as error:
        return [Problem(error.where or str(entry.file), f"{error.what} {error.hint}".strip())]
    return []
