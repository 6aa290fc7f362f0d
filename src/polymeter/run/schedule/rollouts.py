"""Rolling out samples: the worker's side. Advances the generators of tasks; what ended is scored by ``scoring``.

Everything here runs on worker threads; the scheduler hands over chunks of samples and receives what they ask or how
they ended.

Samples go through hooks in chunks, because taking the lock costs more than most hooks do. A worker takes it once for
a chunk, and lets go of it between two samples when a model waits for it. How large a chunk is (``RunningTask.learn``)
follows processor time, since wall time holds the waiting for other threads. No result depends on any of this.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polymeter.core.acting.episodes import Act
from polymeter.core.errors import DataError, ErrorKind, PolymeterError, boundary
from polymeter.core.machine.opened_files import is_own_file, noting
from polymeter.core.names.stable_names import ACT_ROLE, OWN_PROMPT_ROLE
from polymeter.core.request import Error, OwnPrompt, Request, Response, Step
from polymeter.core.task import Sample, SampleStatus
from polymeter.core.text.damaged_rows import check_undamaged
from polymeter.guests.door import Door
from polymeter.judge.panel import Panel
from polymeter.run.dispatch.answers import AnswerReader, n_unfinished, stops_of
from polymeter.run.schedule.role_client import SampleRoleClient
from polymeter.run.schedule.running_samples import (
    LONGEST_CHUNK_S,
    MODEL_ROLE,
    EndedSample,
    PendingRequest,
    RunningSample,
    RunningTask,
)
from polymeter.run.schedule.samples.limits import UNLIMITED, SampleLimits
from polymeter.run.schedule.samples.restarting import Restarter, attempt_in
from polymeter.run.schedule.scoring import OPEN, SampleScorer, into_hook
from polymeter.store.journal import AnswerKey

if TYPE_CHECKING:
    from polymeter.run.dispatch.replicas.scoring_crew import ScoringCrew


@dataclass(frozen=True, slots=True)
class _Returned:
    """The result of a rollout that is over."""

    value: Any


@dataclass(slots=True)
class ChunkProgress:
    """The outcome of a chunk of samples: requests to ask, and ends. ``finished`` are those that the crew scores, with
    the results of their rollouts. ``left`` are those not advanced yet: the chunk was too large or too slow to be
    advanced one after the other, or a model waits for the lock.
    """

    asked: list[PendingRequest] = field(default_factory=list)
    ended: list[EndedSample] = field(default_factory=list)
    finished: list[tuple[RunningSample, Any]] = field(default_factory=list)
    left: Sequence[RunningSample] = ()


class RolloutWorker:
    """Advances samples.

    Args:
        door: The run's way into guests.
        make_asker: Gives a sample its RoleClient.
        reader: Reads the model's answers for the tasks.
        panel: The judges, if there are several.
        crew: Scores samples in other processes; ``None``: this one scores all.
        limits: The user's limits of a sample.
        restarter: Prepares samples that start anew; ``None``: no environment is open.
    """

    def __init__(
        self,
        door: Door,
        make_asker: Callable[[RunningSample], SampleRoleClient],
        reader: AnswerReader,
        panel: Panel | None = None,
        crew: ScoringCrew | None = None,
        *,
        limits: SampleLimits = UNLIMITED,
        restarter: Restarter | None = None,
    ) -> None:
        self._door = door
        self._reader = reader
        self._crew = crew
        self._limits = limits
        self._restarter = restarter
        self._scorer = SampleScorer(door, make_asker, panel, crew)

    def begin(self, task: RunningTask, indices: range, known: Sequence[dict[AnswerKey, str]] | None) -> ChunkProgress:
        """Start samples and take what they ask first. A row that cannot be read fails alone.

        Args:
            task: Their task.
            indices: Which samples.
            known: For each, the answers that an earlier part of the run has.
        """
        progressed = ChunkProgress()
        running_samples = [RunningSample(task, sample) for sample in self._samples(task, indices, progressed)]
        if known is not None:
            for running in running_samples:
                running.known = known[running.sample.index - indices.start]
                running.attempt = attempt_in(running.known)
        for running in running_samples:
            running.generator = task.task.rollout(running.sample)
        return self.advance(running_samples, progressed)

    def _samples(self, task: RunningTask, indices: range, progressed: ChunkProgress) -> Sequence[Sample]:
        reading = f"Reading the data of task {task.name!r}"
        try:
            with boundary(DataError, reading):
                return [_undamaged(sample) for sample in task.task.samples[indices.start : indices.stop]]
        except PolymeterError:
            samples = []
            for index in indices:
                try:
                    with boundary(DataError, reading):
                        samples.append(_undamaged(task.task.samples[index]))
                except PolymeterError as error:
                    unread = RunningSample(task, Sample(task.name, str(index), index, {}))
                    progressed.ended.append(
                        EndedSample(unread, SampleStatus.ERROR, error=Error.from_exception(error, "data"))
                    )
            return samples

    def advance(
        self, running_samples: Sequence[RunningSample], progressed: ChunkProgress | None = None
    ) -> ChunkProgress:
        """Send samples what they wait for; take what they ask next, or score them."""
        progressed = progressed or ChunkProgress()
        if not running_samples:
            return progressed
        task, n_advanced = running_samples[0].task, 0
        with self._held(task):  # once for all, and what it takes to get in is nobody's time
            started, started_cpu = time.perf_counter(), time.thread_time()
            for running in running_samples:
                self._advance(running, progressed)
                n_advanced += 1
                took_s = time.perf_counter() - started
                if task.asks_judges or took_s > LONGEST_CHUNK_S or self._door.is_wanted:
                    progressed.left = running_samples[n_advanced:]
                    break
            task.learn(n_advanced, took_s, time.thread_time() - started_cpu)
        return progressed

    def score_here(self, running: RunningSample, returned: Any) -> ChunkProgress:
        """Score a sample that came back from the crew unscored.

        Args:
            running: The sample.
            returned: What its rollout returned.
        """
        with self._held(running.task):
            return ChunkProgress(ended=[self._scorer.end(running, returned)])

    def replay(self, running: RunningSample, look_up: Callable[[Sequence[PendingRequest]], None]) -> EndedSample:
        """Roll out and score a sample over answers that are all there.

        Args:
            running: The sample, fresh.
            look_up: Sets the stored answers of what is asked together; where there is none the sample fails.
        """
        progressed = ChunkProgress()
        running.attempt = attempt_in(running.known)
        running.generator = running.task.task.rollout(running.sample)
        self._advance(running, progressed)
        while not progressed.ended:
            look_up(running.waiting)
            for asked in running.waiting:
                missing = Error("score", "An answer that this sample's score needs is missing from the journal.")
                asked.response = asked.response or Response(error=missing)
            self._advance(running, progressed)
        return progressed.ended[0]

    def _advance(self, running: RunningSample, progressed: ChunkProgress) -> None:
        if self._restarter is not None and any(one.has_diverged for one in running.waiting):
            self._restarter(running)
        for one in running.waiting:
            if one.response is not None and one.response.error is not None:
                running.generator.close()
                error = one.response.error
                status = SampleStatus.REFUSED if error.kind == "refused" else SampleStatus.ERROR
                status = SampleStatus.UNSCORED if one.unreadable else status
                progressed.ended.append(EndedSample(running, status, error=error))
                return
        try:
            requests = self._next(running)
        except PolymeterError as error:
            kind: ErrorKind = "data" if isinstance(error, DataError) else "guest"
            progressed.ended.append(EndedSample(running, SampleStatus.ERROR, error=Error.from_exception(error, kind)))
            return
        if isinstance(requests, _Returned):
            if self._crew is not None and not running.episodes and self._crew.takes(running):
                progressed.finished.append((running, requests.value))
            else:
                progressed.ended.append(self._scorer.end(running, requests.value))
            return
        over = self._limits.reached(running)
        if over is not None:
            running.generator.close()
            progressed.ended.append(EndedSample(running, SampleStatus.TRUNCATED, error=over))
            return
        running.is_single = isinstance(requests, (Request, OwnPrompt, Act))
        try:
            # What is shown is identity, and may not be there; what task code puts in a request may have none.
            with running.task.asking:
                asked_now: tuple[Step, ...] = (requests,) if running.is_single else tuple(requests)
                running.waiting = [running.ask(_role_of(request), request) for request in asked_now]
        except PolymeterError as error:
            running.generator.close()
            progressed.ended.append(EndedSample(running, SampleStatus.ERROR, error=Error.from_exception(error, "data")))
            return
        running.n_waiting = len(running.waiting)
        if running.waiting:
            progressed.asked.extend(running.waiting)
        else:
            self._advance(running, progressed)

    def _next(self, running: RunningSample) -> Any:
        """Return the next requests of a rollout, or its ``_Returned``."""
        task = running.task
        sent: Any = None
        if running.waiting:
            answers = self._read(running)
            is_prompt = running.waiting[0].role == OWN_PROMPT_ROLE
            if is_prompt:  # no answer, and the hook continues under the label of the step that asked for it
                running.steps -= 1
            else:
                running.responses.extend(
                    answer
                    for asked, answer in zip(running.waiting, answers, strict=True)
                    if not isinstance(asked.request, Act)
                )
            if self._crew is not None:
                running.trail.extend(
                    (asked.fingerprint, asked.response) for asked in running.waiting if asked.response is not None
                )
            sent = answers[0] if running.is_single else answers
        elif running.steps:
            sent = ()
        running.steps += 1
        with (
            noting(running.files, is_own_file),
            into_hook(self._door, running, step_label(running.steps)),
            task.playing,
        ):
            try:
                return running.generator.send(sent)
            except StopIteration as stop:
                # The value alone: an exception that a local variable holds makes a cycle with the frame of its own
                # traceback, which keeps the sample and its images in memory until a full collection.
                return _Returned(stop.value)

    def _read(self, running: RunningSample) -> tuple[Response, ...]:
        """The answers that a sample waited for, as its task gets them."""
        rules = running.task.task.reading
        answers = []
        for asked in running.waiting:
            if asked.response is not None:
                self._limits.count(running, asked)
                if isinstance(asked.request, Act):
                    running.observed(asked)
                    answers.append(asked.response)
                    continue
                running.n_unfinished += n_unfinished(asked.response, rules)
                answers.append(self._reader.read(asked.role, stops_of(asked.request), asked.response, rules))
        return tuple(answers)

    def _held(self, task: RunningTask) -> AbstractContextManager[None]:
        """The lock for the hooks of a chunk, where they run alone in any case."""
        return self._door.held() if task.task.is_guest and not task.overlaps else OPEN


def _role_of(request: Step) -> str:
    if isinstance(request, Act):
        return f"{ACT_ROLE}{request.environment}"
    return OWN_PROMPT_ROLE if isinstance(request, OwnPrompt) else MODEL_ROLE


def _undamaged(sample: Sample) -> Sample:
    check_undamaged(sample.doc)
    return sample


def step_label(number: int) -> str:
    """The name of a rollout's step in seeds, counted from 1."""
    return f"running:{number}"
