"""The scheduler: the loop between tasks and models. It owns the window of running samples and decides what comes next.

It has one thread. Workers advance and score samples (``rollouts``), dispatchers carry requests to models
(``dispatchers``); both report through one queue (``events``). The scheduler never runs task code and never waits for
anything but that queue.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polymeter.core.acting.episodes import Act
from polymeter.core.errors import Raised, attempt
from polymeter.core.names.stable_names import OWN_PROMPT_ROLE
from polymeter.core.records.progress import Progress
from polymeter.core.request import Error, Response
from polymeter.core.task import SampleStatus, Score
from polymeter.guests.door import Door
from polymeter.run.dispatch.dispatchers import Dispatcher
from polymeter.run.schedule.events import (
    Answered,
    Asked,
    Begun,
    Called,
    CapReached,
    Ended,
    Event,
    Events,
    Failed,
    Gone,
    Progressed,
    Returned,
    Waits,
)
from polymeter.run.schedule.journal_lookup import JournalLookup
from polymeter.run.schedule.live_scores import LiveScores
from polymeter.run.schedule.pool import Pool
from polymeter.run.schedule.recorder import Recorder
from polymeter.run.schedule.role_client import SampleRoleClient
from polymeter.run.schedule.rollouts import ChunkProgress, RolloutWorker
from polymeter.run.schedule.running_samples import MODEL_ROLE, EndedSample, PendingRequest, RunningSample, RunningTask
from polymeter.run.schedule.samples.restarting import SampleRestarter
from polymeter.run.schedule.work_list import AnswersElsewhere, ScheduleSettings, WorkList, WorkOutcome
from polymeter.store.journal import AnswerKey, Journal

_NO_OBSERVATION = "The run holds no observation of this act, and scoring again opens no environment."


class EndpointGoneError(Exception):
    """An endpoint that the run needs can answer nobody any more, or a cap lets nobody be asked any more."""


class Scheduler:
    """Plays samples until none is left.

    Args:
        dispatchers: The way to the model of each role.
        lookup: Answers that an earlier part of the run has.
        recorder: Writes the journal.
        door: The way into guests.
        journal: Opens the journal for reading, on whatever thread calls it.
        settings: The window and its limits.
        progress: Told how far the run is.
        events: Where workers and dispatchers report.

    Attributes:
        scores: The means so far.
        is_gone: Whether an endpoint can answer nobody any more, so that nothing can be run.
    """

    def __init__(
        self,
        dispatchers: Mapping[str, Dispatcher],
        lookup: JournalLookup,
        recorder: Recorder,
        door: Door,
        journal: Callable[[], Journal],
        settings: ScheduleSettings,
        progress: Progress,
        events: Events,
    ) -> None:
        acting = self.acting = settings.acting
        self.dispatchers = dict(dispatchers)
        self._roles = dispatchers.keys() - {MODEL_ROLE, OWN_PROMPT_ROLE}
        model = dispatchers[MODEL_ROLE]
        self._own_roles = frozenset(role for role in self._roles if dispatchers[role] is model)
        apart = (dispatchers[role] for role in sorted(self._roles - self._own_roles))
        self._judges = tuple({id(judge): judge for judge in apart}.values())
        self.outcome = WorkOutcome()
        self.scores = LiveScores()
        self._crew = settings.crew
        restarter = None
        if acting is not None:
            restarter = SampleRestarter(self._known_again, lambda one: acting.release(one, keeps_place=True))
        self.worker = RolloutWorker(
            door,
            self._asker,
            settings.reader,
            settings.panel,
            self._crew,
            limits=settings.limits,
            restarter=restarter,
        )
        self._replaying = RolloutWorker(door, self._asker, settings.reader, settings.panel)
        self._recorder = recorder
        self._lookup = lookup
        self._door = door
        self._open_journal = journal
        self.settings = settings
        self._progress = progress
        self._events = events
        self._native = Pool("native", 1)
        self._guests = Pool("hooks", settings.workers)
        # A connection to SQLite belongs to a thread; they end with the scheduler.
        self._readers = threading.local()
        self._count_lock = threading.Lock()
        self._n_active = 0
        self._is_closed = False
        self.is_gone = False
        self._n_in_play = 0
        self._called: Called | None = None
        self._n_begun_active = 0
        self._held_bytes = 0
        self._begun_bytes = 0.0
        self._asking: set[PendingRequest] = set()
        self._cap_reached = ""

    def run(self, work_lists: Sequence[WorkList]) -> None:
        """Run all samples of some tasks. Returns early, with ``outcome.is_stopped``, after Ctrl-C, too many failures,
        or when an endpoint is down.

        Raises:
            PolymeterError: The journal cannot be written.
        """
        # Text hooks that the lock makes serial gain nothing from a second thread, and lose time to handing over.
        is_serial = all(work.task.is_text_only and not work.task.overlaps for work in work_lists)
        self._guests.slots = 1 if is_serial else self.settings.workers
        chunks = ((work, chunk) for work in work_lists for chunk in work.chunks())
        upcoming = next(chunks, None)
        try:
            while upcoming is not None or self._n_in_play:
                if self._cap_reached and self._is_quiet():
                    raise EndpointGoneError(self._cap_reached)
                while upcoming is not None and self._has_room() and not self._cap_reached:
                    self._begin(*upcoming)
                    upcoming = next(chunks, None)
                self._poke(is_source_dry=upcoming is None or not self._has_room())
                self._handle_all()
                if self._is_over_limit():
                    self.stop(f"{self.outcome.n_failed} samples failed, more than --max-errors allows.")
                    return
        except EndpointGoneError as gone:
            self.stop(str(gone))
        except KeyboardInterrupt:
            self.outcome.is_stopped = self.outcome.is_interrupted = True

    def call(self, function: Callable[[], Any]) -> Any:
        """Run a function on a worker (a reduction, which may ask a judge) while requests are served. Return its result.

        Raises:
            EndpointGoneError: if a judge that it asks is down, or a cap is reached.
        """
        self._called = None
        self._submit(self._guests, lambda: Called(function()))
        while self._called is None:
            if self._cap_reached and self._is_quiet():
                raise EndpointGoneError(self._cap_reached)
            self._poke(is_source_dry=True)
            self._handle_all()
        return self._called.value

    def close(self) -> None:
        """Release workers and models. Waiting callers receive the error that the run was stopped."""
        with self._count_lock:
            self._is_closed = True
        while (event := self._events.next_now()) is not None:
            if isinstance(event, Asked):
                self._asking.update(one for one in event.requests if not one.is_of_scorer)
        for asked in list(self._asking):
            if asked.waiter is not None:
                asked.waiter.set()
        self._native.close()
        self._guests.close()
        if self.acting is not None:
            self.acting.close()
        if self._crew is not None:
            self._crew.close()
        for dispatcher in {id(dispatcher): dispatcher for dispatcher in self.dispatchers.values()}.values():
            dispatcher.close()

    def forget_failures(self) -> None:
        """Begin to count anew, after a probe whose samples are run again if they failed."""
        self.outcome.n_failed = 0
        self.outcome.is_stopped = self.outcome.is_interrupted or self.is_gone
        self.outcome.reason = self.outcome.reason if self.is_gone else ""

    def asker(self, running: RunningSample) -> SampleRoleClient:
        """The RoleClient for a reduction."""
        return self._asker(running)

    def score_sample_again(self, task: RunningTask, index: int, journal: Journal) -> Score | None:
        """Replay a sample over its stored answers and score it; for scores that the journal cannot hold.

        The rollout runs again too, because hooks may leave something in the row for the score to find. A sample that
        has no score any more is written down as such.
        """
        running = RunningSample(task, task.task.samples[index], known=journal.answers(task.name, index))
        with self._door.left():
            end = self._replaying.replay(running, self._lookup)
        if end.score is None:
            self._recorder.ends([end])
        return end.score

    def _has_room(self) -> bool:
        dispatcher = self.dispatchers[MODEL_ROLE]  # asked anew each time: what keeps it busy grows
        beside = 0 if self._crew is None else self._crew.keeps_busy
        if (
            self._n_in_play >= (self.settings.window or dispatcher.keeps_busy + beside)
            or self._n_begun_active > self.settings.workers
        ):
            return False
        is_within_budget = self._held_bytes + self._begun_bytes < self.settings.media_budget_bytes
        return is_within_budget or self._n_in_play < dispatcher.floor

    def _is_over_limit(self) -> bool:
        limit = self.settings.max_failed
        return limit is not None and self.outcome.n_failed >= limit

    def _begin(self, work: WorkList, chunk: range) -> None:
        task = work.task
        answered = any(work.answered[chunk.start : chunk.stop])
        self._n_in_play += len(chunk)
        self._n_begun_active += 1
        expected_bytes = 0.0 if task.is_text_only else len(chunk) * task.image_bytes
        self._begun_bytes += expected_bytes

        def begin() -> Begun:
            known = [self._known(task, index) for index in chunk] if answered else None
            progressed = self.worker.begin(task, chunk, known)
            self._recorder.ends(progressed.ended)
            return Begun(progressed, expected_bytes)

        self._submit(self._pool_of(task), begin)

    def _continue(self, running_samples: Sequence[RunningSample]) -> None:
        by_task: dict[int, list[RunningSample]] = {}
        for running in running_samples:
            by_task.setdefault(running.task.number, []).append(running)
        for group in by_task.values():
            task = group[0].task
            size = task.chunk  # read once: workers change it meanwhile
            for start in range(0, len(group), size):
                self._advance(task, group[start : start + size])

    def _advance(self, task: RunningTask, running_samples: list[RunningSample]) -> None:
        def advance() -> Progressed:
            progressed = self.worker.advance(running_samples)
            self._recorder.ends(progressed.ended)
            return Progressed(progressed)

        self._submit(self._pool_of(task), advance)

    def _pool_of(self, task: RunningTask) -> Pool:
        return self._guests if task.task.is_guest else self._native

    def _handle_all(self) -> None:
        event: Event | None = self._events.next()
        while event is not None:
            self._handle(event)
            event = self._events.next_now()

    def _handle(self, event: Event) -> None:
        match event:
            case Failed():
                raise event.error
            case Begun():
                self._n_begun_active -= 1
                self._begun_bytes -= event.expected_bytes
                self._progressed(event.progressed)
            case Called():
                self._called = event
            case Progressed():
                self._progressed(event.progressed)
            case Answered():
                self._count(event.requests)
                self._deliver(event.requests)
            case Asked():
                self._asking.update(event.requests)
                self._send(event.requests)
            case Ended():
                self._end(event.samples)
            case Returned():
                self._score_here(event.samples)
            case Waits():
                self._progress.waiting(event.text)
            case CapReached():
                self._cap_reached = event.reason
                self.is_gone = True
            case Gone():
                self.is_gone = True
                raise EndpointGoneError(event.reason)

    def stop(self, reason: str) -> None:
        """Note that nothing more is run, and why."""
        self.outcome.is_stopped = True
        self.outcome.reason = reason
        self._progress.waiting("")
        self._progress.note(
            f"Stopped: {reason.partition(chr(10))[0]}"
        )  # the end of a log, if any, is printed at the end

    def _progressed(self, progressed: ChunkProgress) -> None:
        self._send(progressed.asked)
        self._continue(progressed.left)
        if progressed.ended:
            self._end(progressed.ended)
        if progressed.finished and self._crew is not None:
            self._crew.add(progressed.finished)

    def _score_here(self, samples: Sequence[tuple[RunningSample, Any]]) -> None:
        """Score samples that came back from the crew: one by one, since they are slow."""
        for sample in samples:

            def score(sample: tuple[RunningSample, Any] = sample) -> Progressed:
                progressed = self.worker.score_here(*sample)
                self._recorder.ends(progressed.ended)
                return Progressed(progressed)

            self._submit(self._pool_of(sample[0].task), score)

    def _send(self, asked: Sequence[PendingRequest]) -> None:
        known: list[PendingRequest] = []
        fresh: dict[str, list[PendingRequest]] = {}
        self._lookup(asked)
        if self.settings.reuse is not None:
            self._take_over(asked, self.settings.reuse)
        for one in asked:
            if one.response is not None:
                known.append(one)
            elif isinstance(one.request, Act):
                self._act(one)
            else:
                fresh.setdefault(one.role, []).append(one)
                if one.may_show:
                    one.weight = one.running.task.weigh(one.request)
                    self._held_bytes += one.weight
        for role, ones in fresh.items():
            self.dispatchers[role].add(ones)
        self.outcome.n_known += sum(one.reused is None for one in known)
        self._recorder.recalled(known)
        self._deliver(known)

    def _take_over(self, asked: Sequence[PendingRequest], reuse: AnswersElsewhere) -> None:
        """Answer requests from other runs, and journal these answers as if a model had given them."""
        reused = reuse([one for one in asked if one.response is None and not isinstance(one.request, Act)])
        self._recorder.answers(reused)
        for one in reused:
            for image in one.request.images():  # read for its digest
                image.release()

    def _act(self, one: PendingRequest) -> None:
        if self.acting is not None:
            self.acting.add([one])
            return
        one.response = Response(error=Error("score", _NO_OBSERVATION))
        self._events.answered([one])

    def _deliver(self, answered: Sequence[PendingRequest]) -> None:
        ready = []
        for one in answered:
            if one.is_of_scorer and self._crew is not None:
                self._asking.discard(one)
                self._crew.answered(one)
                continue
            if one.waiter is not None:
                self._asking.discard(one)
                with self._count_lock:
                    one.running.n_asking -= 1
                    if one.running.n_asking == 0:
                        self._n_active += 1
                one.waiter.set()
                continue
            one.running.n_waiting -= 1
            if one.running.n_waiting == 0:
                ready.append(one.running)
        if ready:
            self._continue(ready)

    def _count(self, answered: Sequence[PendingRequest]) -> None:
        for asked in answered:
            response = asked.response
            if asked.may_show:
                self._count_images(asked)
            if response is not None and response.error is None:
                self.outcome.latency_ms += response.latency_ms or 0.0

    def _count_images(self, asked: PendingRequest) -> None:
        """Let go of the images that a request has shown, and count what its sample still holds of them."""
        running, kept_bytes = asked.running, 0
        running.task.learn_image(asked.request)
        for image in asked.request.images():
            image.release()
            kept_bytes += image.held_bytes()
        if asked.waiter is None and not asked.is_of_scorer and kept_bytes > running.held_bytes:
            self._held_bytes += kept_bytes - running.held_bytes
            running.held_bytes = kept_bytes
        self._held_bytes -= asked.weight

    def _end(self, ended: Sequence[EndedSample]) -> None:
        self._n_in_play -= len(ended)
        failed = tokens = 0
        for end in ended:
            running = end.running
            if end.status is not SampleStatus.OK:
                failed += 1
            if end.score is not None:
                self.scores.add(running.task, end.score)
            if end.error is not None and end.error.kind == "permanent":
                self.outcome.model_errors.setdefault(running.task.name, end.error)
            for response in running.responses:
                for output in response.outputs:
                    if output.usage is not None:
                        tokens += output.usage.output_tokens or 0
            if (
                end.status is SampleStatus.OK
                and running.known
                and not running.attempt
                and not running.task.is_changed
                and any(
                    self._lookup.is_missed(key, running.known[key])
                    for key in running.known.keys() - running.used.keys()
                )
            ):
                running.task.n_nondeterministic += 1
            self._held_bytes -= running.held_bytes
            if self.acting is not None:
                self.acting.release(running)
            running.let_go()
        self.outcome.n_failed += failed
        self._progress.advance(len(ended), failed, tokens)

    def _known(self, task: RunningTask, index: int) -> dict[AnswerKey, str]:
        journal: Journal | None = getattr(self._readers, "journal", None)
        if journal is None:
            journal = self._readers.journal = self._open_journal()
        return journal.answers(task.name, index)

    def _known_again(self, running: RunningSample) -> dict[AnswerKey, str]:
        """All answers of a sample, also those that are on their way into the journal."""
        self._recorder.flush()
        return self._known(running.task, running.sample.index)

    def _is_quiet(self) -> bool:
        """Return whether no worker and no tool is busy and no event waits."""
        with self._count_lock:
            is_acting = self.acting is not None and self.acting.is_busy
            return self._n_active == 0 and self._events.is_empty and not is_acting

    def _poke(self, *, is_source_dry: bool) -> None:
        is_quiet = is_source_dry and self._is_quiet()
        # A judge never waits for a fuller batch: its caller may hold the lock that all others wait for. The model
        # does, unless it is asked as a judge now.
        is_judge = bool(self._own_roles) and any(one.role in self._own_roles for one in self._asking)
        self.dispatchers[MODEL_ROLE].poke(is_quiet=is_quiet or is_judge)
        for judge in self._judges:
            judge.poke(is_quiet=True)

    def _asker(self, running: RunningSample) -> SampleRoleClient:
        return SampleRoleClient(
            running,
            self._roles,
            self._door,
            self._guests,
            self._asked,
            self.settings.reader,
            has_panel=self.settings.panel is not None,
        )

    def _asked(self, asked: PendingRequest) -> None:
        with self._count_lock:
            if self._is_closed and asked.waiter is not None:
                asked.waiter.set()
                return
            if asked.running.n_asking == 0:
                self._n_active -= 1
            asked.running.n_asking += 1
            self._events.asked([asked])

    def _submit(self, pool: Pool, function: Callable[[], Event]) -> None:
        """Run a function on a worker; what it returns is reported."""

        def job() -> None:
            event = attempt(function)
            with self._count_lock:
                self._n_active -= 1
            self._events.report(Failed(event.error) if isinstance(event, Raised) else event)

        with self._count_lock:
            self._n_active += 1
        pool.submit(job)
