"""The dispatcher to an endpoint: an event loop on a thread of its own. The endpoint may be one model at several
addresses; then each request goes to the least loaded of them, and comes back for another if that one fails it.

A request passes four stations. It *waits* until it is among the next to be sent; on a decoding thread its media is
looked at and the model prepares what it will send; then it is *ready*; then it is tried. A try that fails in passing
gives its slot to another while its request sleeps, and comes back before new work. What is ready, in flight or asleep
is bounded, so neither tasks nor prepared bodies pile up, however much waits. Answers leave through a thread of their
own: they are written down (and generated images encoded) beside the event loop, never on it.

``attempts`` makes a try, and ``balancing`` decides where. What is known of each address is in its
``instances``: ``watch`` finds out from the end of a try whether it is there, and ``concurrency`` and
``breaker`` decide how many may be in flight and when nobody is sent.
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
from contextvars import copy_context
from functools import partial
from itertools import compress
from typing import Any, Literal

from polymeter.core.content import Image
from polymeter.core.errors import ModelError, PlanError, PolymeterError, StorageError, boundary
from polymeter.core.model import AsyncModel
from polymeter.core.options import LONGEST_WAIT_S
from polymeter.core.request import Error, GenerateImage, Response
from polymeter.guests.door import in_mode
from polymeter.run.budget.ledger import Hold
from polymeter.run.budget.meter import Meter
from polymeter.run.dispatch.dispatchers import CLOSE_S, Joined, calls_of
from polymeter.run.dispatch.endpoint.attempts import Job, telling, verdict_of
from polymeter.run.dispatch.endpoint.concurrency import Ticket, Verdict, backoff_s
from polymeter.run.dispatch.endpoint.instances import EndpointInstance, EndpointInstances, InstanceSettings
from polymeter.run.dispatch.endpoint.watch import shows_presence
from polymeter.run.dispatch.prefetch import Prefetcher, PreparedRequest
from polymeter.run.schedule.events import Events
from polymeter.run.schedule.pool import Pool
from polymeter.run.schedule.running_samples import PendingRequest

_A_FEW = 4
_LEAST_ASLEEP = 16
_PREPARED_TOGETHER = 16
_IMAGES_TOGETHER = 4
"""So many requests with images are prepared in one thread hop, and more if they repeat one prompt; fewer where less is
in flight, so that all threads have something to do.
"""
_OFTEN = 8
_STUCK_S = 60.0
"""A request is stuck that is limited for so long, and so many times as often as those that are answered meanwhile: of
those that only wait for their turn one in about 3,000 is, if each try has the same chance.
"""
_GATHERED_S = 0.003
"""The longest time that an answer may wait for others, while more are in flight: short compared with any endpoint's
latency. Answers that arrive together leave together, because switching threads for each of them takes longer than the
work on it.
"""
_LOG = logging.getLogger("polymeter")


class EndpointDispatcher:
    """The dispatcher to an endpoint.

    Args:
        model: The endpoint. It is loaded when the first request comes, on the dispatcher's thread.
        concurrency: Most requests in flight at each of its addresses; ``None``: found by trying (see ``Limiter``).
        prefetcher: Prepares requests, off the event loop.
        events: Receives answers and failures, and the reason and length of waits.
        max_retries: The number of times that a request is asked again after a transient failure. Rate limits count only
            when nothing else has come for a while.
        timeout_s: Deadline of one try, in seconds.
        longest_wait_s: The longest wait before another try, whatever the endpoint asks for.
        name: The role that it serves, for messages: ``the model``, ``the judge``.
        meter: Reserves for every try under the caps of the run; ``None``: there are none.
        sleep: Waits between tries. Tests replace it.
        clock: Returns the time in seconds. Tests replace it.
    """

    def __init__(  # noqa: PLR0913  (its settings, its receiver, and two functions that tests replace)
        self,
        model: AsyncModel,
        concurrency: int | None,
        prefetcher: Prefetcher,
        events: Events,
        *,
        max_retries: int,
        timeout_s: float,
        longest_wait_s: float = LONGEST_WAIT_S,
        name: str = "the model",
        meter: Meter | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._name = name
        self._events = events
        self._settings = InstanceSettings(
            concurrency, max_retries, timeout_s, longest_wait_s, self._start, sleep, clock, meter
        )
        self._meter = meter
        if meter is not None:
            meter.on_freed(self._continue_soon)
        self._instances = EndpointInstances(
            model, name, self._settings, on_wait=events.waiting, on_note=events.note, on_gone=self._give_up
        )
        self._is_gone = self._is_closing = False
        self._has_loaded = threading.Event()
        self._context = copy_context()  # loading finds weights and data by the run's own settings
        self._make = model.prepare if type(model).prepare is not AsyncModel.prepare else None
        self._prefetcher = prefetcher
        self._random = random.Random()
        self._waiting: deque[Joined] = deque()
        self._n_preparing = 0
        self._ready: deque[Job] = deque()
        self._again: deque[Job] = deque()
        self._n_asleep = self._n_asleep_alone = self._n_retries = 0
        self._is_turn_of_new = False
        self._is_pausing = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.new_event_loop()
        self._out = _Out(events.answered, self._loop)
        self._thread = threading.Thread(target=self._serve, name="polymeter-endpoint", daemon=True)

    @property
    def keeps_busy(self) -> int:
        """The number of samples in progress that keeps the endpoint busy: those in flight, and as many that come
        next.
        """
        return max(2 * self._instances.limit, 16)

    @property
    def floor(self) -> int:
        """The least number of samples that it needs: those in flight."""
        return self._instances.limit

    def history(self) -> Mapping[str, Any]:
        """Return the number of requests in flight and its reason, the errors on the way, the number of answers of each
        address, and the model's own record of its servers.
        """
        record = self._instances.record()
        if record:
            record["concurrency"]["retries"] = self._n_retries
        return {**record, **self._model.record}

    def add(self, asked: Sequence[PendingRequest]) -> None:
        """Take requests; the first ones start the loop's thread."""
        if self._thread.ident is None:
            self._thread.start()
        self._loop.call_soon_threadsafe(self._take, list(asked))

    def poke(self, *, is_quiet: bool) -> None:
        """Nothing to do: requests start as they come."""

    def close(self) -> None:
        """Cancel what is in flight and close connections; a model that is being loaded is interrupted."""
        self._is_closing = True
        self._model.interrupt()
        if self._thread.ident is None:
            self._loop.run_until_complete(self._shut())
            self._loop.close()
            return
        if not self._has_loaded.is_set() and type(self._model).interrupt is AsyncModel.interrupt:
            self._out.close()  # nothing makes it come back, and its thread ends with the process
            return
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result(timeout=CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()
        self._out.close()

    def _serve(self) -> None:
        # The loop's thread runs the model and nothing else of others: a guest never answers on it.
        self._context.run(self._load)
        self._has_loaded.set()
        with in_mode("model"):
            self._loop.run_forever()

    def _load(self) -> None:
        """Load the model, and find out where it is then. Requests wait meanwhile."""
        try:
            with in_mode("model"), boundary(PlanError, "Starting the model"):
                self._model.load()
        except ModelError as error:
            self._give_up(f"{self._name} cannot be started: {error}")
        except PolymeterError as error:
            self._is_gone = True
            self._events.failed(error)
        else:
            self._instances.find()

    def _give_up(self, reason: str) -> None:
        self._is_gone = True
        self._events.gone(reason)

    def _take(self, asked: Sequence[PendingRequest]) -> None:
        self._waiting.extend(calls_of(self._model, asked))
        self._go_on()

    def _go_on(self) -> None:
        """Do whatever can be done now."""
        if self._is_closing or self._is_gone or not self._instances.is_any_available:
            return
        while (instance := self._instances.next()) is not None and (job := self._next_job()) is not None:
            if not self._is_affordable(job):
                break
            if job.failed_at:
                instance = self._instances.next(job.failed_at) or instance
            self._start(self._answer(job, instance, self._instances.begin(instance)))
        self._prepare_next()
        if (self._again or self._ready) and not self._is_pausing and (wait_s := self._instances.pause_s) > 0:
            self._is_pausing = True
            self._start(self._wait_out(wait_s))

    def _is_affordable(self, job: Job) -> bool:
        """Reserve for the next try of a request. If it must not be sent now, it returns to its place."""
        if self._meter is None or job.hold is not None:
            return True
        try:
            if job.worst is None:
                job.worst = self._meter.worst_of(job.asked)
        except PolymeterError as error:  # the request has no bound
            self._is_gone = True
            self._events.failed(error)
            return False
        job.hold = self._meter.hold(job.asked[0].role, job.worst)
        if job.hold is None:
            (self._again if job.tries else self._ready).appendleft(job)
        return job.hold is not None

    def _continue_soon(self) -> None:
        with suppress(RuntimeError):  # the dispatcher was closed meanwhile
            self._loop.call_soon_threadsafe(self._go_on)

    def _start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _prepare_next(self) -> None:
        """Send requests to be prepared: as many as may be in flight, and a few more, are ready ahead. They are sent
        several at a time, since a thread hop costs more than most requests; meanwhile half of them are ready.
        """
        limit = self._instances.limit
        room = limit + _A_FEW - len(self._ready) - self._n_preparing
        if room < min(_PREPARED_TOGETHER, limit // 2):
            return
        n_with_images = min(_IMAGES_TOGETHER, max(1, limit // _PREPARED_TOGETHER))
        while room > 0 and self._waiting:
            group = self._next_group(min(room, _PREPARED_TOGETHER), n_with_images)
            room -= len(group)
            self._n_preparing += len(group)
            requests = [asked[0].to_model for asked in group]
            self._prefetcher.prepare_each(requests, self._make, partial(self._hand_over, group))

    def _hand_over(self, group: Sequence[Joined], made: Sequence[PreparedRequest]) -> None:
        with suppress(RuntimeError):  # the dispatcher was closed meanwhile, and nobody waits any more
            self._loop.call_soon_threadsafe(self._take_prepared, group, made)

    def _next_group(self, most: int, most_with_images: int) -> list[Joined]:
        """Those that are prepared in one thread hop: neighbours that are all text, a few with images, or repeats of one
        prompt, of which a model may make the same thing.
        """
        group = [self._waiting.popleft()]
        weight = _weight(group[0])
        enough = {"text": most, "images": most_with_images, "slow": 1}[weight]
        while self._waiting and len(group) < most:
            following = self._waiting[0]
            is_repeat = following[0].request.messages is group[-1][0].request.messages
            if not is_repeat and (len(group) >= enough or _weight(following) != weight):
                break
            group.append(self._waiting.popleft())
        return group

    def _take_prepared(self, group: Sequence[Joined], made: Sequence[PreparedRequest]) -> None:
        self._n_preparing -= len(group)
        for asked, prepared in zip(group, made, strict=True):
            if prepared.failure is not None:
                self._end(asked, [prepared.failure] * len(asked))
            else:
                self._ready.append(Job(asked, prepared.made))
        self._go_on()

    def _next_job(self) -> Job | None:
        """Choose the next request to send: retries first, and nothing new while many of them sleep. A request that has
        failed twice takes turns with new ones. Otherwise it would hold them up for ever if it failed for a reason of
        its own.
        """
        n_asleep = self._n_asleep - self._n_asleep_alone
        has_new = bool(self._ready) and n_asleep < max(_LEAST_ASLEEP, 2 * self._instances.limit)
        if self._again and not (has_new and self._is_turn_of_new and self._again[0].tries > 1):
            self._is_turn_of_new = True
            return self._again.popleft()
        self._is_turn_of_new = False
        return self._ready.popleft() if has_new else None

    async def _wait_out(self, wait_s: float) -> None:
        await self._settings.sleep(wait_s)
        self._is_pausing = False
        self._go_on()

    async def _answer(self, job: Job, instance: EndpointInstance, ticket: Ticket) -> None:
        """One try, and the sleep after it if there is to be another."""
        error = await self._attempt(job, instance, ticket)
        if error is None or not job.asked or self._is_gone:
            self._go_on()
            return
        self._n_retries += 1
        # An address that is down is no reason to wait for another one.
        if instance.is_available or not self._instances.has_untried(job.failed_at):
            await self._rest(job, instance, error)
        self._again.append(job)
        self._go_on()

    async def _rest(self, job: Job, instance: EndpointInstance, error: Error) -> None:
        """Let a request that failed sleep before its next try."""
        if instance.breaker.is_open:
            return
        self._n_asleep += 1
        if job.is_passed_over:
            self._n_asleep_alone += 1
        self._go_on()
        try:
            wait_s = max(error.retry_after_s or 0.0, backoff_s(job.tries, self._random.random()))
            await self._settings.sleep(min(wait_s, self._settings.longest_wait_s))
        finally:
            self._n_asleep -= 1
            if job.is_passed_over:
                self._n_asleep_alone -= 1

    async def _attempt(self, job: Job, instance: EndpointInstance, ticket: Ticket) -> Error | None:
        """Make one try: hand on the requests that it ended, and leave the rest in the job; return the error that
        represents it. What is reserved for it is settled behind its answers, so that a run that ends has them all.
        """
        hold, job.hold = job.hold, None
        try:
            return await self._try(job, hold, instance, ticket)
        finally:
            if hold is not None and self._meter is not None and hold.is_over:
                self._out.then(partial(self._meter.settle, hold))

    async def _try(self, job: Job, hold: Hold | None, instance: EndpointInstance, ticket: Ticket) -> Error | None:
        verdict: Verdict = "other"
        error: Error | None = None
        watch = instance.watch
        is_passed_over = False
        try:
            if self._meter is None or hold is None:
                responses = await instance.attempts.attempt(job)
            else:
                responses = await self._metered(job, hold, instance)
            error = telling(responses)
            verdict = verdict_of(error)
            is_passed_over = job.failed_at.get(instance.number, instance.n_answered) < instance.n_answered
        finally:
            instance.limiter.end(
                ticket,
                verdict,
                is_work_waiting=bool(self._again or self._ready),
                retry_after_s=error.retry_after_s if error and error.retryable else None,
                is_passed_over=is_passed_over,
            )
        if failed := [one for one, each in zip(job.asked, responses, strict=True) if each.error is not None]:
            self._events.tries_failed(failed)
        if n_answered := sum(response.error is None for response in responses):
            instance.n_answered += n_answered
            instance.n_tries_answered += n_answered * job.tries
            job.n_passed_over.clear()  # of its repeats one was answered, so that the others wait for their turn
        if verdict in ("failed", "rate_limit"):
            instance.n_failed += 1
        has_others = bool(self._waiting or self._ready or self._n_preparing)
        begins_outage = watch.learn(responses, error, verdict, has_others=has_others)
        is_final = False
        if error is not None:
            job.failed_at.pop(instance.number, None)
            job.failed_at[instance.number] = instance.n_answered
            job.failed_since_s = min(job.failed_since_s, self._settings.clock())
            if is_passed_over:
                job.n_passed_over[instance.number] += 1
            if begins_outage:
                self._start(self._outlast(instance, error))
            await watch.give_up_if_all_fail(error)
            is_final = await self._is_final(job, instance, error)
        if watch.is_gone:
            return error
        ended = [is_final or response.error is None or not response.error.retryable for response in responses]
        self._end(list(compress(job.asked, ended)), list(compress(responses, ended)))
        job.asked = [asked for asked, has_ended in zip(job.asked, ended, strict=True) if not has_ended]
        return error

    async def _metered(self, job: Job, hold: Hold, instance: EndpointInstance) -> list[Response]:
        """Make one try once its reservation survives the death of the process."""
        assert self._meter is not None
        try:
            await self._meter.committed()
        except StorageError as error:
            self._is_gone = True
            self._events.failed(error)
            return [Response.failed(error)] * len(job.asked)
        responses = await instance.attempts.attempt(job)
        self._meter.learn(hold, job.asked, responses)
        return responses

    async def _outlast(self, instance: EndpointInstance, error: Error) -> None:
        await instance.watch.outlast(error, self._has_work, partial(self._is_one_answered, instance))
        self._go_on()

    def _has_work(self) -> bool:
        """Return whether anybody waits for an answer."""
        in_line = self._waiting or self._ready or self._again or self._n_preparing
        return bool(in_line or self._n_asleep or self._instances.n_in_flight)

    async def _is_one_answered(self, instance: EndpointInstance) -> bool:
        """Try one request although nobody is sent there, and tell whether an address is there."""
        # By turns one that has failed and one that has not: either may fail for a reason of its own.
        first, then = (self._again, self._ready) if instance.breaker.n_probes % 2 else (self._ready, self._again)
        queue = first or then
        if not queue:
            return False
        job, is_again = queue.popleft(), queue is self._again
        if not self._is_affordable(job):
            return False
        error = await self._attempt(job, instance, self._instances.begin(instance))
        if job.asked and is_again:
            self._again.appendleft(job)
        elif job.asked:
            self._again.append(job)
        return shows_presence(error)

    def _end(self, asked: Joined, responses: Sequence[Response]) -> None:
        for one, response in zip(asked, responses, strict=True):
            one.response = response
            self._out.put(one)
        if not self._instances.n_in_flight:
            self._out.flush()

    async def _is_final(self, job: Job, instance: EndpointInstance, error: Error) -> bool:
        """Return whether a request has used up its tries."""
        most = self._settings.max_retries
        if most == 0:
            return True
        if job.tries <= most or instance.breaker.is_open or self._instances.has_untried(job.failed_at):
            return False
        return error.kind != "rate_limit" or await self._is_stuck(job)

    async def _is_stuck(self, job: Job) -> bool:
        """Return whether rate limits concern only this request, at every address that is not gone."""
        is_late = self._settings.clock() - job.failed_since_s >= _STUCK_S
        unclear = []
        for one in self._instances.left:
            n = job.n_passed_over[one.number]
            if not is_late or n < max(self._settings.max_retries, _OFTEN * one.tries_per_answer):
                unclear.append(one.watch.limits_only_this(is_passed_over=n > 0))
        return all(await asyncio.gather(*unclear))

    async def _shut(self) -> None:
        self._instances.close()
        for queue in (self._waiting, self._ready, self._again):
            queue.clear()
        running = list(self._tasks)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        try:
            with boundary(ModelError, "Closing the model"):
                try:
                    await self._model.aclose()
                finally:
                    self._model.close()
        except PolymeterError as error:
            _LOG.warning("%s", error)


class _Out:
    """Hands on answered requests from a thread of its own: all together that came within a moment, so that a storm of
    answers does not make the threads of a run take turns for each.
    """

    def __init__(self, on_done: Callable[[list[PendingRequest]], None], loop: asyncio.AbstractEventLoop) -> None:
        self._on_done = on_done
        self._loop = loop
        self._done: list[PendingRequest] = []
        self._then: list[Callable[[], None]] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._pool = Pool("answers", 1)

    def put(self, asked: PendingRequest) -> None:
        """Take a request that ended. On the loop's thread."""
        self._done.append(asked)
        if self._alarm is None:
            self._alarm = self._loop.call_later(_GATHERED_S, self.flush)

    def then(self, call: Callable[[], None]) -> None:
        """Have a function called behind the answers so far. On the loop's thread."""
        self._then.append(call)
        if self._alarm is None:
            self._alarm = self._loop.call_later(_GATHERED_S, self.flush)

    def flush(self) -> None:
        """Hand on the answers that have arrived, since no other may come. Runs on the loop's thread."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._done:
            self._pool.submit(partial(self._on_done, self._done))
            self._done = []
        for call in self._then:
            self._pool.submit(call)
        self._then = []

    def close(self) -> None:
        """Hand on nothing more."""
        self._pool.close()


def _weight(asked: Joined) -> Literal["text", "images", "slow"]:
    """Estimate the work to prepare a request: images are opened but not decoded; videos are decoded, audio may be, and
    the source of an edited image may be fetched.
    """
    request = asked[0].to_model
    weight: Literal["text", "images"] = "text"
    for medium in request.media():
        if not isinstance(medium, Image) or isinstance(request.parameters, GenerateImage):
            return "slow"
        weight = "images"
    return weight
