"""What ULMEvalKit's own modules do, where it is more than a name of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class LateNames:
    """Names of a foreign package that are looked up each time they are asked for: users' files may define more.

    Args:
        package: The foreign package, for messages.
        find: What stands under a name; ``None`` when nothing does.
        public: The names that are there from the start, which a star import binds.
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
