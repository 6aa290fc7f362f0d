"""The lane to an endpoint: an event loop on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polymeter.core.errors import ModelError, PolymeterError, boundary
from polymeter.core.model import AsyncModel
from polymeter.core.request import Error, Response
from polymeter.engine.answers import settle
from polymeter.engine.lanes import CLOSE_S, OnDone
from polymeter.engine.player import Asked
from polymeter.engine.prefetch import Prefetcher

_LOG = logging.getLogger("polymeter")


class EndpointLane:
    """The way to an endpoint: an event loop on a thread of its own, never more than ``concurrency`` requests in flight.

    Args:
        model: The endpoint.
        concurrency: Most requests in flight.
        prefetcher: Prepares media, off the event loop.
        on_done: Takes answered requests; called on the event loop's thread.
        max_retries: How often a request is asked again after a passing failure.
        timeout_s: Deadline of one try.
        sleep: Waits between tries; tests turn it.
    """

    def __init__(
        self,
        model: AsyncModel,
        concurrency: int,
        prefetcher: Prefetcher,
        on_done: OnDone,
        *,
        max_retries: int,
        timeout_s: float,
        sleep: Callable[[float], asyncio.Future[None]] | None = None,
    ) -> None:
        self.keeps_busy = max(2 * concurrency, 16)
        self.floor = concurrency
        self._model = model
        self._limit = concurrency
        self._prefetcher = prefetcher
        self._on_done = on_done
        self._max_retries = max_retries
        self._timeout_s = timeout_s
        self._sleep = sleep or asyncio.sleep
        self._pending: deque[Asked] = deque()
        self._in_flight = 0
        self._is_closing = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="polymeter-endpoint", daemon=True)
        self._thread.start()

    def add(self, asked: Sequence[Asked]) -> None:
        """Take requests."""
        for one in asked:
            self._prefetcher.prepare([one.request], lambda failures, one=one: self._prepared(one, failures[0]))  # type: ignore[misc]

    def poke(self, *, is_quiet: bool) -> None:
        """Nothing to do: requests start as they come."""

    def history(self) -> Mapping[str, Any]:
        """How the lane fared, for the run's record."""
        return {}

    def close(self) -> None:
        """Cancel what is in flight and close connections."""
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result(timeout=CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()

    def _prepared(self, one: Asked, failure: Response | None) -> None:
        if failure is not None:
            one.response = failure
            self._on_done([one])
        else:
            self._loop.call_soon_threadsafe(self._enqueue, one)

    def _enqueue(self, one: Asked) -> None:
        self._pending.append(one)
        self._pump()

    def _pump(self) -> None:
        while self._pending and self._in_flight < self._limit:
            self._in_flight += 1
            task = self._loop.create_task(self._answer(self._pending.popleft()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, one: Asked) -> None:
        from tenacity import AsyncRetrying, retry_if_result, stop_after_attempt, wait_random_exponential

        spread = wait_random_exponential(multiplier=0.5, max=60)
        retrying = AsyncRetrying(
            retry=retry_if_result(lambda response: response.error is not None and response.error.retryable),
            stop=stop_after_attempt(self._max_retries + 1),
            wait=lambda state: max(_asked_to_wait(state.outcome.result()) if state.outcome else 0.0, spread(state)),
            sleep=self._sleep,
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )
        try:
            one.response = await retrying(self._try, one)
        finally:
            self._in_flight -= 1
            if not self._is_closing:
                self._pump()
                one.response = one.response or Response.failed(ModelError("The request was cancelled."))
                self._on_done([one])

    async def _try(self, one: Asked) -> Response:
        one.tries += 1
        started = time.perf_counter()
        try:
            with boundary(ModelError, "The model"):
                try:
                    given = await asyncio.wait_for(self._model.respond(one.request), self._timeout_s)
                except asyncio.TimeoutError:
                    raise ModelError(f"No answer within {self._timeout_s:g} s.", kind="transient") from None
        except PolymeterError as error:
            return Response(error=Error.from_exception(error))
        response = settle(one.request, given)
        if response.latency_ms is not None:
            return response
        return replace(response, latency_ms=(time.perf_counter() - started) * 1000)

    async def _shut(self) -> None:
        self._is_closing = True
        self._pending.clear()
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


def _asked_to_wait(response: Response) -> float:
    return (response.error.retry_after_s or 0.0) if response.error else 0.0
