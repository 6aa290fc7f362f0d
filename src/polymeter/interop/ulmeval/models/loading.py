"""Finding a wrapper's class: in a file, a folder or a module that the user names, or among the names that files have
added to ``supported_ULM``.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.guests import contained
from polymeter.guests.generators import dispatched
from polymeter.guests.imports import GUEST_LOCK
from polymeter.guests.loading import authors_code
from polymeter.guests.shims import switch_on_shims
from polymeter.guests.sources import files_behind
from polymeter.guests.wrappers import dotted_modules, file_names_beside, sources_of
from polymeter.interop.ulmeval.kit_files import load_kit_file, supplied_names
from polymeter.interop.ulmeval.models.base import BaseAPI, BaseModel
from polymeter.interop.ulmeval.models.hooks import HOOKS, is_written
from polymeter.interop.ulmeval.models.zoo import supported_ULM

_WHERE = "--model-path"


@dataclass(frozen=True, slots=True)
class Found:
    """A wrapper's class, or a function that makes the wrapper.

    Attributes:
        make: What is called.
        name: What it goes by: as the user named it, else the class's own name.
        sources: The files that it is written in.
        given: Arguments that come with its name in ``supported_ULM``.
        args: Those without a name.
    """

    make: Callable[..., Any]
    name: str
    sources: tuple[Path, ...]
    given: Mapping[str, Any] = field(default_factory=dict)
    args: tuple[Any, ...] = ()

    @property
    def cls(self) -> type | None:
        """The class; ``None`` when a function makes the wrapper, and its class shows only then."""
        return self.make if isinstance(self.make, type) else None


def find_wrapper(name: str, path: str) -> Found:
    """The class that ``--model ulm:NAME --model-path PATH`` means. Runs the top level of its module.

    Args:
        name: A class's name, or one that the file adds to ``supported_ULM``; empty where the path holds only one.
        path: A file, a folder of files, or a module's dotted name; empty for a name that an imported file has added.

    Raises:
        PlanError: There is no such place or name, the code fails to load, or several wrappers could be meant.
    """
    if not path:
        return _known(name)
    before = dict(supported_ULM.added)
    with GUEST_LOCK, contained(), dispatched():  # so that ``from random import …`` gets the functions that are seeded
        switch_on_shims()
        modules = _modules(name, path)
    places = {module.__name__ for module in modules}
    entries = {
        known: found
        for known, make in supported_ULM.added.items()
        for found in [_found(known, make)]
        if before.get(known) is not make or getattr(found.make, "__module__", "") in places
    }
    return _choose(name, entries, _classes(modules, name), path)


def found_class(cls: type) -> Found:
    """A class that is there already, by its own name."""
    return Found(cls, cls.__name__, sources_of(cls, []))


def _known(name: str) -> Found:
    if not name:
        raise PlanError(
            "Which wrapper is meant?", where="--model", hint="Write --model ulm:NAME, or name its file: --model-path."
        )
    make = supported_ULM.added.get(name)
    if make is None:
        hint = did_you_mean(name, supported_ULM) or "Name the file that defines it with --model-path."
        raise PlanError(f"There is no ulm model {name!r}.", where="--model", hint=hint)
    return _found(name, make)


def _found(name: str, make: Callable[..., Any]) -> Found:
    """What an entry of ``supported_ULM`` stands for, taken out of the ``partial``s around it."""
    args: tuple[Any, ...] = ()
    given: dict[str, Any] = {}
    while isinstance(make, functools.partial):
        args, given, make = (*make.args, *args), {**make.keywords, **given}, make.func
    if isinstance(make, type):
        return Found(make, name, sources_of(make, []), given, args)
    file = getattr(getattr(make, "__code__", None), "co_filename", "")
    return Found(make, name, files_behind([Path(file)] if Path(file).is_file() else []), given, args)


def _modules(name: str, path: str) -> list[ModuleType]:
    """The modules of a place. Of a folder, those that mention the name: the others may need what is not installed."""
    place = Path(path)
    if place.is_file():
        return [load_kit_file(place)]
    if place.is_dir():
        files = sorted(file for file in place.glob("*.py") if file.name != "__init__.py")
        meant = [file for file in files if name in _names_in(file)] if name else files
        if not meant:
            known = {found for file in files for found in _names_in(file) if found.isidentifier()}
            hint = did_you_mean(name, known) or "Name the file that defines it."
            raise PlanError(f"No file in {path!r} defines {name or 'a model'!r}.", where=_WHERE, hint=hint)
        return [load_kit_file(file) for file in meant]
    with authors_code(PlanError, f"Loading {path!r}"):
        modules = dotted_modules(path, supplied_names())
    if modules is None:
        raise PlanError(
            f"There is no file, folder or module {path!r}.",
            where=_WHERE,
            hint=did_you_mean(place.name, file_names_beside(place)) or "Give the file that defines the wrapper.",
        )
    return modules


def _names_in(file: Path) -> set[str]:
    """Names of the classes of a file, and of what it puts into mappings (``supported_ULM["Mine"] = …``)."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return {file.stem}
    found = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        keys: list[ast.expr | None] = []
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            keys = [node.slice]
        elif isinstance(node, ast.Dict):
            keys = node.keys
        found |= {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
    return found


def _classes(modules: Iterable[ModuleType], name: str) -> dict[str, type]:
    """The wrappers that are written in some modules: classes with a hook, else classes with ``generate``; one of the
    latter beside the former is a wrapper too if its name is asked for.
    """
    every = [
        value
        for module in modules
        for value in list(vars(module).values())
        if isinstance(value, type) and value.__module__ == module.__name__
    ]
    hooked = [cls for cls in every if any(is_written(cls, hook) for hook in HOOKS)]
    based = [cls for cls in every if issubclass(cls, (BaseModel, BaseAPI))]
    generating = [cls for cls in every if hasattr(cls, "generate")]
    named = [cls for cls in generating if cls.__name__ == name]
    return {cls.__name__: cls for cls in [*(hooked or based or generating), *named]}


def _choose(name: str, entries: Mapping[str, Found], classes: Mapping[str, type], path: str) -> Found:
    if name in entries:
        return entries[name]
    if name in classes:
        return _of_class(classes[name])
    known = [*entries, *classes]
    if not known:
        raise PlanError(
            f"{path!r} defines no model.",
            where=_WHERE,
            hint="A model is a class with generate_inner or batch_generate_inner.",
        )
    if name:
        hint = did_you_mean(name, known) or f"It has: {', '.join(known)}."
        raise PlanError(f"{path!r} has no model {name!r}.", where="--model", hint=hint)
    leaves = [cls for cls in classes.values() if not any(cls in other.__mro__[1:] for other in classes.values())]
    meant = list(entries.values()) or [_of_class(cls) for cls in leaves]
    if len(meant) > 1:
        raise PlanError(f"{path!r} has several models: {', '.join(known)}.", where="--model", hint="Write ulm:NAME.")
    return meant[0]


def _of_class(cls: type) -> Found:
    module = sys.modules.get(cls.__module__)
    return Found(cls, cls.__name__, sources_of(cls, [module] if module is not None else []))
