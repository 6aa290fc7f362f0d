"""The addresses of a model at an endpoint, each with its limit, its breaker, its watch, and what it has done so far.

A model has one or several. The dispatcher chooses among them (``balancing``) and makes the tries; what is learned from
a try concerns the address where it was made, and no other.

What a server does not accept, and how log-probabilities are obtained, is no matter of an address: the model learns it
once for all of them, so no answer depends on where it was given.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from polymeter.core.model import AsyncModel
from polymeter.run.budget.meter import Meter
from polymeter.run.dispatch.endpoint.attempts import Attempts
from polymeter.run.dispatch.endpoint.balancing import least_loaded, shares
from polymeter.run.dispatch.endpoint.breaker import Breaker
from polymeter.run.dispatch.endpoint.concurrency import START, Limiter, Ticket
from polymeter.run.dispatch.endpoint.watch import EndpointWatch, Notices

_SUMMED = ("limit", "rate_limits", "failures", "cuts", "changes", "paused_s")
"""Entries of the records of limits that can be added up."""


@dataclass(frozen=True, slots=True)
class InstanceSettings:
    """Settings that all addresses of a model share.

    Attributes:
        concurrency: Most requests in flight at each; ``None``: found by trying.
        max_retries: How often a request is asked again after a transient failure.
        timeout_s: Deadline of one try, in seconds.
        longest_wait_s: The longest wait before another try.
        start: Makes a task of the dispatcher's loop, which ends with it.
        sleep: Waits.
        clock: Seconds that only ever grow.
        meter: Reserves under the caps of the run; ``None``: there are none.
    """

    concurrency: int | None
    max_retries: int
    timeout_s: float
    longest_wait_s: float
    start: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    sleep: Callable[[float], Awaitable[None]]
    clock: Callable[[], float]
    meter: Meter | None = None


class EndpointInstance:
    """An address.

    Args:
        number: Its place among the addresses.
        model: The model there.
        name: Its name in messages.
        settings: The settings that all addresses share.
        on_wait: Called with the reason and length of a wait; with an empty text when it resumes.
        on_gone: Called with the reason when it can answer no more requests.

    Attributes:
        n_sent: The number of tries that were sent to it.
        n_answered: The number of requests that it answered.
        n_tries_answered: The number of tries of those requests.
        n_failed: The number of tries that failed there.
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
        self.attempts = Attempts(model, settings.timeout_s, settings.meter)
        self.watch = EndpointWatch(
            self.attempts,
            self.limiter,
            self.breaker,
            Notices(name, on_wait, on_gone, settings.clock, settings.longest_wait_s),
            longest_wait_s=settings.longest_wait_s,
            start=settings.start,
            sleep=settings.sleep,
            clock=settings.clock,
        )
        self.n_sent = self.n_answered = self.n_tries_answered = self.n_failed = 0

    @property
    def is_available(self) -> bool:
        """True if it is there, as far as is known."""
        return not (self.watch.is_gone or self.breaker.is_open)

    @property
    def has_room(self) -> bool:
        """True if it may be sent a request now."""
        return self.is_available and self.limiter.has_room

    @property
    def load(self) -> float:
        """The share of its limit that is in use."""
        return self.limiter.in_flight / self.limiter.limit

    @property
    def tries_per_answer(self) -> float:
        """After how many tries it answers a request, on average."""
        return self.n_tries_answered / self.n_answered if self.n_answered else 1.0

    @property
    def place(self) -> str:
        """The address, for the record of the run."""
        return self.model.address or self.model.place or f"instance {self.number + 1}"


class EndpointInstances:
    """All addresses of a model. Chooses among them, and continues without those that are down.

    Args:
        model: The model; before it is loaded it may have none yet.
        name: Its name in messages.
        settings: The settings that all addresses share.
        on_wait: Called with the reason and length of a wait of the run. While one of several addresses answers, the run
            does not wait.
        on_note: Called when one of several addresses is down.
        on_gone: Called with the reason when the last one is down.
    """

    def __init__(
        self,
        model: AsyncModel,
        name: str,
        settings: InstanceSettings,
        *,
        on_wait: Callable[[str], None],
        on_note: Callable[[str], None],
        on_gone: Callable[[str], None],
    ) -> None:
        self._model = model
        self._name = name
        self._settings = settings
        self._on_wait = on_wait
        self._on_note = on_note
        self._on_gone = on_gone
        self._all: list[EndpointInstance] = []
        self._most_in_flight = 0
        self.find()

    def find(self) -> None:
        """Take up the addresses of the model, once it has them."""
        for number, model in enumerate(() if self._all else self._model.instances):
            name = f"{self._name} ({model.place})" if model.place else self._name
            on_wait, on_gone = partial(self._tell_wait, number), partial(self._lose, number)
            self._all.append(EndpointInstance(number, model, name, self._settings, on_wait, on_gone))

    def close(self) -> None:
        """Have no cancelled try count as a failure from now on."""
        for one in self._all:
            one.attempts.is_closing = True

    @property
    def limit(self) -> int:
        """The number of tries that may be in flight at all addresses that are not down; before the addresses are known,
        at one.
        """
        first = self._settings.concurrency or START
        return sum(one.limiter.limit for one in self.left) or first

    @property
    def n_in_flight(self) -> int:
        """The number of tries in flight."""
        return sum(one.limiter.in_flight for one in self._all)

    @property
    def left(self) -> list[EndpointInstance]:
        """Those that are not gone."""
        return [one for one in self._all if not one.watch.is_gone]

    @property
    def is_any_available(self) -> bool:
        """True if one is there, as far as is known."""
        return any(one.is_available for one in self._all)

    @property
    def pause_s(self) -> float:
        """The time, in seconds, for which all reachable addresses asked to be sent nothing."""
        return min((one.limiter.pause_s for one in self._all if one.is_available), default=0.0)

    def next(self, failed_at: Collection[int] = ()) -> EndpointInstance | None:
        """Return the address for the next request; ``None`` if none has room.

        Args:
            failed_at: The numbers of the addresses that have failed it, the last one last.
        """
        if len(self._all) == 1:
            return self._all[0] if self._all[0].has_room else None
        return least_loaded(self._all, failed_at)

    def begin(self, instance: EndpointInstance) -> Ticket:
        """Count a try that begins."""
        ticket = instance.limiter.begin()
        instance.n_sent += 1
        self._most_in_flight = max(self._most_in_flight, self.n_in_flight)
        return ticket

    def has_untried(self, failed_at: Collection[int]) -> bool:
        """Return whether an address is up and has not failed a request."""
        return any(one.is_available and one.number not in failed_at for one in self._all)

    def record(self) -> dict[str, Any]:
        """The record of the run: the limits and what went wrong, of the only address or summed up; of several also who
        answered how much. Empty if none was ever needed.
        """
        if not self._all:
            return {}
        summaries = [one.limiter.summary() for one in self._all]
        summed = {name: sum(summary[name] for summary in summaries) for name in _SUMMED}
        whole = {**summed, "most_in_flight": self._most_in_flight, "history": []}
        limits = summaries[0] if len(self._all) == 1 else whole
        n_timeouts = sum(one.attempts.n_timeouts for one in self._all)
        addresses = self._addresses() if len(self._all) > 1 else []
        return {
            "concurrency": {**limits, "timeouts": n_timeouts},
            **({"addresses": addresses} if addresses else {}),
        }

    def _addresses(self) -> list[dict[str, Any]]:
        of_all = shares([one.n_answered for one in self._all])
        return [
            {
                "address": one.place,
                "requests": one.n_answered,
                "failures": one.n_failed,
                "share": share,
                "is_gone": one.watch.is_gone,
                **one.limiter.summary(),
            }
            for one, share in zip(self._all, of_all, strict=True)
        ]

    def _tell_wait(self, number: int, text: str) -> None:
        if not text or not any(one.is_available for one in self._all if one.number != number):
            self._on_wait(text)

    def _lose(self, number: int, reason: str) -> None:
        n_left = len(self.left)
        if not n_left:
            self._on_gone(reason)
        else:
            others = "address takes" if n_left == 1 else f"{n_left} addresses take"
            self._on_note(f"{reason} The other {others} over.")
