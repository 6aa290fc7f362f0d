"""How many requests may be in flight at an endpoint: pure decisions over a clock that a test can turn.

What is known of an endpoint is what it answers, so the limit follows three signs:

- **Rate limits and failures.** A few in a hundred are the noise of a busy endpoint and are only asked again. When more
  than one answer in eight is a rate limit, or more than half are other passing failures, that is an *episode*: the
  limit is cut once, and requests that were already in flight then do not cut it again. It grows back by a share of
  what it was, once for each full round of answers (additive increase, multiplicative decrease, as in congestion
  control: Chiu and Jain, "Analysis of the increase and decrease algorithms", 1989).
- **Saturation.** A limit that is not reached, or that nothing waits for, says nothing, and never grows.
- **Throughput.** An endpoint that queues answers everything, only later. When half as many requests again bring less
  than a fifth more answers a second (Little's law: those in flight divided by their mean latency), the limit goes back
  and stays for a while. This holds for a limit that was found, not for one that the user told.

``Retry-After`` pauses everyone: who sends before only prolongs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

START = 8
CEILING = 512
"""The limit that is found begins at ``START`` and never exceeds ``CEILING``: beyond it, files and ports run out."""

Verdict = Literal["answered", "rate_limit", "failed", "neither"]
"""How a try ended, as far as the endpoint's load goes: ``neither`` says nothing about it."""

_CUT = 0.7
_RATE_LIMITED_SHARE = 1 / 8
_FAILED_SHARE = 1 / 2
_LEAST_SEEN = 24
_REGROWTH = 1 / 32
_WORTH_COMPARING = 1.5
_WORTH_HAVING = 1.2
_HOLD_ROUNDS = 32
_HISTORY = 200


@dataclass(frozen=True, slots=True)
class Ticket:
    """A try in flight: when it began, and under which limit (``epoch`` counts its changes)."""

    began_s: float
    epoch: int


@dataclass(slots=True)
class _Round:
    """What has been answered of the tries that began since the limit last changed."""

    n_answered: int = 0
    latency_s: float = 0.0
    n_rate_limited: int = 0
    n_failed: int = 0
    is_saturated: bool = True


@dataclass(slots=True)
class _Reference:
    """The last limit whose throughput (answers a second) was worth having."""

    limit: int
    throughput: float


@dataclass(slots=True)
class Counts:
    """How tries ended."""

    answered: int = 0
    rate_limits: int = 0
    failures: int = 0
    most_in_flight: int = 0


@dataclass(slots=True)
class _Strain:
    """How the last tries ended, as sums that forget: what lies a window back counts little."""

    rate_limited: float = 0.0
    failed: float = 0.0
    seen: float = field(default=0.0)


class Limiter:
    """Decides how many tries may be in flight. Not thread-safe: one event loop asks it.

    Args:
        told: The user's limit: where it starts and what it never exceeds. ``None``: it is found.
        clock: Seconds that only ever grow.
        longest_pause_s: The longest ``Retry-After`` that is honoured.
    """

    def __init__(self, told: int | None, clock: Callable[[], float], *, longest_pause_s: float) -> None:
        self.limit = told or START
        self.in_flight = 0
        self.counts = Counts()
        self._ceiling = told or CEILING
        self._is_found = told is None
        self._clock = clock
        self._longest_pause_s = longest_pause_s
        self._started_s = clock()
        self._resume_s = self._started_s
        self._epoch = 0
        self._cut_epoch = -1
        self._round = _Round()
        self._is_doubling = self._is_found
        self._cut_from = self.limit
        self._reference: _Reference | None = None
        self._n_held = 0
        self._n_changes = 0
        self._history: list[tuple[float, int, str]] = [(0.0, self.limit, "told" if told else "start")]

    @property
    def has_room(self) -> bool:
        """Whether a try may begin now."""
        return self.in_flight < self.limit and self.pause_s <= 0

    @property
    def pause_s(self) -> float:
        """How many seconds nobody may send; 0 or less: anybody may."""
        return self._resume_s - self._clock()
