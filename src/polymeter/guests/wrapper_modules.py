"""Modules of foreign model wrappers: those that a user names by a dotted name, the files that a class is written in,
and what stands beside a place that is not there.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from polymeter.guests.imports import guest_import_module
from polymeter.guests.sources import files_behind


def dotted_modules(name: str, supplied: Mapping[str, Any]) -> list[ModuleType] | None:
    """The module of a dotted name, from the working directory or an installed package, and those below it that it has
    loaded; ``None`` when there is none. Call it with facades on, inside ``contained``.

    Args:
        name: The dotted name.
        supplied: Names that code from the working directory may use without importing them.
    """
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    here = guest_import_module(name, Path.cwd(), supplied)
    if here is not None:
        return with_inner(here)
    try:
        return with_inner(importlib.import_module(name))
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        return None


def with_inner(module: ModuleType) -> list[ModuleType]:
    """A module, and those below it that it has loaded."""
    inner = [other for name, other in list(sys.modules.items()) if name.startswith(f"{module.__name__}.")]
    return [module, *inner]


def names_beside(place: Path) -> list[str]:
    """What lies in the folder of a place, for a hint where it does not exist."""
    return [item.name for item in place.parent.iterdir()] if place.parent.is_dir() else []


def sources_of(cls: type, modules: Iterable[ModuleType]) -> tuple[Path, ...]:
    """The files that a class is written in: those of some modules and of its own functions, with what they import."""
    every = [getattr(module, "__file__", None) for module in modules]
    # A run starts guest modules anew, so that of a class which was loaded before may be gone; its functions know.
    written = [inspect.unwrap(value) for value in vars(cls).values() if inspect.isfunction(value)]
    every.extend(value.__code__.co_filename for value in written if value.__module__ == cls.__module__)
    return files_behind(file for name in every if name is not None and (file := Path(name)).is_file())
