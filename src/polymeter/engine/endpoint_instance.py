"""One address of a model at an endpoint: its limit, its breaker, its watch, and what it has done so far.

A model has one or several. The dispatcher chooses among them (``balancing``) and makes the tries; what is learned from
a try concerns the address where it was made, and no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.model import AsyncModel
from polymeter.engine.balancing import shares
from polymeter.engine.breaker import Breaker
from polymeter.engine.concurrency import Limiter
from polymeter.engine.endpoint_attempts import Attempts
from polymeter.engine.endpoint_watch import EndpointWatch, Notices

_SUMMED = ("limit", "rate_limits", "failures", "cuts", "changes", "paused_s")


@dataclass(frozen=True, slots=True)
class InstanceSettings:
    """What all addresses of a model have in common.

    Attributes:
        concurrency: Most requests in flight at each; ``None``: found by trying.
        max_retries: How often a request is asked again after a transient failure.
        timeout_s: Deadline of one try, in seconds.
        longest_wait_s: The longest wait before another try.
        start: Makes a task of the dispatcher's loop, which ends with it.
        sleep: Waits.
        clock: Seconds that only ever grow.
    """

    concurrency: int | None
    max_retries: int
    timeout_s: float
    longest_wait_s: float
    start: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    sleep: Callable[[float], Awaitable[None]]
    clock: Callable[[], float]


class Instance:
    """An address.

    Args:
        number: Its place among the addresses.
        model: The model there.
        name: What messages call it.
        settings: What all have in common.
        on_wait: Told for whom, why and how long it waits; an empty text when it goes on.
        on_gone: Told why it can answer nobody any more.

    Attributes:
        n_sent: How many tries it was sent.
        n_answered: How many requests it answered.
        n_failed: How many tries failed there.
    """

    def __init__(
        self,
        number: int,
        model: AsyncModel,
        name: str,
        settings: InstanceSettings,
        on_wait: Callable[[str], None],
        on_gone: Callable[[str], None],
    ) -> None:
        self.number = number
        self.model = model
        self.name = name
        self.limiter = Limiter(settings.concurrency, settings.clock, longest_pause_s=settings.longest_wait_s)
        self.breaker = Breaker(settings.longest_wait_s)
        self.attempts = Attempts(model, settings.timeout_s)
        self.watch = EndpointWatch(
            self.attempts,
            self.limiter,
            self.breaker,
            Notices(name, on_wait, on_gone, settings.clock, settings.longest_wait_s),
            max_retries=settings.max_retries,
            start=settings.start,
            sleep=settings.sleep,
            clock=settings.clock,
        )
        self.n_sent = self.n_answered = self.n_failed = 0

    @property
    def is_available(self) -> bool:
        """Whether it is there, as far as is known."""
        return not (self.watch.is_gone or self.breaker.is_open)

    @property
    def has_room(self) -> bool:
        """Whether it may be sent a request now."""
        return self.is_available and self.limiter.has_room

    @property
    def load(self) -> float:
        """How much of its limit is in use."""
        return self.limiter.in_flight / self.limiter.limit

    @property
    def place(self) -> str:
        """Where it is, for the record of the run."""
        return self.model.address or self.model.place or f"instance {self.number + 1}"


def limiter_record(instances: Sequence[Instance], most_in_flight: int) -> dict[str, Any]:
    """The record of the limits of all addresses: that of the only one, else their sums, without a history.

    Args:
        instances: The addresses.
        most_in_flight: The most requests that were in flight at all of them at a time.
    """
    summaries = [one.limiter.summary() for one in instances]
    if len(summaries) == 1:
        return summaries[0]
    totals = {name: sum(summary[name] for summary in summaries) for name in _SUMMED}
    return {**totals, "most_in_flight": most_in_flight, "history": []}


def address_record(instances: Sequence[Instance]) -> list[dict[str, Any]]:
    """Who of several addresses answered how much; empty if there is only one."""
    if len(instances) < 2:
        return []
    of_all = shares([one.n_answered for one in instances])
    return [
        {
            "address": one.place,
            "requests": one.n_answered,
            "failures": one.n_failed,
            "share": share,
            "is_gone": one.watch.is_gone,
            "limit": one.limiter.limit,
            "most_in_flight": one.limiter.most_in_flight,
            "history": one.limiter.summary()["history"],
        }
        for one, share in zip(instances, of_all, strict=True)
    ]
