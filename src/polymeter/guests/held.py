"""Modules of guests that a script has imported. It may change their contents (``Adapter.match = mine``), and expects a
run to use its changes.

Such a module is not forgotten between runs, and the files of the script that changed it count among its sources: its
contents are compared with those when the script got it. Values that a run sets in it are restored when the run ends:
globals, class attributes, the items of its lists, dictionaries and sets, also in the guest modules that it uses. The
state of other objects (instances, caches of functions) is not.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from polymeter.core.errors import GUEST_PREFIX
from polymeter.core.machine.opened_files import is_own_file
from polymeter.guests.door import current_mode
from polymeter.guests.loading.packages import GUEST_LOCK
from polymeter.guests.reading.sources import files_behind

Namespace = dict[str, Any]

_held: dict[str, tuple[ModuleType, Namespace]] = {}  # by the module's file: the module, and what it held
_at_start: dict[str, Namespace] = {}  # by the module's file: what it held when the present run began


def hand_over(module: ModuleType | None) -> None:
    """Note that a script has a module. Does nothing if a guest imports it: guests get new modules for each run."""
    file = getattr(module, "__file__", None)
    if module and file and current_mode() is None and not is_held(module):
        _held[file] = module, dict(_contents(vars(module)))


def is_held(module: ModuleType) -> bool:
    """Return whether a script has a module."""
    return any(held is module for held, _ in _held.values())


def changed_by(file: str) -> Iterator[str]:
    """The files of the script that has changed the module of a source file; none if nothing has changed."""
    if file not in _held:
        return
    module, before = _held[file]
    now = _at_start.get(file) or dict(
        _contents(vars(module))
    )  # values that the run has set are not a change by the script
    changed = [now.get(name) for name in {**before, **now} if now.get(name) is not before.get(name)]
    if not changed:
        return
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    homes = [script, *(file_of(value) for value in changed)]
    yield from map(
        str, files_behind(Path(home) for home in homes if home and Path(home).is_file() and is_own_file(home))
    )


@contextmanager
def put_back_after_run() -> Iterator[None]:
    """Begin a run in the block with the modules in the script's state, and restore that state afterwards."""
    if _at_start:  # inside another run
        yield
        return
    spaces = _used([vars(module) for module, _ in _held.values()])
    classes = [value for space in spaces for value in space.values() if _is_own(value, space)]
    states = [(owner, _attributes(owner)) for owner in (*spaces, *classes)]
    filled = [(value, value.copy()) for value in _containers([state for _, state in states])]
    _at_start.update({file: dict(_contents(vars(module))) for file, (module, _) in _held.items()})
    try:
        yield
    finally:
        _at_start.clear()
        for owner, state in states:
            _put_back(owner, state)
        for value, items in filled:
            value.clear()
            value.extend(items) if isinstance(value, list) else value.update(items)
        forget_modules()  # or a script that imports one now would get it in the run's state


def forget_modules() -> None:
    """Let the next use of a guest module execute it anew.

    Code that counts in its globals must not continue from an earlier run of this process. Functions that are held
    already keep the module that they came from. A module that is still loading stays: what it imports may look through
    the catalog, which forgets the modules of the run before. So does one that a script has.
    """
    with GUEST_LOCK:
        for name in [name for name in sys.modules if name.startswith(GUEST_PREFIX) and "." in name]:
            module = sys.modules[name]
            if getattr(getattr(module.__spec__, "loader", None), "is_loading", False) or is_held(module):
                continue
            del sys.modules[name]
            parent, _, child = name.rpartition(".")
            package = sys.modules.get(parent)
            if getattr(package, child, None) is module:
                delattr(package, child)


def file_of(value: Any) -> str:
    """The file that defines a function or a class; empty for other values."""
    try:
        return inspect.getfile(inspect.unwrap(value))
    except (TypeError, OSError):
        return ""


def _contents(space: Namespace) -> Iterator[tuple[str, Any]]:
    """Return the contents of a module and its classes, by dotted name. Modules below it come as they are imported."""
    for name, value in space.items():
        if isinstance(value, ModuleType) or name.startswith("__"):
            continue
        yield name, value
        if _is_own(value, space):
            own = vars(value).items()
            yield from ((f"{name}.{inner}", held) for inner, held in own if callable(held) or inner[:2] != "__")


def _is_own(value: Any, space: Namespace) -> bool:
    """Return whether a value in a module is a class of its own."""
    return isinstance(value, type) and value.__module__ == space["__name__"]


def _is_guest(space: Namespace) -> bool:
    """Return whether a namespace is that of a guest's module."""
    return str(space.get("__name__")).startswith(GUEST_PREFIX)


def _used(spaces: list[Namespace]) -> list[Namespace]:
    """The namespaces of modules, and of the guest modules that they hold, or hold a function or a class of."""
    found: dict[int, Namespace] = {}
    while spaces:
        space = spaces.pop()
        if id(space) in found or not _is_guest(space):
            continue
        found[id(space)] = space
        spaces.extend(vars(value) for value in space.values() if isinstance(value, ModuleType))
        members = (member for value in space.values() if isinstance(value, type) for member in vars(value).values())
        held = (*space.values(), *members)
        spaces.extend(value.__globals__ for value in held if isinstance(value, FunctionType))
    return [*found.values()]


def _containers(values: list[Any]) -> list[Any]:
    """The lists, dictionaries and sets among some values, and those in them, but for those of other modules
    (``from sys import modules``, a list of the script): they are not the guest's to restore.
    """
    spaces = [getattr(module, "__dict__", {}) for module in [*sys.modules.values()]]
    foreign = {id(value) for space in spaces if not _is_guest(space) for value in [*space.values()]}
    found: dict[int, Any] = {}
    while values:
        value = values.pop()
        if isinstance(value, (list, dict, set)) and id(value) not in found and id(value) not in foreign:
            found[id(value)] = value
            values.extend(value.values() if isinstance(value, dict) else value)
    return [*found.values()]


def _attributes(owner: Namespace | type) -> Namespace:
    """Return the contents of a namespace or a class, without Python's own entries."""
    items = (vars(owner) if isinstance(owner, type) else owner).items()
    return {name: value for name, value in items if name[:2] != "__" or callable(value)}


def _put_back(owner: Namespace | type, before: Namespace) -> None:
    """Restore the contents of a namespace or a class."""
    now = _attributes(owner)
    for name in {**now, **before}:
        if now.get(name, now) is before.get(name, now):
            continue
        if not isinstance(owner, type):
            owner[name] = before.get(name)
            if name not in before:
                del owner[name]
        elif name in before:
            setattr(owner, name, before[name])
        else:
            delattr(owner, name)
