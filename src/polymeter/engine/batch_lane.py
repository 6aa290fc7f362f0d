"""The lane to a model on this machine: one thread that computes, and a batch that is made ready meanwhile."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from polymeter.core.errors import ModelError, PlanError, PolymeterError, Raised, attempt, boundary
from polymeter.core.model import ALL_READY, BatchModel
from polymeter.core.request import Request, Response
from polymeter.engine.answers import settle
from polymeter.engine.batching import ReadyQueue, estimated_length, settings_key
from polymeter.engine.lanes import CLOSE_S, OnDone, OnFailure
from polymeter.engine.player import MODEL_ROLE, Asked
from polymeter.engine.pool import Pool
from polymeter.engine.prefetch import Prefetcher

_LOG = logging.getLogger("polymeter")


class BatchLane:
    """The way to a model on this machine. Chooses the next batch and decodes its media while the model computes the
    present one.

    Args:
        model: The model.
        batch_size: Most requests in a batch; ``None``: what the task names, else what the model likes.
        largest_own: The largest batch that a task names.
        prefetcher: Prepares media.
        on_done: Takes answered requests; called on the lane's thread.
        on_failure: Told when the model cannot be loaded: no request can ever be answered.
        max_retries: How often a request is asked again after a passing failure.
        is_cut: Whether stop strings are applied.
    """

    def __init__(
        self,
        model: BatchModel,
        batch_size: int | None,
        prefetcher: Prefetcher,
        on_done: OnDone,
        on_failure: OnFailure,
        *,
        max_retries: int,
        is_cut: bool,
        largest_own: int = 0,
    ) -> None:
        hint = None if model.batch_hint == ALL_READY else int(model.batch_hint)
        size = batch_size or hint
        largest = None if size is None else max(size, 0 if batch_size else largest_own)
        self.keeps_busy = 1024 if largest is None else max(32, 8 * largest)
        self.floor = 16 if largest is None else 2 * largest
        self._is_told = batch_size is not None
        self._model = model
        self._ready: ReadyQueue[Asked] = ReadyQueue(size)
        self._prefetcher = prefetcher
        self._on_done = on_done
        self._on_failure = on_failure
        self._max_retries = max_retries
        self._is_cut = is_cut
        self._lock = threading.Lock()
        self._staged: list[Asked] | None = None
        self._staged_failures: list[Response | None] | None = None
        self._is_computing = False
        self._is_loaded = False
        self._thread = Pool("model", 1)

    def add(self, asked: Sequence[Asked]) -> None:
        """Take requests."""
        for one in asked:
            own = None if self._is_told else _own_batch_size(one)
            try:
                with boundary(ModelError, "The model's group_key"):
                    key = (settings_key(one.request), self._model.group_key(one.request), own)
                    hash(key)
            except PolymeterError as error:
                one.response = Response.failed(error)
                self._on_done([one])
                continue
            with self._lock:
                self._ready.add(one, key, estimated_length(one.request), own)

    def poke(self, *, is_quiet: bool) -> None:
        """Choose the next batch if it is time, and start the model if it is free."""
        with self._lock:
            if self._staged is not None:
                return
            batch = self._ready.take(is_partial_fine=is_quiet and not self._is_computing)
            if not batch:
                return
            self._staged, self._staged_failures = batch, None
        self._prefetcher.prepare([one.request for one in batch], self._media_ready)

    def close(self) -> None:
        """Free the model, on its own thread."""
        done = threading.Event()

        def close() -> None:
            closed = attempt(self._model.close)
            if isinstance(closed, Raised):
                _LOG.warning("Closing the model failed: %r", closed.error)
            done.set()

        with self._lock:
            is_computing = self._is_computing
        # A batch that an interrupt left behind is let go of with its model: waiting for it could take minutes.
        if not is_computing:
            self._thread.submit(close)
            done.wait(timeout=CLOSE_S)
        self._thread.close()

    def _media_ready(self, failures: list[Response | None]) -> None:
        with self._lock:
            self._staged_failures = failures
            self._start()

    def _start(self) -> None:
        if self._is_computing or self._staged is None or self._staged_failures is None:
            return
        batch, failures = self._staged, self._staged_failures
        self._staged = self._staged_failures = None
        self._is_computing = True

        def job() -> None:
            computed = attempt(lambda: self._compute(batch, failures))
            if isinstance(computed, Raised):
                self._on_failure(computed.error)

        self._thread.submit(job)

    def _load(self) -> bool:
        if not self._is_loaded:
            try:
                with boundary(PlanError, "Loading the model"):
                    self._model.load()
            except PolymeterError as error:
                self._on_failure(error)
                return False
            self._is_loaded = True
        return True

    def _compute(self, batch: list[Asked], failures: list[Response | None]) -> None:
        if not self._load():
            return
        askable = [one for one, failure in zip(batch, failures, strict=True) if failure is None]
        for one, failure in zip(batch, failures, strict=True):
            one.response = failure
        again = []
        if askable:
            for one, response in zip(askable, self._respond([one.request for one in askable]), strict=True):
                if response.error is not None and response.error.retryable and one.tries < self._max_retries:
                    one.tries += 1
                    again.append(one)
                else:
                    one.response = response
        if again:
            self.add(again)
        with self._lock:
            self._is_computing = False
            self._start()
        self._on_done([one for one in batch if one.response is not None])

    def _respond(self, requests: list[Request]) -> list[Response]:
        started = time.perf_counter()
        try:
            with boundary(ModelError, "The model"):
                given = list(self._model.respond(requests))
                if len(given) != len(requests):
                    raise ModelError(f"The model gave {len(given)} responses to {len(requests)} requests.")
        except PolymeterError as error:
            if len(requests) == 1:
                return [Response.failed(error)] * len(requests)
            return [response for request in requests for response in self._respond([request])]
        share_ms = (time.perf_counter() - started) * 1000 / len(requests)
        responses = [settle(one, each, is_cut=self._is_cut) for one, each in zip(requests, given, strict=True)]
        return [
            response if response.latency_ms is not None else replace(response, latency_ms=share_ms)
            for response in responses
        ]


def _own_batch_size(one: Asked) -> int | None:
    """The batch that a task names for its own requests; those to a judge are not."""
    return getattr(one.play.task.task, "batch_size", None) if one.role == MODEL_ROLE else None
