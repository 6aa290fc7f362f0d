"""Finding the class of a model: in a file, a package folder or a module that the user names, or among the registered
ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, TypeGuard

from polymeter.core.errors import PlanError
from polymeter.guests import contained
from polymeter.guests.loading.packages import GUEST_LOCK
from polymeter.guests.shims.finder import switch_on_shims
from polymeter.guests.wrappers import modules_at, registered_names
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_eval.models import base
from polymeter.interop.lm_eval.models.base import LM, LM_MODELS, TemplateLM
from polymeter.interop.lm_family.models.base import CacheHook
from polymeter.interop.lm_family.models.loading import TYPING, FoundModel, found_class, leaves, names_of, only_candidate

_SHIM_ROOTS = ("lm_eval", "polymeter")
SUPPLIED: Mapping[str, Any] = {
    "LM": LM,
    "TemplateLM": TemplateLM,
    "Instance": Instance,
    "register_model": base.register_model,
    "CacheHook": CacheHook,
    **TYPING,
}
"""Names that the code in lm-eval's documentation uses without importing them."""


FoundLm = FoundModel[LM]


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
    return found_class(cls, found_name, modules)


def load_models(path: str) -> None:
    """Load files with models, so that the names they register are known.

    Raises:
        PlanError: if there is no such file, folder or module, or its code fails to load.
    """
    with GUEST_LOCK, contained():
        switch_on_shims()
        modules_at(path, SUPPLIED, _SHIM_ROOTS)


def _registered(name: str) -> FoundLm:
    if not name:
        raise PlanError(
            "Which model is meant?", where="--model", hint="Write --model lm:NAME, or name its file: --model-path."
        )
    cls = LM_MODELS.get(name)
    return found_class(cls, name)


def _choose(name: str, modules: Iterable[ModuleType], path: str) -> tuple[type[LM], str]:
    names = {module.__name__ for module in modules}
    every = [cls for module in modules for cls in list(vars(module).values()) if _is_model(cls)]
    # An imported model is meant only by its name, or if the path defines none.
    own = [cls for cls in every if cls.__module__ in names]
    table = {key: cls for classes in (every, own) for cls in classes for key in names_of(cls)}
    if name in table:
        return table[name], name
    candidates = {cls for cls in own or every if registered_names(cls)} or leaves(own or every)
    listed = ", ".join(sorted(names_of(cls)[0] for cls in candidates))
    cls = only_candidate(candidates, listed, name=name, path=path, known=table, kind=("lm", "LM"))
    return cls, names_of(cls)[0]


def _is_model(cls: Any) -> TypeGuard[type[LM]]:
    return isinstance(cls, type) and issubclass(cls, LM) and cls not in (LM, TemplateLM)
