"""The modules of ULMEvalKit's shim that have behaviour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class LateNames:
    """Names of a package that are looked up at each access, because users' files may define more.

    Args:
        package: The package's name, for messages.
        find: Returns the object of a name; ``None`` if there is none.
        public: The names that exist from the start, which a star import binds.
    """

    def __init__(self, package: str, find: Callable[[str], object | None], public: Sequence[str] = ()) -> None:
        self._package = package
        self._find = find
        self.__all__ = list(public)

    def __getattr__(self, name: str) -> Any:
        value = None if name.startswith("_") else self._find(name)
        if value is None:
            raise AttributeError(f"module {self._package!r} has no attribute {name!r}")
        return value
