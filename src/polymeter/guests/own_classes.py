"""Polymeter's own classes among those of guests. Authors derive from base classes of ours and override what they like,
so it must be known of a class, and of a method, whether we wrote it.
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
