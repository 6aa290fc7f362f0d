"""One try at an endpoint: the call with its deadline, and the conclusion from its end.

A failure is an answer here, too: it comes back as an error, and the caller decides whether there is another try.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from polymeter.core.errors import ModelError, PolymeterError, StorageError, boundary
from polymeter.core.model import AsyncModel
from polymeter.core.records.usage import told_once
from polymeter.core.request import Error, Response
from polymeter.run.budget.amounts import Amount
from polymeter.run.budget.ledger import Hold
from polymeter.run.budget.meter import Meter
from polymeter.run.dispatch.answers import checked
from polymeter.run.dispatch.dispatchers import Joined
from polymeter.run.dispatch.endpoint.concurrency import Verdict

_PROBE_S = 30.0


@dataclass(slots=True, eq=False)
class Job:
    """A call that is ready: what the model prepared for it is kept for every try. Of joined repeats those leave it that
    are answered.

    Attributes:
        asked: The requests that are still to be answered.
        prepared: What the model made of the first of them.
        tries: How often it was tried.
        failed_at: The numbers of the addresses where it failed, and how many answers each had given to all requests
            when it last did; the address of the last failure is the last one.
        failed_since_s: When it first failed.
        n_passed_over: By the number of an address: how often it failed there after others had been answered there
            since its failure before.
        worst: The most that a try can cost, if the run has caps.
        hold: What is reserved for the present try; ``None``: there are no caps, or no try.
    """

    asked: Joined
    prepared: Any
    tries: int = 0
    failed_at: dict[int, int] = field(default_factory=dict)
    failed_since_s: float = math.inf
    n_passed_over: Counter[int] = field(default_factory=Counter)
    worst: Amount | None = None
    hold: Hold | None = None

    @property
    def is_passed_over(self) -> bool:
        """True if others were answered between two of its failures at one address."""
        return any(self.n_passed_over.values())


class Attempts:
    """Makes tries, on the event loop that it is called on.

    Args:
        model: The endpoint.
        timeout_s: Deadline of one try, in seconds.
        meter: Reserves for small requests under the caps of the run; ``None``: there are none.

    Attributes:
        n_timeouts: How many tries took too long.
        is_closing: Whether the loop ends: a try that is cancelled then is not a failure of its request.
        has_probe: Whether the model has a small request of its own.
        asks_model: Whether the last one that was answered asked the model itself.
    """

    def __init__(self, model: AsyncModel, timeout_s: float, meter: Meter | None = None) -> None:
        self._model = model
        self._meter = meter
        self._timeout_s = timeout_s
        self.n_timeouts = 0
        self.is_closing = False
        self.asks_model = False
        self.has_probe = type(model).probe is not AsyncModel.probe

    @property
    def is_dead(self) -> bool:
        """True if the model knows that it can never answer again."""
        return self._model.is_dead

    @property
    def last_words(self) -> str:
        """The last output of the model's own server; empty if it has none."""
        return self._model.last_words

    async def attempt(self, job: Job) -> list[Response]:
        """One try: a response to each request of the job, which may be an error."""
        job.tries += 1
        started = time.perf_counter()
        try:
            with boundary(ModelError, "The model"):
                given = await self._in_time(job)
                if len(given) != len(job.asked):
                    raise ModelError(f"The model gave {len(given)} responses to {len(job.asked)} requests.")
        except PolymeterError as error:
            return [Response(error=Error.from_exception(error))] * len(job.asked)
        took_ms = (time.perf_counter() - started) * 1000 / len(job.asked)
        responses = [checked(asked.to_model, response) for asked, response in zip(job.asked, given, strict=True)]
        return [
            response if response.latency_ms is not None else replace(response, latency_ms=took_ms)
            for response in (told_once(responses) if len(responses) > 1 else responses)
        ]

    async def probe(self) -> Error | None:
        """A small request of the model's own; gives its error."""
        hold = None if self._meter is None else self._meter.hold_small()
        if self._meter is None:
            return await self._probe()
        if hold is None:
            return Error("transient", "The caps of the run have no room for a small request.", retryable=True)
        try:
            await self._meter.committed()
            return await self._probe()
        except StorageError as error:
            return Error.from_exception(error)
        finally:
            self._meter.settle(hold)  # at the worst: the model does not report its usage

    async def _probe(self) -> Error | None:
        async def ask() -> None:
            with boundary(ModelError, "The model"):
                self.asks_model = await self._model.probe()

        try:
            await asyncio.wait_for(ask(), min(self._timeout_s, _PROBE_S))
        except asyncio.TimeoutError:
            return Error("transient", "No answer to a small request.", retryable=True)
        except PolymeterError as error:
            return Error.from_exception(error)
        return None

    async def _in_time(self, job: Job) -> list[Response]:
        """The model's answers, or an error when it takes too long; without the task that ``asyncio.wait_for`` makes."""
        task = asyncio.current_task()
        is_late = False

        def expire() -> None:
            nonlocal is_late
            is_late = True
            if task is not None:
                task.cancel()

        alarm = asyncio.get_running_loop().call_later(self._timeout_s, expire)
        try:
            return await self._ask(job)
        except asyncio.CancelledError:
            if self.is_closing:
                raise
            if not is_late:
                raise ModelError("The request was cancelled.", kind="transient") from None
            self.n_timeouts += 1
            raise ModelError(f"No answer within {self._timeout_s:g} s.", kind="transient") from None
        finally:
            alarm.cancel()

    async def _ask(self, job: Job) -> list[Response]:
        if len(job.asked) == 1:
            return [await self._model.respond_prepared(job.asked[0].to_model, job.prepared)]
        return await self._model.respond_repeats([asked.to_model for asked in job.asked], job.prepared)


def telling(responses: Sequence[Response]) -> Error | None:
    """Return the error that represents a try: one that is tried again comes before one that is not, and the longest
    wait before shorter ones.
    """
    errors = [response.error for response in responses if response.error is not None]
    return max(errors, key=lambda error: (error.retryable, error.retry_after_s or 0.0), default=None)


def verdict_of(error: Error | None) -> Verdict:
    """Conclude from the end of a try how loaded the endpoint is."""
    if error is None:
        return "answered"
    if error.kind == "rate_limit":
        return "rate_limit"
    return "failed" if error.retryable else "other"
