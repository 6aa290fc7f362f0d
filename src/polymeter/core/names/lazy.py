"""Modules that import a public name when it is first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def from_homes(module: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """A module's ``__getattr__``, so that importing the module is fast.

    Args:
        module: Its name, for messages.
        homes: The modules that define its public names, each with those names.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def attribute(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(importlib.import_module(home_of[name]), name)

    return attribute
