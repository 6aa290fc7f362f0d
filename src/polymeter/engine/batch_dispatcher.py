"""The dispatcher to a model on this machine: one thread that computes, and a batch that is made ready meanwhile."""

from __future__ import annotations

import ctypes
import logging
import threading
import time
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from polymeter.core.errors import (
    DataError,
    ModelError,
    PlanError,
    PolymeterError,
    Raised,
    attempt,
    boundary,
    is_out_of_memory,
)
from polymeter.core.model import ALL_READY, BatchModel
from polymeter.core.registry import place_of
from polymeter.core.request import GenerateImage, Output, OwnPrompt, Request, Response
from polymeter.engine.answers import settle
from polymeter.engine.batch_size import BatchSizes
from polymeter.engine.batching import ReadyQueue, estimated_length, settings_key
from polymeter.engine.dispatchers import CLOSE_S, Joined, Listener, calls_of
from polymeter.engine.image_writers import ImageWriters, sizes_of_images
from polymeter.engine.pool import Pool
from polymeter.engine.prefetch import Prefetcher
from polymeter.engine.running_samples import MODEL_ROLE, PendingRequest
from polymeter.guests.door import in_mode

_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 30.0
_LEAVE_S = 5
_IMAGES_AT_ONCE = 64
_PIXELS_AT_ONCE = 16 * 2**20
"""Most images and most pixels of a batch of a model that wants everything that is ready. The images of the batch that
is written and of the one that is computed are held, at four bytes a pixel.
"""
_SHOWN_BYTES_AT_ONCE = 48 * 2**20
"""Most bytes of decoded images in a batch of a model that wants everything that is ready: half of what a run holds
unless its user says otherwise, so that as much is decoded meanwhile.
"""
_DECODED_AHEAD = 3
"""While fewer requests with media than this are chosen and not computed, the next batch is chosen too: with batches of
one, a single decoding thread would work at a time.
"""
_SIZE_UNTIL_SEEN = (1024, 1024)
"""Width and height that images without a size are taken to have before the first is there."""
_PROMPTS = "own prompts"
"""The batch key of questions for the model's own prompts."""
_ASKING_FOR_KEY = boundary(ModelError, "The model's group_key")
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
        listener: Hears of answers and failures.
        max_retries: How often a request is asked again after a transient failure.
        is_cut: Whether stop strings are applied.
    """

    def __init__(
        self,
        model: BatchModel,
        batch_size: int | Literal["auto"] | None,
        prefetcher: Prefetcher,
        listener: Listener,
        *,
        max_retries: int,
        is_cut: bool,
        largest_own: int = 0,
    ) -> None:
        hint = None if model.batch_hint == ALL_READY else int(model.batch_hint)
        self._sizes = BatchSizes(batch_size, hint)
        self._largest_own = 0 if batch_size else largest_own
        self._is_told = batch_size is not None
        self._takes_all = hint is None
        self._closing = threading.Event()
        self._model = model
        self._ready: ReadyQueue[Joined] = ReadyQueue(self._most)
        self._batches_at_once: dict[Hashable, int] = {}
        self._prefetcher = prefetcher
        self._listener = listener
        self._max_retries = max_retries
        self._is_cut = is_cut
        self._lock = threading.Lock()
        self._staged: deque[_Staged] = deque()
        self._is_computing = False
        self._is_loaded = False
        self._in_model: int | None = None
        self._thread = Pool("model", 1)
        self._images = ImageWriters(listener.done)
        self._usual_size = _SIZE_UNTIL_SEEN

    @property
    def keeps_busy(self) -> int:
        """How many samples in progress keep the model busy; grows with the batches."""
        largest = self._largest()
        return 1024 if largest is None else max(64, 32 * largest)

    @property
    def floor(self) -> int:
        """How many it needs at least, for the batch that it computes and the next one."""
        if self._takes_all and not self._is_told:
            return 2 * max(1, self._largest_own)
        return 2 * (self._largest() or 1)

    def history(self) -> Mapping[str, Any]:
        """The largest batch so far, and whether memory ran out."""
        return {"batch_size": self._sizes.summary()}

    def add(self, asked: Sequence[PendingRequest]) -> None:
        """Take requests."""
        with in_mode("model"):  # it is asked which requests share a call, and which a batch
            chosen = [(group, self._choose_batch(group)) for group in calls_of(self._model, asked)]
        with self._lock:
            for group, own in chosen:
                key = group[0].batch_key
                if key is None:
                    continue
                if own is not None:
                    self._sizes.set_own(key, own)
                asks = group[0].request
                self._ready.add(group, key, 0 if isinstance(asks, OwnPrompt) else estimated_length(asks))
        for group, _ in chosen:
            if group[0].batch_key is None:
                self._listener.done(group)

    def _choose_batch(self, group: Joined) -> int | None:
        """Give the requests of a group the key of their batch. One that the model fails to give is their answer, and
        they have none.

        Returns:
            Their own largest batch, if they have one.
        """
        first = group[0]
        if isinstance(first.request, OwnPrompt):
            first.batch_key = _PROMPTS
            return None
        own = None if self._is_told else _own_batch_size(first) or self._most_drawn(group) or self._most_shown(group)
        try:
            with _ASKING_FOR_KEY:
                key = (settings_key(first.request), self._model.group_key(first.request), own)
                if key not in self._batches_at_once:
                    self._batches_at_once[key] = int(self._model.batches_at_once(first.request))
        except PolymeterError as error:
            for one in group:
                one.batch_key, one.response = None, Response.failed(error)
            return None
        for one in group:
            one.batch_key = key
        return own

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
            requests = [one.request for group in groups for one in group]
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

    def _most_drawn(self, group: Joined) -> int | None:
        request = group[0].request
        asked = request.parameters if isinstance(request, Request) else None
        if not self._takes_all or not isinstance(asked, GenerateImage):
            return None
        width, height = asked.size or self._usual_size
        fitting = min(_IMAGES_AT_ONCE, _PIXELS_AT_ONCE // (width * height))
        return max(1, fitting // len(group))

    def _most(self, key: Hashable, longest: int) -> int | None:
        """Most requests in one call: a batch, or several of a size that is settled where the model refills them."""
        size = self._sizes.most(key, longest)
        if size is None or size == 1 or not self._sizes.is_settled(key):
            return size
        return size * self._batches_at_once.get(key, 1)

    def _most_shown(self, group: Joined) -> int | None:
        """How many requests with images a model that wants everything gets at once: so few that the next ones are
        decoded meanwhile.
        """
        if not self._takes_all or not group[0].may_show:
            return None
        n_images = sum(1 for one in group for _ in one.request.images())
        if not n_images:
            return None
        task = group[0].running.task
        if not task.n_images:
            return 1  # until the first is seen, it may be of any size
        fitting = max(1, int(_SHOWN_BYTES_AT_ONCE / (n_images * task.image_bytes)))
        return 1 << (fitting.bit_length() - 1)  # a power of two, as the size of images is learned and changes

    def _largest(self) -> int | None:
        scale = self._sizes.scale
        return None if scale is None else max(scale, self._largest_own)

    def _media_ready(self, staged: _Staged, failures: list[Response | None]) -> None:
        with self._lock:
            staged.failures = failures
            self._start()
        if staged.has_media:  # the next one is decoded while this one is computed, before the driver hears of it
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
                    self._listener.failed(loaded.error)
                return
            with self._lock:
                self._is_loaded, self._is_computing = True, False
            self._listener.done([])

        self._thread.submit(job)

    def _start(self) -> None:
        if self._is_computing or not self._staged or self._staged[0].failures is None:
            return
        staged = self._staged.popleft()
        batch, failures = staged.groups, staged.failures or []
        self._is_computing = True

        def job() -> None:
            computed = attempt(lambda: self._compute(batch, failures))
            if isinstance(computed, Raised) and not self._closing.is_set():
                self._listener.failed(computed.error)

        self._thread.submit(job)

    def _load(self) -> None:
        with boundary(PlanError, "Loading the model"), self._inside_model():
            self._model.load()

    def _compute(self, groups: list[Joined], failures: list[Response | None]) -> None:
        batch = [one for group in groups for one in group]
        for one, failure in zip(batch, failures, strict=True):
            one.response = failure
        askable = [rest for group in groups if (rest := [one for one in group if one.response is None])]
        again = []
        if askable:
            asked = [one for group in askable for one in group]
            for one, response in zip(asked, self._respond(askable), strict=True):
                if response is None:
                    again.append(one)
                elif response.error is not None and response.error.retryable and one.tries < self._max_retries:
                    one.tries += 1
                    again.append(one)
                else:
                    one.response = response
        if again:
            self._pause(again, n_asked=sum(len(group) for group in askable))
            self.add(again)
        with self._lock:
            self._is_computing = False
            self._start()
        self._hand_on([one for one in batch if one.response is not None])

    def _hand_on(self, answered: list[PendingRequest]) -> None:
        """Give answers to the listener, which writes them down. Images are encoded for that, beside the next batch; a
        model that is faster waits, so that what is not written yet is bounded.
        """
        sizes = sizes_of_images(answered)
        if not sizes:
            self._listener.done(answered)
            return
        self._usual_size = max(sizes, key=lambda size: size[0] * size[1])
        self._images.put(answered)
        self._listener.done([])  # so that the next batch is chosen meanwhile

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

    def _pause(self, again: list[PendingRequest], *, n_asked: int) -> None:
        """Wait a little when a whole batch failed in passing: a wrapper that calls a server itself should not storm
        it.
        """
        tries = max(one.tries for one in again)
        if tries and len(again) == n_asked:
            self._closing.wait(min(_PAUSE_S * 2 ** (tries - 1), _LONGEST_PAUSE_S))

    def _respond(self, groups: list[Joined]) -> list[Response | None]:
        """The answers; ``None`` for requests that are to be asked again in smaller batches."""
        requests = [one.request for group in groups for one in group]
        key, longest = groups[0][0].batch_key, _longest(groups)
        with self._lock:
            is_refilled = self._batches_at_once.get(key, 1) > 1
            self._model.at_once = self._sizes.most(key, longest) if is_refilled else None
        n_at_once = min(len(groups), self._model.at_once or len(groups))
        started = time.perf_counter()
        try:
            with boundary(ModelError, "The model"):
                with self._inside_model():
                    given = self._given(requests)
                if len(given) != len(requests):
                    raise self._misanswered(f"{len(given)} responses to {len(requests)} requests")
        except PolymeterError as error:
            if len(groups) > 1 and is_out_of_memory(error):
                return self._halve(groups, n_at_once)
            if len(groups) == 1:
                return [Response.failed(error)] * len(requests)
            return [response for group in groups for response in self._respond([group])]
        seconds = time.perf_counter() - started
        with self._lock:
            self._sizes.computed(key, n_at_once, seconds)
        share_ms = seconds * 1000 / len(requests)
        responses = [
            each if isinstance(one, OwnPrompt) else settle(one, each, is_cut=self._is_cut)
            for one, each in zip(requests, given, strict=True)
        ]
        return [
            response
            if response.latency_ms is not None
            else Response(response.outputs, response.error, share_ms, response.is_cached)
            for response in responses
        ]

    def _given(self, requests: list[Request | OwnPrompt]) -> list[Response]:
        asked = [one for one in requests if isinstance(one, Request)]
        if asked:  # prompts and questions never share a batch
            given: Any = self._model.respond(asked)  # its author may return anything
            if not isinstance(given, Iterable) or isinstance(given, (str, Mapping)):
                raise self._misanswered(f"a {type(given).__name__} in place of a list of responses")
            return list(given)
        return [self._prompt(one) for one in requests if isinstance(one, OwnPrompt)]

    def _misanswered(self, how: str) -> ModelError:
        return ModelError(
            f"The model gave {how}.",
            where=place_of(type(self._model).respond),
            hint="respond returns a list with one Response for each request, in their order.",
        )

    def _prompt(self, asked: OwnPrompt) -> Response:
        """The model's own prompt as an answer, or why there is none: one row's failure is its own."""
        try:
            with boundary(ModelError, "The model's own prompt"):
                return Response((Output(messages=self._model.own_prompt(asked.origin)),))
        except PolymeterError as error:
            return Response.failed(error, "data" if isinstance(error, DataError) else "permanent")

    def _halve(self, groups: list[Joined], n_at_once: int) -> list[Response | None]:
        with self._lock:
            smaller = self._sizes.did_not_fit(groups[0][0].batch_key, n_at_once, _longest(groups))
        self._listener.note(f"A batch of {n_at_once} did not fit into memory: going on with {smaller}.")
        with in_mode("model"), boundary(ModelError, "Freeing the model's memory"):
            self._model.relieve()
        return [None] * sum(len(group) for group in groups)


def _own_batch_size(one: PendingRequest) -> int | None:
    """The batch that a task names for its own requests; those to a judge are not."""
    return one.running.task.task.batch_size if one.role == MODEL_ROLE else None


def _longest(groups: Sequence[Joined]) -> int:
    """Estimated length of the longest request; 0 if they are questions for the model's own prompts."""
    requests = [group[0].request for group in groups]
    return max((estimated_length(one) for one in requests if isinstance(one, Request)), default=0)


def _interrupt(thread: int) -> None:
    """Raise ``KeyboardInterrupt`` in a thread, as soon as it is back in Python code."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))
