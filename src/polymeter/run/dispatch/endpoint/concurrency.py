"""Limit on requests in flight at an endpoint: pure decisions over a clock that a test can turn.

The only evidence about an endpoint is its answers, so the limit follows three signs.

Strain
    A few rate limits in a hundred are the noise of a busy endpoint: those requests are asked again, and that is all.
    If more than one try in eight is a rate limit, or more than half fail transiently otherwise, that is an
    *episode*: the limit is cut once, and requests in flight by then never cut it again. Afterwards it grows by a
    fixed step for each round of answers (additive increase, multiplicative decrease: Chiu and Jain, "Analysis of the
    increase and decrease algorithms for congestion avoidance", 1989).
Saturation
    Answers that come while slots are free or nothing waits are no evidence for a higher limit, and never raise it.
Throughput
    An endpoint that queues answers everything, only later. By Little's law its throughput is the number of requests in
    flight divided by the mean latency. If half as many more in flight bring less than a fifth more throughput, the
    limit goes back and stays for a while. Only a limit that is found by trying follows this rule, not one that the
    user gave.

``Retry-After`` pauses all requests, because any that is sent before that only prolongs it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

START = 8
CEILING = 512
"""The start and the maximum of a limit that is found by trying: open files and memory are finite."""

Verdict = Literal["answered", "rate_limit", "failed", "other"]
"""The end of a try, as evidence of the endpoint's load. ``other``: no evidence."""

_CUT = 0.7
_RATE_LIMITED_SHARE = 1 / 8
_FAILED_SHARE = 1 / 2
_LEAST_TRIES = 24
_STEP_SHARE = 1 / 32
_LEAST_ROUND = 8
_COMPARED_AT = 1.5
_WORTH_HAVING = 1.2
_HELD_ROUNDS = 32
_FIRST_CHANGES = 100
_LAST_CHANGES = 100
_BACKOFF_S = 0.2
_BACKOFF_GROWTH = 3.0
_LONGEST_BACKOFF_S = 30.0


def backoff_s(n_tries: int, jitter: float) -> float:
    """Return the wait of a request after its ``n_tries``-th try failed transiently: 0.2 s, three times as long each
    time, half a minute at most.

    Args:
        n_tries: How often it has been tried, from 1.
        jitter: From 0 to 1; takes up to half of it away, so that those that failed together do not come back together.
    """
    longest = min(_LONGEST_BACKOFF_S, _BACKOFF_S * _BACKOFF_GROWTH ** min(n_tries - 1, 20))
    return longest * (1 - jitter / 2)


@dataclass(frozen=True, slots=True)
class Ticket:
    """A try in flight: when it began, and how often the limit had changed and been cut by then."""

    began_s: float
    n_changes: int
    n_cuts: int


@dataclass(slots=True)
class _Strain:
    """The ends of the last tries; begun anew when a window of them is full."""

    n_tries: int = 0
    n_rate_limited: int = 0
    n_failed: int = 0


@dataclass(slots=True)
class _Round:
    """Answers that came while every slot was taken and work waited, to tries that began under the present limit."""

    n_answers: int = 0
    latency_s: float = 0.0


class Limiter:
    """Decides how many tries may be in flight, and keeps the history of the limit. Not thread-safe: one event loop
    asks it.

    Args:
        told: The user's limit: where it starts, and what it never exceeds. ``None``: it is to be found.
        clock: Seconds that only ever grow.
        longest_pause_s: The longest ``Retry-After`` that is honoured.
    """

    def __init__(self, told: int | None, clock: Callable[[], float], *, longest_pause_s: float) -> None:
        self.limit = told or START
        self.in_flight = 0
        self.most_in_flight = 0
        self._ceiling = told or CEILING
        self._is_found = told is None
        self._is_doubling = told is None
        self._clock = clock
        self._longest_pause_s = longest_pause_s
        self._started_s = self._resume_s = clock()
        self._paused_s = 0.0
        self._n_rate_limits = self._n_failures = 0
        self._n_changes = self._n_cuts = 0
        self._cut_from = 0
        self._strain = _Strain()
        self._round = _Round()
        self._n_held = 0
        self._compared: tuple[int, float] | None = None
        self._first: list[tuple[float, int, str]] = [(0.0, self.limit, "told" if told else "start")]
        self._last: deque[tuple[float, int, str]] = deque(maxlen=_LAST_CHANGES)

    @property
    def has_room(self) -> bool:
        """True if a try may begin now."""
        return self.in_flight < self.limit and self.pause_s <= 0

    @property
    def pause_s(self) -> float:
        """For how many seconds nobody may send; 0 or less: everybody may."""
        return self._resume_s - self._clock()

    def begin(self) -> Ticket:
        """Count a try that begins; return the argument for ``end``."""
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        return Ticket(self._clock(), self._n_changes, self._n_cuts)

    def end(
        self,
        ticket: Ticket,
        verdict: Verdict,
        *,
        is_work_waiting: bool,
        retry_after_s: float | None = None,
        is_passed_over: bool = False,
    ) -> None:
        """Count a try that ended, and change the limit if it is time.

        Args:
            ticket: From ``begin``.
            verdict: How it ended.
            is_work_waiting: Whether there is more to send than slots to send it in.
            retry_after_s: What the endpoint asked for, if it did.
            is_passed_over: Whether the request had failed before, and others were answered since. A rate limit is its
                own then and no strain, and the wait that the endpoint asks for holds nobody else.
        """
        is_saturated = self.in_flight >= self.limit and is_work_waiting
        self.in_flight -= 1
        if verdict == "rate_limit":
            self._n_rate_limits += 1
        if verdict == "failed":
            self._n_failures += 1
        if retry_after_s and not is_passed_over:
            self._pause(min(retry_after_s, self._longest_pause_s))
        is_own = is_passed_over and verdict == "rate_limit"
        if ticket.n_cuts == self._n_cuts and verdict != "other" and not is_own:
            self._watch_strain(verdict)
        if verdict == "answered" and is_saturated and ticket.n_changes == self._n_changes:
            self._round.n_answers += 1
            self._round.latency_s += self._clock() - ticket.began_s
            if self._round.n_answers >= max(_LEAST_ROUND, self.limit):
                self._end_round(self._round)

    def summary(self) -> dict[str, Any]:
        """The record of the run: the limit's history as ``[seconds, limit, why]`` (the first and the last hundred
        changes), counts, and how long ``Retry-After`` made it wait.
        """
        return {
            "limit": self.limit,
            "most_in_flight": self.most_in_flight,
            "rate_limits": self._n_rate_limits,
            "failures": self._n_failures,
            "cuts": self._n_cuts,
            "changes": self._n_changes,
            "paused_s": round(self._paused_s, 3),
            "history": [[round(at, 3), limit, why] for at, limit, why in [*self._first, *self._last]],
        }

    def _pause(self, wait_s: float) -> None:
        now = self._clock()
        resume_s = max(self._resume_s, now + wait_s)
        self._paused_s += resume_s - max(self._resume_s, now)
        self._resume_s = resume_s

    def _watch_strain(self, verdict: Verdict) -> None:
        strain, window = self._strain, max(_LEAST_TRIES, self.limit)
        strain.n_tries += 1
        if verdict == "rate_limit":
            strain.n_rate_limited += 1
        if verdict == "failed":
            strain.n_failed += 1
        if strain.n_rate_limited > window * _RATE_LIMITED_SHARE:
            self._cut("rate limits")
        elif strain.n_failed > window * _FAILED_SHARE:
            self._cut("failures")
        elif strain.n_tries >= window:
            self._strain = _Strain()

    def _cut(self, why: str) -> None:
        self._n_cuts += 1
        self._strain = _Strain()
        self._cut_from = self.limit
        self._is_doubling = False
        self._compared = None
        self._n_held = 0
        self._change(max(1, int(self.limit * _CUT)), why)

    def _end_round(self, done: _Round) -> None:
        self._round = _Round()
        if self._n_held:
            self._n_held -= 1
            return
        if self._is_found and not self._is_worth_having(done):
            return
        if self._is_doubling:
            self._change(min(self._ceiling, 2 * self.limit), "slow start")
        else:
            step = max(1, int(max(self._cut_from, self.limit) * _STEP_SHARE))
            self._change(min(self._ceiling, self.limit + step), "saturated")

    def _is_worth_having(self, done: _Round) -> bool:
        """Compare the throughput with that of a clearly lower limit, and go back to that one if it was as good."""
        throughput = self.limit * done.n_answers / done.latency_s if done.latency_s > 0 else float("inf")
        if self._compared is None:
            self._compared = (self.limit, throughput)
            return True
        limit, before = self._compared
        if self.limit < _COMPARED_AT * limit:
            return True
        if throughput >= _WORTH_HAVING * before:
            self._compared = (self.limit, throughput)
            return True
        self._is_doubling = False
        self._compared = None
        self._n_held = _HELD_ROUNDS
        self._change(limit, "no faster")
        return False

    def _change(self, limit: int, why: str) -> None:
        """Set the limit, and begin a new round."""
        self._round = _Round()
        if limit == self.limit:
            return
        self.limit = limit
        self._n_changes += 1
        change = (self._clock() - self._started_s, limit, why)
        if len(self._first) < _FIRST_CHANGES:
            self._first.append(change)
        else:
            self._last.append(change)
