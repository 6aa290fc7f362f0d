"""The dispatcher to an endpoint: an event loop on a thread of its own.

A request passes four stations. It *waits* until it is among the next to be sent; on a decoding thread its media is
looked at and the model prepares what it will send; then it is *ready*; then it is tried. A try that fails in passing
gives its slot to another while its request sleeps, and comes back before new work. What is ready, in flight or asleep
is bounded, so neither tasks nor prepared bodies pile up, however much waits. Answers leave through a thread of their
own: they are written down (and generated images encoded) beside the event loop, never on it.

An endpoint that is gone, or answers nobody any more (a rejected key, an exhausted quota), ends the run: what was sent
there and not answered is dropped, not failed, and asked again when the run is resumed.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Any

from polymeter.core.errors import ModelError, PolymeterError, boundary
from polymeter.core.model import AsyncModel
from polymeter.core.options import LONGEST_WAIT_S
from polymeter.core.request import Error, Response
from polymeter.engine.answers import settle
from polymeter.engine.breaker import Breaker
from polymeter.engine.concurrency import Limiter, Ticket, Verdict, backoff_s
from polymeter.engine.dispatchers import CLOSE_S, Joined, OnDone, calls_of
from polymeter.engine.pool import Pool
from polymeter.engine.prefetch import Prefetcher, Prepared
from polymeter.engine.running_samples import PendingRequest
from polymeter.guests.door import in_mode

PATIENCE_S = 120.0
"""How long an endpoint may answer nothing but rate limits before these use up tries like any other failure."""

_TELLING_S = 0.9
"""A wait of about a second or more is told."""
_PROBE_S = 30.0
_CLEARED_S = 1.0
"""For how long the endpoint's readiness to answer others is believed after a refusal that might concern everyone."""
_A_FEW = 4
_LEAST_ASLEEP = 16
_PREPARED_TOGETHER = 16
_LOG = logging.getLogger("polymeter")


@dataclass(slots=True, eq=False)
class _Job:
    """A call that is ready: what the model prepared for it is kept for every try. Of joined repeats those leave it that
    are answered.

    Attributes:
        asked: The requests that are still to be answered.
        prepared: What the model made of the first of them.
        tries: How often it was tried.
    """

    asked: Joined
    prepared: Any
    tries: int = 0


class EndpointDispatcher:
    """The way to an endpoint.

    Args:
        model: The endpoint.
        concurrency: Most requests in flight; ``None``: found by trying (see ``Limiter``).
        prefetcher: Prepares requests, off the event loop.
        on_done: Takes answered requests; called on a thread of the dispatcher.
        max_retries: How often a request is asked again after a transient failure. Rate limits do not count as long as
            the endpoint answers others.
        timeout_s: Deadline of one try, in seconds.
        longest_wait_s: The longest wait before another try, whatever the endpoint asks for.
        name: Whom it serves, for messages: ``the model``, ``the judge``.
        on_wait: Told for whom, why and how long the run waits; an empty text when it goes on.
        on_gone: Told why the endpoint can answer nobody any more. Nothing is sent afterwards.
        sleep: Waits between tries, and
        clock: tells the time in seconds; tests turn both.
    """

    def __init__(  # noqa: PLR0913  (what it is told, whom it tells, and two functions that tests turn)
        self,
        model: AsyncModel,
        concurrency: int | None,
        prefetcher: Prefetcher,
        on_done: OnDone,
        *,
        max_retries: int,
        timeout_s: float,
        longest_wait_s: float = LONGEST_WAIT_S,
        name: str = "the model",
        on_wait: Callable[[str], None] = _LOG.info,
        on_gone: Callable[[str], None] = _LOG.error,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._limiter = Limiter(concurrency, clock, longest_pause_s=longest_wait_s)
        self._breaker = Breaker(longest_wait_s)
        self._longest_wait_s = longest_wait_s
        self._name = f"{name} ({model.place})" if model.place else name
        self._on_wait = on_wait
        self._on_gone = on_gone
        self._told_until_s: float | None = None
        self._verifying: asyncio.Task[Error | None] | None = None
        self._cleared_s: float | None = None
        self._has_probe = type(model).probe is not AsyncModel.probe
        self._make = model.prepare if type(model).prepare is not AsyncModel.prepare else None
        self._prefetcher = prefetcher
        self._max_retries = max_retries
        self._timeout_s = timeout_s
        self._sleep = sleep
        self._clock = clock
        self._random = random.Random()
        self._waiting: deque[Joined] = deque()
        self._n_preparing = 0
        self._ready: deque[_Job] = deque()
        self._again: deque[_Job] = deque()
        self._n_asleep = self._n_retries = self._n_timeouts = 0
        self._limited_since_s: float | None = None
        self._is_pausing = self._is_closing = self._is_gone = self._is_outlasting = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._out = _Out(on_done)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="polymeter-endpoint", daemon=True)

    @property
    def keeps_busy(self) -> int:
        """How many samples in progress keep the endpoint busy: those in flight, and as many that come next."""
        return max(2 * self._limiter.limit, 16)

    @property
    def floor(self) -> int:
        """How many it needs at least: those in flight."""
        return self._limiter.limit

    def history(self) -> Mapping[str, Any]:
        """How many requests were in flight and why, and what went wrong on the way."""
        counts = {"retries": self._n_retries, "timeouts": self._n_timeouts}
        return {"concurrency": {**self._limiter.summary(), **counts}}

    def add(self, asked: Sequence[PendingRequest]) -> None:
        """Take requests; the first ones start the loop's thread."""
        if self._thread.ident is None:
            self._thread.start()
        self._loop.call_soon_threadsafe(self._take, list(asked))

    def poke(self, *, is_quiet: bool) -> None:
        """Nothing to do: requests start as they come."""

    def close(self) -> None:
        """Cancel what is in flight and close connections."""
        if self._thread.ident is None:
            self._loop.run_until_complete(self._shut())
            self._loop.close()
            return
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result(timeout=CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()
        self._out.close()

    def _serve(self) -> None:
        # The loop's thread runs the model and nothing else of others: a guest never answers on it.
        with in_mode("model"):
            self._loop.run_forever()

    def _take(self, asked: Sequence[PendingRequest]) -> None:
        self._waiting.extend(calls_of(self._model, asked))
        self._go_on()

    def _go_on(self) -> None:
        """Do whatever can be done now."""
        if self._is_closing or self._is_gone or self._breaker.is_open:
            return
        while self._limiter.has_room and (job := self._next_job()) is not None:
            self._start(self._answer(job, self._limiter.begin()))
        self._prepare_next()
        if (self._again or self._ready) and not self._is_pausing and (wait_s := self._limiter.pause_s) > 0:
            self._is_pausing = True
            self._start(self._wait_out(wait_s))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _prepare_next(self) -> None:
        """Send requests to be prepared: as many as may be in flight, and a few more, are ready ahead."""
        room = self._limiter.limit + _A_FEW - len(self._ready) - self._n_preparing
        while room > 0 and self._waiting:
            group = self._next_group(min(room, _PREPARED_TOGETHER))
            room -= len(group)
            self._n_preparing += len(group)
            requests = [asked[0].to_model for asked in group]
            self._prefetcher.prepare_each(requests, self._make, partial(self._hand_over, group))

    def _hand_over(self, group: Sequence[Joined], made: Sequence[Prepared]) -> None:
        with suppress(RuntimeError):  # the dispatcher was closed meanwhile, and nobody waits any more
            self._loop.call_soon_threadsafe(self._take_prepared, group, made)

    def _next_group(self, most: int) -> list[Joined]:
        """Those that are prepared in one thread hop: neighbours that are all text, or one that is not."""
        group = [self._waiting.popleft()]
        if _has_media(group[0]):
            return group
        while self._waiting and len(group) < most and not _has_media(self._waiting[0]):
            group.append(self._waiting.popleft())
        return group

    def _take_prepared(self, group: Sequence[Joined], made: Sequence[Prepared]) -> None:
        self._n_preparing -= len(group)
        for asked, prepared in zip(group, made, strict=True):
            if prepared.failure is not None:
                self._end(asked, [prepared.failure] * len(asked))
            else:
                self._ready.append(_Job(asked, prepared.made))
        self._go_on()

    def _next_job(self) -> _Job | None:
        """What is sent next: retries first, and nothing new while many of them sleep."""
        if self._again:
            return self._again.popleft()
        if self._ready and self._n_asleep < max(_LEAST_ASLEEP, 2 * self._limiter.limit):
            return self._ready.popleft()
        return None

    async def _wait_out(self, wait_s: float) -> None:
        await self._sleep(wait_s)
        self._is_pausing = False
        self._go_on()

    async def _answer(self, job: _Job, ticket: Ticket) -> None:
        """One try, and the sleep after it if there is to be another."""
        error = await self._attempt(job, ticket)
        if error is None or not job.asked or self._is_gone:
            self._go_on()
            return
        self._n_retries += 1
        if not self._breaker.is_open:  # else probes decide when it goes on
            self._n_asleep += 1
            self._go_on()
            try:
                wait_s = max(error.retry_after_s or 0.0, backoff_s(job.tries, self._random.random()))
                await self._sleep(min(wait_s, self._longest_wait_s))
            finally:
                self._n_asleep -= 1
        self._again.append(job)
        self._go_on()

    async def _attempt(self, job: _Job, ticket: Ticket) -> Error | None:
        """One try: hands on what it ended, and leaves the rest in the job; gives the error that tells how it went."""
        verdict: Verdict = "other"
        error: Error | None = None
        try:
            responses = await self._try(job)
            error = _telling(responses)
            verdict = _verdict(error)
        finally:
            self._limiter.end(
                ticket,
                verdict,
                is_work_waiting=bool(self._again or self._ready),
                retry_after_s=error.retry_after_s if error and error.retryable else None,
            )
        self._learn(job, responses, error, verdict)
        if error is not None and error.scope != "request" and await self._concerns_all(error):
            self._give_up(f"it refuses every request: {error.message}")
        if self._is_gone:
            return error
        ended = [response.error is None or self._is_final(job, response.error) for response in responses]
        self._end(list(compress(job.asked, ended)), list(compress(responses, ended)))
        job.asked = [asked for asked, has_ended in zip(job.asked, ended, strict=True) if not has_ended]
        return error

    def _learn(self, job: _Job, responses: Sequence[Response], error: Error | None, verdict: Verdict) -> None:
        """Learn from a try whether the endpoint is there, and whether it only limits."""
        if any(response.error is None or response.error.kind == "refused" for response in responses):
            self._is_there()
        if error is None:
            self._limited_since_s = None
        elif verdict == "rate_limit":
            self._tell_pause(error)
            if self._limited_since_s is None:
                self._limited_since_s = self._clock()
            limited_s = self._clock() - self._limited_since_s
            if 0 < self._max_retries < job.tries and limited_s > PATIENCE_S:
                self._give_up(f"it has answered with nothing but rate limits for {limited_s:,.0f} s: {error.message}")
        elif verdict == "failed" and self._can_be_probed:
            opens = self._breaker.failed(self._limiter.limit)
            if opens and not self._is_outlasting:
                self._start(self._outlast(error))

    @property
    def _can_be_probed(self) -> bool:
        """Whether it can be found out that the endpoint is back: by a request of the model's own, or else by one that
        has not failed yet. The last requests of a run may all fail for reasons of their own.
        """
        return self._has_probe or bool(self._waiting or self._ready or self._n_preparing)

    def _is_there(self) -> None:
        self._breaker.answered()
        if self._told_until_s is not None:
            self._told_until_s = None
            self._on_wait("")

    async def _outlast(self, error: Error) -> None:
        """Wait until the endpoint answers again, or give it up."""
        self._is_outlasting = True
        started_s, breaker = self._clock(), self._breaker
        while (wait_s := breaker.next_wait_s()) is not None and self._has_work:
            if wait_s >= _TELLING_S:
                self._told_until_s = self._clock() + wait_s
                self._on_wait(
                    f"{self._name} gave no answer to {breaker.n_fruitless} tries in a row; the next try is in "
                    f"{_seconds(wait_s)}. {error.message}"
                )
            await self._sleep(wait_s)
            if not breaker.is_open or self._is_gone or await self._is_back():
                break
        else:
            if self._has_work:
                n, waited_s = breaker.n_fruitless, self._clock() - started_s
                self._give_up(f"{n} tries in a row brought nothing in {waited_s:,.0f} s: {error.message}")
                return
        self._is_outlasting = False
        self._is_there()
        self._go_on()

    @property
    def _has_work(self) -> bool:
        """Whether anybody waits for an answer."""
        in_line = self._waiting or self._ready or self._again or self._n_preparing
        return bool(in_line or self._n_asleep or self._limiter.in_flight)

    async def _is_back(self) -> bool:
        """One small request, or one of the run's own."""
        if self._has_probe:
            error = await self._probe()
            if error is not None and error.scope != "request":
                self._give_up(f"it refuses every request: {error.message}")
            is_back = error is None or not error.retryable or error.kind == "rate_limit"
            self._breaker.n_fruitless += not is_back
            return is_back
        # By turns one that has failed and one that has not: either may fail for a reason of its own.
        first, then = (self._again, self._ready) if self._breaker.n_probes % 2 else (self._ready, self._again)
        queue = first or then
        if not queue:
            return False
        job, is_again = queue.popleft(), queue is self._again
        error = await self._attempt(job, self._limiter.begin())
        if job.asked and is_again:
            self._again.appendleft(job)
        elif job.asked:
            self._again.append(job)
        return error is None or not error.retryable or error.kind == "rate_limit"

    async def _probe(self) -> Error | None:
        """A small request of the model's own; gives its error."""

        async def ask() -> None:
            with boundary(ModelError, "The model"):
                await self._model.probe()

        try:
            await asyncio.wait_for(ask(), min(self._timeout_s, _PROBE_S))
        except asyncio.TimeoutError:
            return Error("transient", "No answer to a small request.", retryable=True)
        except PolymeterError as error:
            return Error.from_exception(error)
        return None

    async def _concerns_all(self, error: Error) -> bool:
        """Whether an error concerns every request to this endpoint; where that is unclear, a small request tells."""
        if error.scope == "endpoint" or not self._has_probe:
            return True
        if self._cleared_s is not None and self._clock() - self._cleared_s < _CLEARED_S:
            return False
        if self._verifying is None:  # those that come meanwhile wait for the same answer
            self._verifying = self._loop.create_task(self._probe())
            self._tasks.add(self._verifying)
            self._verifying.add_done_callback(self._tasks.discard)
        found = await asyncio.shield(self._verifying)
        self._verifying = None
        if found is not None and found.scope != "request":
            return True
        self._cleared_s = self._clock()
        return False

    def _tell_pause(self, error: Error) -> None:
        """Tell that the endpoint asked everyone to wait, once for each wait."""
        until_s = self._clock() + self._limiter.pause_s
        is_told = self._told_until_s is not None and until_s < self._told_until_s + _TELLING_S
        if self._limiter.pause_s < _TELLING_S or is_told:
            return
        self._told_until_s = until_s
        asked_s = error.retry_after_s or 0.0
        most = f"; more than {_seconds(self._longest_wait_s)} is not waited" if asked_s > self._longest_wait_s else ""
        self._on_wait(f"{_seconds(self._limiter.pause_s)} for {self._name}, which asked for {_seconds(asked_s)}{most}")

    def _give_up(self, reason: str) -> None:
        """Send nothing more, and end the run."""
        if not self._is_gone:
            self._is_gone = True
            self._on_gone(f"{self._name} cannot be asked any more: {reason}")

    def _end(self, asked: Joined, responses: Sequence[Response]) -> None:
        for one, response in zip(asked, responses, strict=True):
            one.response = response
            self._out.put(one)

    def _is_final(self, job: _Job, error: Error) -> bool:
        if not error.retryable or self._max_retries == 0:
            return True
        is_held = self._breaker.is_open or error.kind == "rate_limit"
        return job.tries > self._max_retries and not is_held

    async def _try(self, job: _Job) -> list[Response]:
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
        responses = [settle(asked.to_model, response) for asked, response in zip(job.asked, given, strict=True)]
        return [
            response if response.latency_ms is not None else replace(response, latency_ms=took_ms)
            for response in responses
        ]

    async def _ask(self, job: _Job) -> list[Response]:
        if len(job.asked) == 1:
            return [await self._model.respond_prepared(job.asked[0].to_model, job.prepared)]
        return await self._model.respond_repeats([asked.to_model for asked in job.asked], job.prepared)

    async def _in_time(self, job: _Job) -> list[Response]:
        """The model's answers, or an error when it takes too long; without the task that ``asyncio.wait_for`` makes."""
        task = asyncio.current_task()
        is_late = False

        def expire() -> None:
            nonlocal is_late
            is_late = True
            if task is not None:
                task.cancel()

        alarm = self._loop.call_later(self._timeout_s, expire)
        try:
            return await self._ask(job)
        except asyncio.CancelledError:
            if self._is_closing:
                raise
            if not is_late:
                raise ModelError("The request was cancelled.", kind="transient") from None
            self._n_timeouts += 1
            raise ModelError(f"No answer within {self._timeout_s:g} s.", kind="transient") from None
        finally:
            alarm.cancel()

    async def _shut(self) -> None:
        self._is_closing = True
        for queue in (self._waiting, self._ready, self._again):
            queue.clear()
        running = list(self._tasks)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        try:
            with boundary(ModelError, "Closing the model"):
                await self._model.aclose()
                self._model.close()
        except PolymeterError as error:
            _LOG.warning("%s", error)


class _Out:
    """Hands on answered requests from a thread of its own, all that have come meanwhile together."""

    def __init__(self, on_done: OnDone) -> None:
        self._on_done = on_done
        self._done: deque[PendingRequest] = deque()
        self._is_scheduled = False
        self._pool = Pool("answers", 1)
        self._lock = threading.Lock()

    def put(self, asked: PendingRequest) -> None:
        """Take a request that ended. Thread-safe."""
        with self._lock:
            self._done.append(asked)
            is_first, self._is_scheduled = not self._is_scheduled, True
        if is_first:
            self._pool.submit(self._hand_on)

    def close(self) -> None:
        """Hand on nothing more."""
        self._pool.close()

    def _hand_on(self) -> None:
        with self._lock:
            batch = list(self._done)
            self._done.clear()
            self._is_scheduled = False
        self._on_done(batch)


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds >= 1 else f"{seconds:.1g} s"


def _has_media(asked: Joined) -> bool:
    return next(asked[0].request.media(), None) is not None


def _telling(responses: Sequence[Response]) -> Error | None:
    """The error that says how a try went: one that is tried again comes before one that is not, and the longest wait
    before shorter ones.
    """
    errors = [response.error for response in responses if response.error is not None]
    return max(errors, key=lambda error: (error.retryable, error.retry_after_s or 0.0), default=None)


def _verdict(error: Error | None) -> Verdict:
    if error is None:
        return "answered"
    if error.kind == "rate_limit":
        return "rate_limit"
    return "failed" if error.retryable else "other"
