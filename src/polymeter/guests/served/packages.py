"""Packages that guests import and that Polymeter serves where they are not installed. For other code they stay absent:
a library that looks for one of them must not find ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from types import ModuleType

from polymeter.guests.loading.search_path import is_findable

DECORD = "decord"
_SERVED: Mapping[str, str] = {DECORD: "polymeter.guests.served.decord"}
SERVED_PACKAGES = frozenset(_SERVED)


def served_package(name: str, fromlist: Sequence[str]) -> ModuleType | None:
    """Return what ``import name`` gives a guest, or ``from name import …``; ``None`` if the real package is installed,
    or none is served.
    """
    top = name.partition(".")[0]
    if top not in _SERVED or is_findable(top):
        return None
    modules = _modules_of(top)
    if name not in modules:
        raise ModuleNotFoundError(f"Polymeter's stand-in for {top} has no module {name!r}", name=name)
    return modules[name if fromlist else top]


# Kept for the life of the process, so that a class of the package is one class.
@cache
def _modules_of(top: str) -> dict[str, ModuleType]:
    found: dict[str, ModuleType] = import_module(_SERVED[top]).modules()
    return found
