"""Finding a wrapper's class: in a file, a folder or a module that the user names, or among the names that imported
files have added to ``supported_ULM``.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.guests import contained
from polymeter.guests.generators import dispatched
from polymeter.guests.loading.load import authors_code
from polymeter.guests.loading.packages import GUEST_LOCK
from polymeter.guests.reading.sources import files_behind
from polymeter.guests.shims.finder import switch_on_shims
from polymeter.guests.wrappers import dotted_modules, file_names_beside, sources_of
from polymeter.interop.ulmeval.guest_files import load_guest_file, supplied_names
from polymeter.interop.ulmeval.models.base import BaseAPI, BaseModel
from polymeter.interop.ulmeval.models.hooks import HOOKS, is_written
from polymeter.interop.ulmeval.models.native import supported_ULM
from polymeter.interop.ulmeval.models.vlmevalkit.checkouts import wrapper_in_checkout

_WHERE = "--model-path"


@dataclass(frozen=True, slots=True)
class FoundUlm:
    """A wrapper's class, or a function that makes the wrapper.

    Attributes:
        make: The class or function to call.
        name: Its name: as the user wrote it, else the class's own name.
        sources: The files that define it.
        arguments: Keyword arguments of its entry in ``supported_ULM``.
        args: Positional arguments of its entry.
    """

    make: Callable[..., Any]
    name: str
    sources: tuple[Path, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    args: tuple[Any, ...] = ()

    @property
    def cls(self) -> type | None:
        """The class; ``None`` if a function makes the wrapper, so that its class is unknown before the call."""
        return self.make if isinstance(self.make, type) else None


def find_wrapper(name: str, path: str) -> FoundUlm:
    """The class that ``--model ulm:NAME --model-path PATH`` means. Runs the top level of its module.

    Args:
        name: A class's name, or one that the file adds to ``supported_ULM``; empty if the path defines only one.
        path: A file, a folder of files, a checkout of VLMEvalKit, or a module's dotted name; empty for a name that an
            imported file has added.

    Raises:
        PlanError: if there is no such path or name, its code fails to load, or several wrappers could be meant.
    """
    if not path:
        return _added(name)
    checked_out = wrapper_in_checkout(name, path)
    if checked_out is not None:
        with GUEST_LOCK, contained(), dispatched():
            switch_on_shims()
            module = load_guest_file(checked_out.file)
        own = _of_class(getattr(module, checked_out.cls))
        return replace(own, name=name, arguments=checked_out.arguments)
    before = dict(supported_ULM.added)
    with GUEST_LOCK, contained(), dispatched():  # so that ``from random import …`` gets the functions that are seeded
        switch_on_shims()
        modules = _modules(name, path)
    module_names = {module.__name__ for module in modules}
    entries = {
        key: entry
        for key, make in supported_ULM.added.items()
        for entry in [_of_entry(key, make)]
        if before.get(key) is not make or getattr(entry.make, "__module__", "") in module_names
    }
    return _choose(name, entries, _classes(modules, name), path)


def found_class(cls: type) -> FoundUlm:
    """A class that is loaded already, by its own name."""
    return FoundUlm(cls, cls.__name__, sources_of(cls, []))


def _added(name: str) -> FoundUlm:
    if not name:
        raise PlanError(
            "Which wrapper is meant?", where="--model", hint="Write --model ulm:NAME, or name its file: --model-path."
        )
    make = supported_ULM.added.get(name)
    if make is None:
        hint = did_you_mean(name, supported_ULM) or "Name the file that defines it with --model-path."
        raise PlanError(f"There is no ulm model {name!r}.", where="--model", hint=hint)
    return _of_entry(name, make)


def _of_entry(name: str, make: Callable[..., Any]) -> FoundUlm:
    """The wrapper of an entry of ``supported_ULM``, unwrapped from its ``partial``s."""
    args: tuple[Any, ...] = ()
    arguments: dict[str, Any] = {}
    while isinstance(make, functools.partial):
        args = (*make.args, *args)
        arguments = {**make.keywords, **arguments}
        make = make.func
    if isinstance(make, type):
        return FoundUlm(make, name, sources_of(make, []), arguments, args)
    file = getattr(getattr(make, "__code__", None), "co_filename", "")
    return FoundUlm(make, name, files_behind([Path(file)] if Path(file).is_file() else []), arguments, args)


def _modules(name: str, path: str) -> list[ModuleType]:
    """The modules of a path. Of a folder, only those that mention the name: others may need missing packages."""
    place = Path(path)
    if place.is_file():
        return [load_guest_file(place)]
    if place.is_dir():
        files = sorted(file for file in place.glob("*.py") if file.name != "__init__.py")
        matching = [file for file in files if name in _names_in(file)] if name else files
        if not matching:
            names = {defined for file in files for defined in _names_in(file) if defined.isidentifier()}
            hint = did_you_mean(name, names) or "Name the file that defines it."
            raise PlanError(f"No file in {path!r} defines {name or 'a model'!r}.", where=_WHERE, hint=hint)
        return [load_guest_file(file) for file in matching]
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
    names = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        keys: list[ast.expr | None] = []
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            keys = [node.slice]
        elif isinstance(node, ast.Dict):
            keys = node.keys
        names |= {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
    return names


def _classes(modules: Iterable[ModuleType], name: str) -> dict[str, type]:
    """The wrappers that some modules define: classes with a hook, else classes with ``generate``. A class with
    ``generate`` beside classes with a hook is a wrapper only if ``name`` names it.
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


def _choose(name: str, entries: Mapping[str, FoundUlm], classes: Mapping[str, type], path: str) -> FoundUlm:
    if name in entries:
        return entries[name]
    if name in classes:
        return _of_class(classes[name])
    names = [*entries, *classes]
    if not names:
        raise PlanError(
            f"{path!r} defines no model.",
            where=_WHERE,
            hint="A model is a class with generate_inner or batch_generate_inner.",
        )
    if name:
        hint = did_you_mean(name, names) or f"It has: {', '.join(names)}."
        raise PlanError(f"{path!r} has no model {name!r}.", where="--model", hint=hint)
    leaves = [cls for cls in classes.values() if not any(cls in other.__mro__[1:] for other in classes.values())]
    candidates = list(entries.values()) or [_of_class(cls) for cls in leaves]
    if len(candidates) > 1:
        raise PlanError(f"{path!r} has several models: {', '.join(names)}.", where="--model", hint="Write ulm:NAME.")
    return candidates[0]


def _of_class(cls: type) -> FoundUlm:
    module = sys.modules.get(cls.__module__)
    return FoundUlm(cls, cls.__name__, sources_of(cls, [module] if module is not None else []))
