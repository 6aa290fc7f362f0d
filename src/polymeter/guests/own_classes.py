"""Polymeter's own classes among those of guests. Authors derive from our base classes and override any method, so the
origin of each class and method must be known.
"""

from __future__ import annotations

from typing import TypeVar

_MARK = "_polymeter_wrote_this_class"
_Class = TypeVar("_Class", bound=type)


def own_class(cls: _Class) -> _Class:
    """Mark a class as Polymeter's own. Those that derive from it are not: they need the mark themselves."""
    setattr(cls, _MARK, True)
    return cls


def is_own_class(cls: type) -> bool:
    """Return whether Polymeter wrote a class."""
    return _MARK in vars(cls)


def definer(cls: type, name: str) -> type | None:
    """The nearest class of a lineage that defines an attribute; ``None`` if none does."""
    return next((base for base in cls.__mro__ if name in vars(base)), None)
