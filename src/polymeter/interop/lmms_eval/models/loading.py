"""Finding a wrapper's class: in a file, a package folder or a module that the user names, or among the registered
wrappers.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

from polymeter.core.errors import PlanError, boundary, did_you_mean
from polymeter.guests import contained
from polymeter.guests.loading.imports import guest_import_module
from polymeter.guests.loading.packages import GUEST_LOCK
from polymeter.guests.shims.finder import switch_on_shims
from polymeter.guests.wrappers import modules_at, registered_names
from polymeter.interop.lm_family.models.base import CacheHook
from polymeter.interop.lm_family.models.loading import TYPING, FoundModel, found_class, leaves, names_of, only_candidate
from polymeter.interop.lmms_eval.instance import Instance
from polymeter.interop.lmms_eval.models import base as lmms_base
from polymeter.interop.lmms_eval.models.base import LMMS_MODELS, lmms
from polymeter.interop.lmms_eval.models.manifests import MODEL_REGISTRY_V2, class_of, listed_manifests
from polymeter.interop.lmms_eval.models.plugins import are_plugins_there, from_plugins, plugin_names

_SHIM_ROOTS = ("lmms_eval", "lm_eval", "polymeter")
_WHERE = "--model-path"
_CHECKOUT = Path("lmms_eval", "models")
_KINDS = ("chat", "simple")

SUPPLIED: Mapping[str, Any] = {
    "lmms": lmms,
    "LM": lmms,
    "Instance": Instance,
    "register_model": lmms_base.register_model,
    "CacheHook": CacheHook,
    "GenerationResult": lmms_base.GenerationResult,
    "TokenCounts": lmms_base.TokenCounts,
    **TYPING,
}
"""Names that the code in lmms-eval's documentation uses without importing them."""


FoundLmms = FoundModel[lmms]


def find_wrapper(name: str, path: str, *, force_simple: bool = False) -> FoundLmms:
    """The class that ``--model lmms:NAME --model-path PATH`` means. Runs the top level of its module.

    Args:
        name: A registered name or the class's own; empty where the path holds only one.
        path: A file, a package folder, or a module's dotted name; empty for a wrapper that an imported file or an
            installed package registers.
        force_simple: Of two wrappers of the name, take the one for a text and media, not the one for messages.

    Raises:
        PlanError: if there is no such path or name, its code fails to load, or several wrappers could be meant.
    """
    with GUEST_LOCK, contained():
        switch_on_shims()
        if not path:
            return _registered(name, force_simple=force_simple)
        modules = _modules(name, path, force_simple=force_simple)
        table = _table(modules, force_simple=force_simple)
        if name and name not in table:
            announced = _announced(name, modules, path, force_simple=force_simple)
            if announced is not None:
                return found_class(announced, name, modules)
            files = [file.stem for kind in _KINDS for file in Path(path, kind).glob("*.py")]
            if not table and files:
                hint = did_you_mean(name, [*files, *MODEL_REGISTRY_V2.announced()]) or f"It has {len(files)} files."
                raise PlanError(f"{path!r} has no model {name!r}.", where="--model", hint=hint)
    cls, name = _choose(name, table, path, {module.__name__ for module in modules})
    return found_class(cls, name, modules)


def known_wrappers() -> list[str]:
    """Names of the wrappers that are registered in this process or that installed packages provide.

    Raises:
        PlanError: if an installed package that provides wrappers cannot be loaded.
    """
    with GUEST_LOCK, contained():
        if are_plugins_there():
            switch_on_shims()
        return [*LMMS_MODELS, *MODEL_REGISTRY_V2.announced(), *plugin_names()]


def models_of_checkout(name: str) -> str:
    """The folder of models of the checkout of lmms-eval that this process was started in, if the wrapper is one of
    them: there ``python -m lmms_eval --model NAME`` means it. Else empty.
    """
    place = _CHECKOUT
    if not (place / "__init__.py").is_file() or not name.isidentifier():
        return ""
    if any((place / kind / f"{name}.py").is_file() for kind in _KINDS):
        return str(place)
    with GUEST_LOCK, contained():
        switch_on_shims()
        modules = _modules_of_layout(place)
        return str(place) if _announced(name, modules, str(place)) is not None else ""


def _modules(name: str, path: str, *, force_simple: bool = False) -> list[ModuleType]:
    """The modules of a path. In a folder laid out as lmms-eval's own, and in a folder of many wrappers that is no
    package, only the file named like the wrapper, if that defines it.
    """
    is_package = Path(path, "__init__.py").is_file()
    # lmms-eval prefers the wrapper that takes messages.
    kinds = (*(reversed(_KINDS) if force_simple else _KINDS), *(() if is_package else ("",)))
    files = [Path(path, kind, f"{name}.py") for kind in kinds]
    own_file = next((file for file in files if name.isidentifier() and file.is_file()), None)
    modules = load_modules(str(own_file)) if own_file is not None else []
    if name in _table(modules):
        return modules
    if name and is_package and any(Path(path, kind).is_dir() for kind in _KINDS):
        modules = _modules_of_layout(Path(path))
        if _announced(name, modules, path) is not None:
            return modules
    return load_modules(path)


def _modules_of_layout(place: Path) -> list[ModuleType]:
    """A folder laid out as lmms-eval's own models, without the wrappers in it, which need a hundred packages."""
    with boundary(PlanError, f"Loading {str(place)!r}", hint="Fix its __init__.py."):
        package = guest_import_module(place.resolve().name, place.resolve().parent, SUPPLIED)
    return [] if package is None else [package]


def _announced(name: str, modules: Iterable[ModuleType], path: str, *, force_simple: bool = False) -> type[lmms] | None:
    """The wrapper for which code of the path has registered a manifest, or that it lists in lmms-eval's own tables;
    ``None`` if there is none.
    """
    folder = Path(path).resolve()
    folder = folder if folder.is_dir() else folder.parent
    registries = [registry for module in modules if (registry := vars(module).get("MODEL_REGISTRY_V2")) is not None]
    tables = listed_manifests(modules)
    for registry in [*registries, MODEL_REGISTRY_V2, tables]:
        try:
            resolved = registry.resolve(name, force_simple)
        except (PlanError, ValueError):  # what ours, and that of a checkout, raises for an unknown name
            continue
        with boundary(PlanError, f"Loading the model {name!r}", hint=f"It is announced as {resolved.class_path}."):
            return class_of(resolved, folder)
    return None


def load_modules(path: str) -> list[ModuleType]:
    """The modules of a file, a package folder, a folder of files, or a dotted name. To be called with the shims
    switched on, inside ``contained``.

    Raises:
        PlanError: if there is no such file, folder or module, or its code fails to load.
    """
    return modules_at(path, SUPPLIED, _SHIM_ROOTS)


def _registered(name: str, *, force_simple: bool) -> FoundLmms:
    """A wrapper that is registered in this process, or that an installed package provides."""
    if not name:
        raise PlanError(
            "Which wrapper is meant?", where="--model", hint="Write --model lmms:NAME, or name its file: --model-path."
        )
    cls: type[lmms] | None
    if name in LMMS_MODELS:
        cls = LMMS_MODELS.get(name, force_simple=force_simple)
    elif name in MODEL_REGISTRY_V2.announced():
        cls = MODEL_REGISTRY_V2.get_model_class(name, force_simple)
    else:
        cls = from_plugins(name, force_simple=force_simple)
    if cls is None:
        known = [*LMMS_MODELS, *MODEL_REGISTRY_V2.announced(), *plugin_names()]
        hint = did_you_mean(name, known) or "Name the file that defines it with --model-path."
        raise PlanError(f"There is no lmms model {name!r}.", where="--model", hint=hint)
    return found_class(cls, name)


def _table(modules: Iterable[ModuleType], *, force_simple: bool = False) -> dict[str, type[lmms]]:
    """The wrappers of some modules by all their names. Wrappers defined there win over imported ones; of two with one
    name, the one that takes messages wins, or with ``force_simple`` the other one.

    A wrapper that takes messages also has the registered names of its bases that take a text and media: lmms-eval
    registers both under one name, and prefers the one that takes messages.
    """
    names = {module.__name__ for module in modules}
    wrappers = [cls for module in modules for cls in list(vars(module).values()) if _is_wrapper(cls)]
    own = [cls for cls in wrappers if cls.__module__ in names]
    imported = [cls for cls in wrappers if cls.__module__ not in names and registered_names(cls)]
    table = {
        **_by_name((name, cls) for cls in imported for name in names_of(cls)),
        **_by_name((name, cls) for cls in own if not cls.is_simple for name in _inherited_names(cls)),
        **_by_name((name, cls) for cls in own for name in names_of(cls)),
    }
    if force_simple:
        table |= {name: cls for cls in (*imported, *own) if cls.is_simple for name in names_of(cls)}
    return table


def _by_name(pairs: Iterable[tuple[str, type[lmms]]]) -> dict[str, type[lmms]]:
    table: dict[str, type[lmms]] = {}
    for name, cls in pairs:
        earlier = table.get(name)
        if earlier is None or (earlier.is_simple and not cls.is_simple):
            table[name] = cls
        elif _are_rivals(earlier, cls, name):
            raise PlanError(
                f"Two wrappers of {earlier.__module__.rpartition('.')[2]}.py are registered as {name!r}: "
                f"{earlier.__name__} and {cls.__name__}.",
                where=_WHERE,
                hint="Give one of them another name, or name its class: --model lmms:CLASS.",
            )
    return table


def _are_rivals(one: type[lmms], other: type[lmms], name: str) -> bool:
    """Return whether two wrappers of one file and one kind are registered under the same name, so that neither is
    meant.
    """
    is_same_kind = one is not other and one.is_simple == other.is_simple and one.__module__ == other.__module__
    return is_same_kind and name in registered_names(one) and name in registered_names(other)


def _inherited_names(cls: type[lmms]) -> Iterator[str]:
    for base in cls.__mro__[1:]:
        if issubclass(base, lmms) and base.is_simple:
            yield from registered_names(base)


def _is_wrapper(cls: Any) -> TypeGuard[type[lmms]]:
    return isinstance(cls, type) and issubclass(cls, lmms) and cls is not lmms


def _choose(name: str, table: Mapping[str, type[lmms]], path: str, modules: Container[str]) -> tuple[type[lmms], str]:
    if name in table:
        return table[name], name
    # An imported wrapper is meant only if the modules define none.
    table = {key: cls for key, cls in table.items() if cls.__module__ in modules} or table
    registered = [key for key, cls in table.items() if key in registered_names(cls)]
    listed = ", ".join(registered or table)
    candidates = {table[key] for key in registered} or leaves(table.values())
    kind = ("lmms", "lmms, or of one of its wrappers")
    cls = only_candidate(candidates, listed, name=name, path=path, known=table, kind=kind)
    return cls, names_of(cls)[0]
