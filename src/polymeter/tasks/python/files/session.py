"""Tasks that are given to a run as objects, from a script or a notebook.

A task whose file holds it by name is known by that file, so that a run can be continued from the command line and
opened by other processes. Any other task is known for as long as the call lasts, and continuing its run needs the same
object again.
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.media.sources import digest
from polymeter.core.settings.arguments import names_of
from polymeter.tasks.python.writing.records import PythonTask

CHOSEN = "::"
"""Between a file and the name of one of its tasks."""
SESSION = "<python session>.py"
"""The file, which does not exist, of tasks that no file holds."""
Tasks = str | Path | PythonTask | Iterable[str | Path | PythonTask]
"""One task or several: names, paths, or tasks in Python."""
_MOST_DEEP = 6
_PLAIN = (str, int, float, bool, bytes, type(None))

# Of the process, because a format is asked for its benchmarks by name and knows no run; each call ends its own.
_held: list[dict[tuple[Path, str], PythonTask]] = []
_holding = threading.Lock()


def tasks_given(tasks: Any) -> tuple[tuple[str, ...], tuple[PythonTask, ...]]:
    """Return the names of the tasks in an argument, and the objects among them.

    Raises:
        PlanError: if one is neither.
    """
    is_several = isinstance(tasks, Iterable) and not isinstance(tasks, (str, bytes, os.PathLike, dict))
    given = list(tasks) if is_several else [tasks]
    for one in given:
        if callable(one) and not isinstance(one, PythonTask):
            name = getattr(one, "__name__", type(one).__name__)
            what = f"{name} is a function and not a task."
            raise PlanError(what, where="tasks", hint=f"Decorate it: @polymeter.task(rows=…) above def {name}.")
    objects = tuple(one for one in given if isinstance(one, PythonTask))
    return names_of([name_of(one) if isinstance(one, PythonTask) else one for one in given], "tasks"), objects


def name_of(task: PythonTask) -> str:
    """Return the name by which a run finds a task: ``FILE::NAME``."""
    return f"{home_of(task) or SESSION}{CHOSEN}{task.name}"


def home_of(task: PythonTask) -> Path | None:
    """Return the file that holds a task in a variable; ``None`` if there is none."""
    place, _, _ = task.where.rpartition(":")
    modules = [*sys.modules.values()]
    module = next((one for one in modules if one.__dict__.get("__file__") == place), None)
    module = module or _main(place)
    if module is None or not Path(place).is_file():
        return None
    return Path(place).resolve() if any(one is task for one in held_by(vars(module))) else None


def _main(place: str) -> Any:
    """Return the script that is running if it is that file: it may be started by a relative path."""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    return main if file and place and Path(file).resolve() == Path(place).resolve() else None


def held_by(names: Mapping[str, Any]) -> Iterator[PythonTask]:
    """Yield the tasks among the names of a module: those themselves, and those in lists, tuples and dictionaries."""
    for value in [*names.values()]:
        if isinstance(value, PythonTask):
            yield value
        elif isinstance(value, (list, tuple, dict)):
            items = value.values() if isinstance(value, dict) else value
            yield from (item for item in items if isinstance(item, PythonTask))


@contextmanager
def holding(tasks: Sequence[PythonTask]) -> Iterator[None]:
    """Let runs inside the block find tasks by their names.

    Raises:
        PlanError: if two of them have one name.
    """
    known: dict[tuple[Path, str], PythonTask] = {}
    for task in tasks:
        same = next((one for one in known.values() if one.name == task.name and one is not task), None)
        if same is not None:
            raise PlanError(
                f"Two tasks are called {task.name!r}.",
                where=f"{same.where} and {task.where}",
                hint="Give one of them another name: name='…'.",
            )
        known[home_of(task) or Path(SESSION).resolve(), task.name] = task
    with _holding:
        _held.append(known)
    try:
        yield
    finally:
        with _holding:
            _held[:] = [one for one in _held if one is not known]


def held_tasks() -> Mapping[tuple[Path, str], PythonTask]:
    """Return the tasks that calls were given, by file and name; the last call wins."""
    with _holding:
        return {key: task for known in _held for key, task in known.items()}


def code_text(task: PythonTask) -> str:
    """The code of a task that no file holds, as far as it can be known: of its functions, of the functions of the same
    module that these call, and the plain values that they use.
    """
    functions = [task.prompt, task.reference, task.choices, *task.all_scorers]
    seen: dict[str, str] = {}
    for function in functions:
        _add_code(getattr(function, "function", function), seen, 0)
    return "\n".join(f"{name}={text}" for name, text in sorted(seen.items()))


def _add_code(value: Any, seen: dict[str, str], depth: int) -> None:
    function = inspect.unwrap(value) if callable(value) else value
    if not isinstance(function, FunctionType):
        seen[f"value {len(seen)}"] = repr(value) if isinstance(value, (*_PLAIN, list, dict)) else type(value).__name__
        return
    key = f"{function.__module__}.{function.__qualname__}"
    if key in seen:
        return
    try:
        seen[key] = inspect.getsource(function)
    except (OSError, TypeError):  # a session that keeps no source
        seen[key] = digest(repr(_shape(function.__code__)).encode())
    if depth >= _MOST_DEEP:
        return
    for name in _names(function.__code__):
        used = function.__globals__.get(name)
        used = getattr(used, "function", used)
        if isinstance(used, FunctionType) and used.__module__ == function.__module__:
            _add_code(used, seen, depth + 1)
        elif isinstance(used, (*_PLAIN, list, tuple, dict)):
            seen[f"{function.__module__}.{name}"] = repr(used)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        seen[f"{key}.{name}"] = repr(cell.cell_contents) if isinstance(cell.cell_contents, _PLAIN) else ""


def _names(code: CodeType) -> Iterable[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _shape(code: CodeType) -> tuple[Any, ...]:
    """Return the code of a function without places and addresses."""
    constants = [_shape(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, constants
