"""From a spec to the author's record: the file is loaded, as code of others is."""

from __future__ import annotations

from pathlib import Path

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.task import TaskSpec
from polymeter.guests.loading.load import load_authors_file
from polymeter.tasks.python.files.session import held_by, held_tasks
from polymeter.tasks.python.writing.records import PythonTask


def tasks_in(file: Path) -> dict[str, PythonTask]:
    """Load a file and return the tasks that it defines, by name.

    Raises:
        PlanError: if it fails to load, needs a package that is not installed, or has two tasks of one name.
    """
    found: dict[str, PythonTask] = {}
    for task in held_by(vars(load_authors_file(file, dict))):
        known = found.setdefault(task.name, task)
        if known is not task:
            raise PlanError(
                f"{file.name} defines the task {task.name!r} twice.",
                where=f"{known.where} and {task.where}",
                hint="Give each task a name of its own: name='…'.",
            )
    return found


def load_task(spec: TaskSpec) -> PythonTask:
    """Return the record of a task: the object that a call was given, else that of its file.

    Raises:
        PlanError: if the file fails to load, or does not define the task.
    """
    held = held_tasks().get((spec.file, spec.name))
    if held is not None:
        return held
    tasks = tasks_in(spec.file)
    if spec.name not in tasks:
        near = did_you_mean(spec.name, tasks, n=1)
        known = f"It defines: {', '.join(tasks)}." if tasks else "A task must be held by a name of the module."
        raise PlanError(f"{spec.file.name} defines no task {spec.name!r}.", where=str(spec.file), hint=near or known)
    return tasks[spec.name]
