"""Finding the class of a model: in a file, a package folder or a module that the user names, or among the registered
ones.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.guests import contained
from polymeter.guests.loading.packages import GUEST_LOCK
from polymeter.guests.shims.finder import switch_on_shims
from polymeter.guests.wrappers import modules_at, registered_names, sources_of
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_eval.models import base
from polymeter.interop.lm_eval.models.base import LM, LM_MODELS, TemplateLM

_WHERE = "--model-path"
_SHIM_ROOTS = ("lm_eval", "polymeter")
SUPPLIED: Mapping[str, Any] = {
    "LM": LM,
    "TemplateLM": TemplateLM,
    "Instance": Instance,
    "register_model": base.register_model,
    "CacheHook": base.CacheHook,
    **{name: getattr(typing, name) for name in ("Any", "Dict", "List", "Optional", "Tuple", "Union")},
}
"""Names that the code in lm-eval's documentation uses without importing them."""


@dataclass(frozen=True, slots=True)
class FoundLm:
    """A model's class.

    Attributes:
        cls: The class.
        name: Its name: as the user wrote it, else as it is registered, else the class's own name.
        sources: The files that define it.
    """

    cls: type[LM]
    name: str
    sources: tuple[Path, ...]


def find_lm(name: str, path: str) -> FoundLm:
    """The class that ``--model lm:NAME --model-path PATH`` means. Runs the top level of its module.

    Args:
        name: A registered name or the class's own; empty where the path holds only one.
        path: A file, a package folder, or a module's dotted name; empty for a model that an imported file registers.

    Raises:
        PlanError: if there is no such path or name, its code fails to load, or several models could be meant.
    """
    with GUEST_LOCK, contained():
        switch_on_shims()
        if not path:
            return _registered(name)
        modules = modules_at(path, SUPPLIED, _SHIM_ROOTS)
    cls, found_name = _choose(name, modules, path)
    return FoundLm(cls, found_name, sources_of(cls, modules))


def load_models(path: str) -> None:
    """Load files with models, so that the names they register are known.

    Raises:
        PlanError: if there is no such file, folder or module, or its code fails to load.
    """
    with GUEST_LOCK, contained():
        switch_on_shims()
        modules_at(path, SUPPLIED, _SHIM_ROOTS)


def found_class(cls: type[LM]) -> FoundLm:
    """A class that is loaded already, by the first name that it is registered under, else by its own."""
    return FoundLm(cls, _names_of(cls)[0], sources_of(cls, []))


def _registered(name: str) -> FoundLm:
    if not name:
        raise PlanError(
            "Which model is meant?", where="--model", hint="Write --model lm:NAME, or name its file: --model-path."
        )
    cls = LM_MODELS.get(name)
    return FoundLm(cls, name, sources_of(cls, []))


def _choose(name: str, modules: Iterable[ModuleType], path: str) -> tuple[type[LM], str]:
    names = {module.__name__ for module in modules}
    every = [cls for module in modules for cls in list(vars(module).values()) if _is_model(cls)]
    # An imported model is meant only by its name, or if the path defines none.
    own = [cls for cls in every if cls.__module__ in names]
    table = {key: cls for classes in (every, own) for cls in classes for key in _names_of(cls)}
    if name in table:
        return table[name], name
    candidates = {cls for cls in own or every if registered_names(cls)} or _leaves(own or every)
    if not candidates:
        raise PlanError(f"{path!r} defines no model.", where=_WHERE, hint="A model is a subclass of LM.")
    listed = ", ".join(sorted(_names_of(cls)[0] for cls in candidates))
    if name:
        hint = did_you_mean(name, table) or f"It has: {listed}."
        raise PlanError(f"{path!r} has no model {name!r}.", where="--model", hint=hint)
    if len(candidates) > 1:
        raise PlanError(f"{path!r} has several models: {listed}.", where="--model", hint="Write lm:NAME.")
    cls = candidates.pop()
    return cls, _names_of(cls)[0]


def _is_model(cls: Any) -> TypeGuard[type[LM]]:
    return isinstance(cls, type) and issubclass(cls, LM) and cls not in (LM, TemplateLM)


def _names_of(cls: type[LM]) -> tuple[str, ...]:
    return (*registered_names(cls), cls.__name__)


def _leaves(classes: Iterable[type[LM]]) -> set[type[LM]]:
    """Classes from which none of the others derives."""
    every = set(classes)
    return {cls for cls in every if not any(other is not cls and issubclass(other, cls) for other in every)}
