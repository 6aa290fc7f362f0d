"""The dispatcher to a model on this machine: one thread that computes, and a batch that is made ready meanwhile."""

from __future__ import annotations

import ctypes
import logging
import threading
from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from polymeter.core.errors import PlanError, Raised, attempt, boundary
from polymeter.core.model import BatchModel
from polymeter.core.request import OwnPrompt, Request, Response
from polymeter.guests.door import in_mode
from polymeter.run.budget.meter import Meter
from polymeter.run.dispatch.batch.batching import ReadyQueue
from polymeter.run.dispatch.batch.choice import BatchChoice, longest_of
from polymeter.run.dispatch.computing import BatchComputer
from polymeter.run.dispatch.dispatchers import CLOSE_S, Joined, did_not_fit, pause_s, settle
from polymeter.run.dispatch.image_writers import ImageWriters, sizes_of_images
from polymeter.run.dispatch.prefetch import Prefetcher
from polymeter.run.schedule.events import Events
from polymeter.run.schedule.pool import Pool
from polymeter.run.schedule.running_samples import PendingRequest

_LEAVE_S = 5
_DECODED_AHEAD = 3
"""While fewer requests with media than this are chosen and not computed, the next batch is chosen too: with batches of
one, a single decoding thread would work at a time.
"""
_LOG = logging.getLogger("polymeter")


@dataclass(slots=True, eq=False)
class _Staged:
    """A batch that was chosen.

    Attributes:
        groups: What reaches the model in one call each.
        requests: All of them.
        has_media: Whether any of them shows media.
        failures: Once its media is decoded: for each request, why it cannot be shown, or ``None``.
    """

    groups: list[Joined]
    requests: list[Request | OwnPrompt]
    has_media: bool
    failures: list[Response | None] | None = None


class BatchDispatcher:
    """The way to a model on this machine. Chooses the next batch and decodes its media while the model computes the
    present one.

    Args:
        model: The model.
        batch_size: Most requests in a batch; ``auto``: found by trying; ``None``: what the task names, else what the
            model likes.
        largest_own: The largest batch that a task names.
        prefetcher: Prepares media.
        events: Hears of answers and failures.
        max_retries: How often a request is asked again after a transient failure.
        meter: Reserves for every batch under the caps of the run; ``None``: there are none.
    """

    def __init__(
        self,
        model: BatchModel,
        batch_size: int | Literal["auto"] | None,
        prefetcher: Prefetcher,
        events: Events,
        *,
        max_retries: int,
        largest_own: int = 0,
        meter: Meter | None = None,
    ) -> None:
        self._meter = meter
        self._choice = BatchChoice(model, batch_size, largest_own)
        self._sizes = self._choice.sizes()
        self._closing = threading.Event()
        self._model = model
        self._ready: ReadyQueue[Joined] = ReadyQueue(self._most)
        self._prefetcher = prefetcher
        self._events = events
        self._max_retries = max_retries
        self._computer = BatchComputer(model, inside=self._inside_model)
        self._lock = threading.Lock()
        self._staged: deque[_Staged] = deque()
        self._is_computing = False
        self._is_loaded = False
        self._in_model: int | None = None
        self._thread = Pool("model", 1)
        self._images = ImageWriters(events.answered)

    @property
    def keeps_busy(self) -> int:
        """The number of samples in progress that keeps the model busy. It grows with the batches."""
        largest = self._choice.largest(self._sizes)
        return 1024 if largest is None else max(64, 32 * largest)

    @property
    def floor(self) -> int:
        """The least number of samples that it needs: for the batch that it computes and for the next one."""
        if self._choice.takes_all:
            return 2 * max(1, self._choice.largest_own)
        return 2 * (self._choice.largest(self._sizes) or 1)

    def history(self) -> Mapping[str, Any]:
        """The largest batch so far, and whether memory ran out."""
        return {"batch_size": self._sizes.summary()}

    def add(self, asked: Sequence[PendingRequest]) -> None:
        """Take requests."""
        chosen, failed = self._choice.choose(asked)
        with self._lock:
            for group, key, length in chosen:
                self._ready.add(group, key, length)
        for group in failed:
            self._events.answered(group)

    def poke(self, *, is_quiet: bool) -> None:
        """Choose the next batch if it is time, and start the model if it is free."""
        self._stage(is_quiet=is_quiet)

    def _stage(self, *, is_quiet: bool) -> None:
        while (staged := self._stage_next(is_quiet=is_quiet)) is not None:
            self._prefetcher.prepare(staged.requests, partial(self._media_ready, staged))

    def _stage_next(self, *, is_quiet: bool) -> _Staged | None:
        """Choose the next batch if its media should be decoded now: that of one batch, or of several small ones, so
        that no decoding thread is idle while the model computes.
        """
        with self._lock:
            if not self._is_loaded:
                if len(self._ready):
                    self._begin_loading()
                return None
            n_staged = sum(len(staged.requests) for staged in self._staged)
            if n_staged and not (self._staged[-1].has_media and n_staged < _DECODED_AHEAD):
                return None
            groups = self._ready.take(is_partial_fine=is_quiet and not self._is_computing and not n_staged)
            if not groups:
                return None
            requests = [one.for_model for group in groups for one in group]
            has_media = any(one.may_show and any(one.request.media()) for group in groups for one in group)
            staged = _Staged(groups, requests, has_media)
            self._staged.append(staged)
            return staged

    def close(self) -> None:
        """Free the model, on its own thread. A batch that an interrupt left behind is broken off: threads that still
        compute when Python ends bring the process down.
        """
        done = threading.Event()
        self._closing.set()

        def close() -> None:
            with in_mode("model"):
                closed = attempt(self._model.close)
            if isinstance(closed, Raised):
                _LOG.warning("Closing the model failed: %r", closed.error)
            done.set()

        with self._lock:
            is_computing = self._is_computing
            if self._in_model is not None:
                _interrupt(self._in_model)
        self._thread.submit(close)
        # One long call into guests hears of no interrupt; waiting for it could take minutes.
        done.wait(timeout=_LEAVE_S if is_computing else CLOSE_S)
        self._thread.close()
        self._images.drain(CLOSE_S)
        self._images.close()

    def _most(self, key: Hashable, longest: int) -> int | None:
        return self._choice.most(self._sizes, key, longest)

    def _media_ready(self, staged: _Staged, failures: list[Response | None]) -> None:
        with self._lock:
            staged.failures = failures
            self._start()
        if staged.has_media:  # the next one is decoded while this one is computed, before the scheduler hears of it
            self._stage(is_quiet=False)

    def _begin_loading(self) -> None:
        """Load the model before its first batch is chosen: what gathers meanwhile makes for better neighbours."""
        if self._is_loaded or self._is_computing:
            return
        self._is_computing = True

        def job() -> None:
            loaded = attempt(self._load)
            if isinstance(loaded, Raised):
                if not self._closing.is_set():
                    self._events.failed(loaded.error)
                return
            with self._lock:
                self._is_loaded = True
                self._is_computing = False
            self._events.answered([])

        self._thread.submit(job)

    def _start(self) -> None:
        if self._is_computing or not self._staged or self._staged[0].failures is None:
            return
        if self._meter is not None and self._meter.is_closed:
            return
        staged = self._staged.popleft()
        batch, failures = staged.groups, staged.failures or []
        self._is_computing = True

        def job() -> None:
            computed = attempt(lambda: self._compute(batch, failures))
            if isinstance(computed, Raised) and not self._closing.is_set():
                self._events.failed(computed.error)

        self._thread.submit(job)

    def _load(self) -> None:
        with boundary(PlanError, "Loading the model"), self._inside_model():
            self._model.load()

    def _compute(self, groups: list[Joined], failures: list[Response | None]) -> None:
        batch = [one for group in groups for one in group]
        for one, failure in zip(batch, failures, strict=True):
            one.response = failure
        askable = [rest for group in groups if (rest := [one for one in group if one.response is None])]
        admitted = self._meter.admit(askable, waits=True) if self._meter is not None and askable else None
        if admitted is not None:
            askable = admitted.groups
            self.add([one for group in admitted.later for one in group])
        asked = [one for group in askable for one in group]
        responses = self._respond(askable) if askable else []
        again = settle(asked, responses, self._max_retries, self._events) if askable else []
        if again:
            self._closing.wait(pause_s(again, n_asked=len(asked)))
            self.add(again)
        with self._lock:
            self._is_computing = False
            self._start()
        self._hand_on([one for one in batch if one.response is not None])
        if self._meter is not None and admitted is not None:
            self._meter.computed(admitted, responses)

    def _hand_on(self, answered: list[PendingRequest]) -> None:
        """Report answers, which writes them down. Images are encoded for that, beside the next batch; a
        model that is faster waits, so that what is not written yet is bounded.
        """
        sizes = sizes_of_images(answered)
        if not sizes:
            self._events.answered(answered)
            return
        self._choice.learn_sizes(sizes)
        self._images.put(answered)
        self._events.answered([])  # so that the next batch is chosen meanwhile

    @contextmanager
    def _inside_model(self) -> Iterator[None]:
        """Call the model inside this. Meanwhile ``close`` may break it off."""
        with self._lock:
            self._in_model = threading.get_ident()
        try:
            with in_mode("model"):
                yield
        finally:
            with self._lock:
                self._in_model = None

    def _respond(self, groups: list[Joined]) -> list[Response | None]:
        """The answers; ``None`` for requests that are to be asked again in smaller batches."""
        key, longest = groups[0][0].batch_key, longest_of(groups)
        with self._lock:
            at_once = self._choice.at_once(self._sizes, key, longest)
        calls = self._computer.compute([[one.for_model for one in group] for group in groups], at_once)
        with self._lock:
            for n_at_once, seconds in calls.timings:
                self._sizes.computed(key, n_at_once, seconds)
            smaller = 0
            if calls.did_not_fit is not None:
                smaller = self._sizes.did_not_fit(key, calls.did_not_fit, longest)
        if smaller:
            self._events.note(did_not_fit(calls.did_not_fit or 0, smaller))
        return calls.responses


def _interrupt(thread: int) -> None:
    """Raise ``KeyboardInterrupt`` in a thread, as soon as it is back in Python code."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))
