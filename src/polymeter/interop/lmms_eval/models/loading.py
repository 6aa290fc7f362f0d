"""Finding a wrapper's class: in a file, a package folder or a module that the user names, or among those that are
registered already.
"""

from __future__ import annotations

import typing
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

from polymeter.core.errors import PlanError, boundary, did_you_mean
from polymeter.core.registry import missing_package
from polymeter.guests import contained, load_file
from polymeter.guests.imports import GUEST_LOCK, guest_import_module
from polymeter.guests.shims import switch_on_shims
from polymeter.guests.wrappers import dotted_modules, file_names_beside, sources_of, with_inner
from polymeter.interop.lmms_eval.instance import Instance
from polymeter.interop.lmms_eval.models import base as lmms_base
from polymeter.interop.lmms_eval.models.base import LMMS_MODELS, lmms, registered_names
from polymeter.interop.lmms_eval.models.plugins import are_plugins_there, from_plugins, plugin_names

_FACADES = ("lmms_eval", "lm_eval", "polymeter")
_WHERE = "--model-path"

SUPPLIED: Mapping[str, Any] = {
    "lmms": lmms,
    "LM": lmms,
    "Instance": Instance,
    "register_model": lmms_base.register_model,
    "CacheHook": lmms_base.CacheHook,
    "GenerationResult": lmms_base.GenerationResult,
    "TokenCounts": lmms_base.TokenCounts,
    **{name: getattr(typing, name) for name in ("Any", "Dict", "List", "Optional", "Tuple", "Union")},
}
"""Names that the listings of lmms-eval's documentation use without importing them."""


@dataclass(frozen=True, slots=True)
class Found:
    """A wrapper's class.

    Attributes:
        cls: The class.
        name: What it goes by: as the user named it, else as it is registered, else the class's own name.
        sources: The files that it is written in.
    """

    cls: type[lmms]
    name: str
    sources: tuple[Path, ...]


def find_wrapper(name: str, path: str) -> Found:
    """The class that ``--model lmms:NAME --model-path PATH`` means. Runs the top level of its module.

    Args:
        name: A registered name or the class's own; empty where the path holds only one.
        path: A file, a package folder, or a module's dotted name; empty for a wrapper that an imported file or an
            installed package registers.

    Raises:
        PlanError: There is no such place or name, the code fails to load, or several wrappers could be meant.
    """
    with GUEST_LOCK, contained():
        switch_on_shims()
        if not path:
            return _known(name)
        modules = _modules(name, path)
        table = _table(modules)
    cls, name = _choose(name, table, path, {module.__name__ for module in modules})
    return Found(cls, name, sources_of(cls, modules))


def known_wrappers() -> list[str]:
    """Names of the wrappers that are registered in this process, and of those that installed packages bring.

    Raises:
        PlanError: An installed package that brings wrappers cannot be loaded.
    """
    with GUEST_LOCK, contained():
        if are_plugins_there():
            switch_on_shims()
        return [*LMMS_MODELS, *plugin_names()]


def found_class(cls: type[lmms]) -> Found:
    """A class that is there already, by the first name that it is registered under, else by its own."""
    return Found(cls, _names_of(cls)[0], sources_of(cls, []))


def _modules(name: str, path: str) -> list[ModuleType]:
    """The modules of a place. Of lmms-eval's own tree, and of a folder of many wrappers that is no package, only the
    file that is called as the wrapper is, if it has that wrapper.
    """
    is_package = Path(path, "__init__.py").is_file()
    kinds = ("chat", "simple") if is_package else ("chat", "simple", "")  # the one that takes messages comes first
    files = [Path(path, kind, f"{name}.py") for kind in kinds]
    found = next((file for file in files if name.isidentifier() and file.is_file()), None)
    modules = load_place(str(found)) if found is not None else []
    return modules if name in _table(modules) else load_place(path)


def load_place(path: str) -> list[ModuleType]:
    """The modules of a file, a package folder, a folder of files, or a dotted name. Call it with facades on, inside
    ``contained``.

    Raises:
        PlanError: There is no such place, or its code fails to load.
    """
    place = Path(path)
    with boundary(PlanError, f"Loading {path!r}", hint="Fix the wrapper's code."):
        try:
            modules = _load(place, path)
        except ModuleNotFoundError as error:
            missing = (error.name or "?").partition(".")[0]
            if missing in _FACADES or missing == path.partition(".")[0]:
                raise
            raise missing_package(error.name or "?", f"the model file {path!r}") from error
    if modules is None:
        raise PlanError(
            f"There is no file, package or module {path!r}.",
            where=_WHERE,
            hint=did_you_mean(place.name, file_names_beside(place)) or "Give the file that defines the wrapper.",
        )
    return modules


def _load(place: Path, path: str) -> list[ModuleType] | None:
    if place.is_file():
        return [load_file(place, SUPPLIED)]
    if (place / "__init__.py").is_file():
        place = place.resolve()
        package = guest_import_module(place.name, place.parent, SUPPLIED)
        return None if package is None else with_inner(package)
    if place.is_dir():
        return [load_file(file, SUPPLIED) for file in sorted(place.glob("*.py"))] or None
    return dotted_modules(path, SUPPLIED)


def _known(name: str) -> Found:
    """A wrapper that is registered in this process, or that an installed package brings."""
    if not name:
        raise PlanError(
            "Which wrapper is meant?", where="--model", hint="Write --model lmms:NAME, or name its file: --model-path."
        )
    cls = LMMS_MODELS.get(name) if name in LMMS_MODELS else from_plugins(name)
    if cls is None:
        known = [*LMMS_MODELS, *plugin_names()]
        hint = did_you_mean(name, known) or "Name the file that defines it with --model-path."
        raise PlanError(f"There is no lmms model {name!r}.", where="--model", hint=hint)
    return Found(cls, name, sources_of(cls, []))


def _table(modules: Iterable[ModuleType]) -> dict[str, type[lmms]]:
    """The wrappers of some modules by all their names, those that are written there before those that are imported; of
    two with one name the one that takes messages.

    A wrapper that takes messages goes by the registered names of one that takes none and that it derives from as well:
    lmms-eval knows both by one name, and means this one.
    """
    names = {module.__name__ for module in modules}
    found = [cls for module in modules for cls in list(vars(module).values()) if _is_wrapper(cls)]
    own = [cls for cls in found if cls.__module__ in names]
    others = [cls for cls in found if cls.__module__ not in names and registered_names(cls)]
    return {
        **_by_name((name, cls) for cls in others for name in _names_of(cls)),
        **_by_name((name, cls) for cls in own if not cls.is_simple for name in _inherited_names(cls)),
        **_by_name((name, cls) for cls in own for name in _names_of(cls)),
    }


def _by_name(pairs: Iterable[tuple[str, type[lmms]]]) -> dict[str, type[lmms]]:
    table: dict[str, type[lmms]] = {}
    for name, cls in pairs:
        if name not in table or (table[name].is_simple and not cls.is_simple):
            table[name] = cls
    return table


def _inherited_names(cls: type[lmms]) -> Iterator[str]:
    for base in cls.__mro__[1:]:
        if issubclass(base, lmms) and base.is_simple:
            yield from registered_names(base)


def _is_wrapper(cls: Any) -> TypeGuard[type[lmms]]:
    return isinstance(cls, type) and issubclass(cls, lmms) and cls is not lmms


def _choose(name: str, table: Mapping[str, type[lmms]], path: str, modules: Container[str]) -> tuple[type[lmms], str]:
    if name in table:
        return table[name], name
    # Those that are imported from elsewhere are meant only where nothing else is there.
    table = {known: cls for known, cls in table.items() if cls.__module__ in modules} or table
    registered = [known for known, cls in table.items() if known in registered_names(cls)]
    if not table:
        raise PlanError(
            f"{path!r} defines no model.",
            where=_WHERE,
            hint="A model is a subclass of lmms, or of one of its wrappers.",
        )
    known = registered or list(table)
    if name:
        hint = did_you_mean(name, table) or f"It has: {', '.join(known)}."
        raise PlanError(f"{path!r} has no model {name!r}.", where="--model", hint=hint)
    classes = {table[known] for known in registered} or _leaves(table.values())
    if len(classes) > 1:
        raise PlanError(f"{path!r} has several models: {', '.join(known)}.", where="--model", hint="Write lmms:NAME.")
    cls = classes.pop()
    return cls, _names_of(cls)[0]


def _names_of(cls: type[lmms]) -> tuple[str, ...]:
    return (*registered_names(cls), cls.__name__)


def _leaves(classes: Iterable[type[lmms]]) -> set[type[lmms]]:
    """Classes from which none of the others derives."""
    every = set(classes)
    return {cls for cls in every if not any(other is not cls and issubclass(other, cls) for other in every)}
