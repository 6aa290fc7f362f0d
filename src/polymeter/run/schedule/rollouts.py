"""Rolling out samples: the worker's side. Advances the generators of tasks and scores what ended.

Everything here runs on worker threads; the scheduler hands over chunks of samples and receives what they ask or how
they ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, ErrorKind, PolymeterError, UnscoredError, boundary
from polymeter.core.guest_context import scoring_sample
from polymeter.core.machine.opened_files import is_own_file, noting
from polymeter.core.names.stable_names import OWN_PROMPT_ROLE
from polymeter.core.request import Error, OwnPrompt, Request, Response
from polymeter.core.task import Rollout, Sample, SampleStatus, Score
from polymeter.core.text.damaged_rows import check_undamaged
from polymeter.guests.door import Door
from polymeter.judge.panel import Panel
from polymeter.run.dispatch.answers import AnswerReader, n_unfinished, stops_of, why_no_choice
from polymeter.run.schedule.lost_verdicts import UnusableAnswer, first_loss
from polymeter.run.schedule.panel import score_by_panel
from polymeter.run.schedule.running_samples import (
    LONGEST_CHUNK_S,
    MODEL_ROLE,
    EndedSample,
    PendingRequest,
    RunningSample,
    RunningTask,
)
from polymeter.store.journal import AnswerKey

if TYPE_CHECKING:
    from polymeter.run.dispatch.replicas.scoring_crew import ScoringCrew

_NO_CHOICE = "Look at the model's precision (dtype) and at its weights; other samples are scored."
_OPEN = nullcontext()
"""The way into a task that is no guest."""


@dataclass(frozen=True, slots=True)
class _Returned:
    """What a rollout that is over returned."""

    value: Any


@dataclass(slots=True)
class ChunkProgress:
    """What a chunk of samples came to: requests to ask, and ends. ``finished`` are those that the crew scores,
    with what their rollouts returned. ``left`` are those not advanced yet: the chunk turned out to be too large or too
    slow to be advanced one after the other, or a model waits for the lock.
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
    """

    def __init__(
        self,
        door: Door,
        make_asker: Any,
        reader: AnswerReader,
        panel: Panel | None = None,
        crew: ScoringCrew | None = None,
    ) -> None:
        self._door = door
        self._reader = reader
        self._panel = panel
        self._crew = crew
        self._make_asker = make_asker

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
        """Score a sample that could not be scored elsewhere.

        Args:
            running: The sample.
            returned: What its rollout returned.
        """
        with self._held(running.task):
            return ChunkProgress(ended=[self._end(running, returned)])

    def replay(self, running: RunningSample, look_up: Callable[[Sequence[PendingRequest]], None]) -> EndedSample:
        """Play and score a sample over answers that are all there.

        Args:
            running: The sample, fresh.
            look_up: Sets the stored answers of what is asked together; where there is none the sample fails.
        """
        progressed = ChunkProgress()
        running.generator = running.task.task.rollout(running.sample)
        self._advance(running, progressed)
        while not progressed.ended:
            look_up(running.waiting)
            for asked in running.waiting:
                missing = Error("score", "The journal does not hold an answer that this sample's score rests on.")
                asked.response = asked.response or Response(error=missing)
            self._advance(running, progressed)
        return progressed.ended[0]

    def score(self, running: RunningSample, rollout: Rollout) -> Score:
        """Score a finished running.

        Raises:
            ScoreError: The task's own code failed.
            UnscoredError: A judge that it asked could not answer, or gave no verdict.
        """
        if self._panel is None:
            return self._score(running, rollout)
        return score_by_panel(running, self._panel, lambda: self._score(running, rollout))

    def _score(self, running: RunningSample, rollout: Rollout) -> Score:
        """Score a finished running, once."""
        task, asker = running.task, self._make_asker(running)
        with (
            noting(running.files, is_own_file),
            self._guarded(task, running.sample.id, "score") if task.task.is_guest else _OPEN,
            scoring_sample(asker),
            task.scoring,
        ):
            if task.may_overlap and task.task.is_guest:
                wall, cpu = time.perf_counter(), time.thread_time()
                score = task.task.score(running.sample, rollout)
                if not running.judge_calls:
                    task.learn_waiting(time.perf_counter() - wall, time.thread_time() - cpu)
            else:
                score = task.task.score(running.sample, rollout)
        task.asks_judges = task.asks_judges or bool(running.judge_calls)
        if running.lost_verdicts:
            raise UnscoredError(_why_unscored(running))
        if running.judge_calls:
            rules = tuple(running.judge_rules.get(number, "") for number in range(len(running.judge_calls)))
            score = replace(score, judge_calls=tuple(running.judge_calls), judge_rules=rules if any(rules) else ())
        if running.scorers or running.n_unfinished:
            score = replace(score, scorers=tuple(running.scorers), n_unfinished=running.n_unfinished)
        return score

    def _advance(self, running: RunningSample, progressed: ChunkProgress) -> None:
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
            if self._crew is not None and self._crew.takes(running):
                progressed.finished.append((running, requests.value))
            else:
                progressed.ended.append(self._end(running, requests.value))
            return
        running.is_single = isinstance(requests, (Request, OwnPrompt))
        role = OWN_PROMPT_ROLE if isinstance(requests, OwnPrompt) else MODEL_ROLE
        try:
            # What is shown is identity, and may not be there; what task code puts in a request may have none.
            with running.task.asking:
                asked_now: tuple[Request | OwnPrompt, ...] = (requests,) if running.is_single else tuple(requests)
                running.waiting = [running.ask(role, request) for request in asked_now]
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
        """What a rollout asks next, or what it ``_Returned``."""
        task = running.task
        sent: Any = None
        if running.waiting:
            answers = self._read(running)
            is_prompt = running.waiting[0].role == OWN_PROMPT_ROLE
            if is_prompt:  # no answer, and the hook goes on under the label of the step that asked for it
                running.steps -= 1
            else:
                running.responses.extend(answers)
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
            self._guarded(task, running.sample.id, step_label(running.steps)) if task.task.is_guest else _OPEN,
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
                running.n_unfinished += n_unfinished(asked.response, rules)
                answers.append(self._reader.read(asked.role, stops_of(asked.request), asked.response, rules))
        return tuple(answers)

    def _end(self, running: RunningSample, returned: Any) -> EndedSample:
        began = time.perf_counter()
        try:
            return self._scored(running, returned)
        finally:
            if self._crew is not None:
                # Questions that several threads of a score ask at a time count several times.
                self._crew.learn(running.task, max(0.0, time.perf_counter() - began - running.asking_s))

    def _scored(self, running: RunningSample, returned: Any) -> EndedSample:
        try:
            no_choice = why_no_choice(running.responses)
            if no_choice:
                raise UnscoredError(no_choice, hint=_NO_CHOICE)
            score = self.score(running, Rollout(tuple(running.responses), returned))
        except UnscoredError as error:
            return EndedSample(
                running, SampleStatus.UNSCORED, error=Error.from_exception(error, "score"), returned=returned
            )
        except PolymeterError as error:
            # Code that goes on after a lost verdict fails for want of it: the judge's failure is the reason.
            status = SampleStatus.UNSCORED if running.lost_verdicts else SampleStatus.ERROR
            kind: ErrorKind = "data" if isinstance(error, DataError) else "score"
            return EndedSample(running, status, error=Error.from_exception(error, kind), returned=returned)
        return EndedSample(running, SampleStatus.OK, score, returned=returned)

    def _held(self, task: RunningTask) -> AbstractContextManager[None]:
        """The lock for the hooks of a chunk, where they run alone in any case."""
        return self._door.held() if task.task.is_guest and not task.overlaps else _OPEN

    def _guarded(self, task: RunningTask, sample: str, hook: str) -> AbstractContextManager[None]:
        if task.task.is_thread_safe or (hook == "score" and task.waits):
            return self._door.hook_beside(task.name, sample, hook)
        return self._door.hook(task.name, sample, hook)


def _undamaged(sample: Sample) -> Sample:
    check_undamaged(sample.doc)
    return sample


def step_label(number: int) -> str:
    """The name of a rollout's step in seeds, counted from 1."""
    return f"running:{number}"


def _why_unscored(running: RunningSample) -> str:
    """Why a sample that lost verdicts has no score."""
    loss = first_loss(running.lost_verdicts)
    why = running.lost_verdicts[loss]
    if isinstance(loss, UnusableAnswer):
        return why
    return f"A judge could not be asked, so this sample has no score. {why}"
