"""Lanes: how requests reach a model. One lane for a model that computes batches (``batch_lane``), one for an endpoint
that is awaited (``endpoint_lane``).

A lane takes requests whenever they come, prepares their media, and hands back answers through ``on_done``. It never
drops one: every request ends in a response, which may be an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from polymeter.engine.player import Asked

OnDone = Callable[[list[Asked]], None]
OnFailure = Callable[[BaseException], None]
CLOSE_S = 30


class Lane(Protocol):
    """A way to a model."""

    keeps_busy: int
    """How many samples in play keep the model busy."""

    floor: int
    """How many it needs at least, to fill what it computes now and what comes next."""

    def add(self, asked: Sequence[Asked]) -> None:
        """Take requests."""
        ...

    def poke(self, *, is_quiet: bool) -> None:
        """Start what can be started. ``is_quiet``: nothing else runs that could bring more requests."""
        ...

    def close(self) -> None:
        """Let go of the model."""
        ...
