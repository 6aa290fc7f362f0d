"""Events that call functions of a test in place of the scheduler's queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polymeter.run.schedule.events import Events

_KINDS = ("answered", "asked", "ended", "failed", "gone", "note", "returned", "tries_failed", "waiting")


class Heard(Events):
    """Takes a function for each kind of event; the others are ignored."""

    def __init__(self, **heard: Callable[[Any], object]) -> None:
        assert heard.keys() <= set(_KINDS), heard
        nobody: Any = None
        super().__init__(nobody, print)
        for kind in _KINDS:
            setattr(self, kind, heard.get(kind, lambda _: None))
