"""Wrappers of installed packages: those that ``LMMS_EVAL_PLUGINS`` names, and entry points of ``lmms_eval.models``."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from polymeter.core.errors import GUEST_PREFIX, PlanError, boundary, did_you_mean
from polymeter.guests.loading.imports import guest_import_module
from polymeter.interop.lmms_eval.models.base import lmms

VARIABLE = "LMMS_EVAL_PLUGINS"
GROUP = "lmms_eval.models"
_TABLES = ("AVAILABLE_CHAT_TEMPLATE_MODELS", "AVAILABLE_SIMPLE_MODELS", "AVAILABLE_MODELS")
_SIMPLE_TABLES = ("AVAILABLE_SIMPLE_MODELS", "AVAILABLE_MODELS", "AVAILABLE_CHAT_TEMPLATE_MODELS")
_KINDS = (".chat", ".simple", "")
_SIMPLE_KINDS = (".simple", ".chat", "")


def are_plugins_there() -> bool:
    """Return whether any installed package provides wrappers."""
    return bool(_packages()) or bool(entry_points(group=GROUP))


def from_plugins(name: str, *, force_simple: bool = False) -> type[lmms] | None:
    """The wrapper of that name that an installed package provides; ``None`` if none does. To be called with the shims
    switched on.

    Args:
        name: The name.
        force_simple: Of two wrappers, take the one for a text and media, not the one for messages.

    Raises:
        PlanError: if the package cannot be loaded, or what it names is not a wrapper.
    """
    for package in _packages():
        models = _import(f"{package}.models", VARIABLE)
        for table in [getattr(models, table, None) for table in (_SIMPLE_TABLES if force_simple else _TABLES)]:
            if isinstance(table, Mapping) and name in table:
                return _class_of(package, name, str(table[name]), _SIMPLE_KINDS if force_simple else _KINDS)
    for point in entry_points(group=GROUP):
        for manifest in _manifests(point):
            if name in _names(manifest):
                paths = [manifest.chat_class_path, manifest.simple_class_path]
                path = next(filter(None, reversed(paths) if force_simple else paths), None)
                return _of_path(path, f"entry point {point.name!r}")
    return None


def plugin_names() -> list[str]:
    """The names of all wrappers that installed packages provide."""
    names: list[str] = []
    for package in _packages():
        models = _import(f"{package}.models", VARIABLE)
        for table in _TABLES:
            names.extend(map(str, getattr(models, table, None) or ()))
    for point in entry_points(group=GROUP):
        for manifest in _manifests(point):
            names.extend(_names(manifest))
    return names


def _packages() -> list[str]:
    return [name.strip() for name in os.environ.get(VARIABLE, "").split(",") if name.strip()]


def _class_of(package: str, name: str, path: str, kinds: Iterable[str]) -> type[lmms]:
    """The class of an entry of ``AVAILABLE_MODELS``: a dotted path, or a class in the module named like the model,
    which lies beside the table or in its ``chat`` or ``simple`` folder.
    """
    if "." in path:
        return _of_path(path, f"{VARIABLE}={package}")
    tried = [f"{package}.models{kind}.{name}" for kind in kinds]
    for module_name in tried:
        module = _import(module_name, VARIABLE, may_be_missing=True)
        if module is not None:
            return _wrapper(module, path, f"{VARIABLE}={package}")
    raise PlanError(
        f"Package {package!r} lists the model {name!r}, but has no module for it.",
        where=f"{VARIABLE}={package}",
        hint=f"It is looked for in {', '.join(tried)}.",
    )


def _of_path(path: str | None, where: str) -> type[lmms]:
    module_name, _, cls = (path or "").replace(":", ".").rpartition(".")
    if not module_name:
        raise PlanError(f"{path!r} is not of the form package.module.Class.", where=where)
    module = _import(module_name, where)
    assert module is not None
    return _wrapper(module, cls, where)


def _wrapper(module: ModuleType, name: str, where: str) -> type[lmms]:
    cls = getattr(module, name, None)
    if not (isinstance(cls, type) and issubclass(cls, lmms)):
        hint = did_you_mean(name, vars(module))
        raise PlanError(f"{module.__name__} has no subclass of lmms named {name!r}.", where=where, hint=hint)
    return cls


def _import(name: str, where: str, *, may_be_missing: bool = False) -> ModuleType | None:
    """A module of an installed package, or of one in the working directory."""
    try:
        with boundary(PlanError, f"Loading the plug-in {name!r}"):
            try:
                here = guest_import_module(name, Path.cwd())
                return here if here is not None else importlib.import_module(name)
            except ModuleNotFoundError as error:
                missing = (error.name or "").removeprefix(GUEST_PREFIX).partition(".")[2]
                if not (error.name or "").startswith(GUEST_PREFIX):
                    missing = error.name or ""
                if not may_be_missing or not f"{name}.".startswith(f"{missing}."):
                    raise
                return None
    except PlanError as error:
        raise PlanError(error.what, where=f"{where}; {error.where}", hint=error.hint) from error


def _manifests(point: EntryPoint) -> Iterator[Any]:
    """The manifests of an entry point: it is one, several, or a function that returns them."""
    with boundary(PlanError, f"Loading the entry point {point.name!r} of {GROUP}"):
        loaded = point.load()
        if callable(loaded) and not hasattr(loaded, "model_id"):
            loaded = loaded()
    manifests: Iterable[Any] = loaded.values() if isinstance(loaded, Mapping) else loaded
    yield from manifests if not hasattr(loaded, "model_id") else (loaded,)


def _names(manifest: Any) -> list[str]:
    return [str(manifest.model_id), *map(str, getattr(manifest, "aliases", None) or ())]
