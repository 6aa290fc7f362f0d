"""Code that runs at a scorer: finished samples are replayed over their answers there, and scored.

A scorer opens the run's tasks again from their specs, with the run's settings, and calls their hooks through a door of
its own, seeded as they are in the run. What it gives is text for the journal, so a score is the same wherever it was
made. What it cannot score as the run would, it gives back.

A question to a judge is a request of the run. Where scoring asks one, the scorer gives the question to the run in place
of a score, and the sample is scored again when it is answered: nothing waits here, and nothing is lost with a scorer.

The journal so has one writer and the same bytes, however many processes score, and a run that was killed needs no
scorer to go on.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from contextvars import copy_context
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

from polymeter.core.content import is_image
from polymeter.core.errors import PlanError, PolymeterError, ScoreError, boundary
from polymeter.core.format import OpenContext
from polymeter.core.machine.opened_files import Noted
from polymeter.core.model import ModelTraits
from polymeter.core.options import RunOptions
from polymeter.core.request import Error, OwnPrompt, Request, Response
from polymeter.core.task import SampleStatus, TaskSpec
from polymeter.core.text.codec import jsonable_as_json
from polymeter.guests.door import Door
from polymeter.guests.loading.user_files import import_file
from polymeter.guests.watchdog import Watchdog
from polymeter.judge.panel import Panel
from polymeter.metrics.bounded import end_idle_processes
from polymeter.run.dispatch.answers import AnswerReader
from polymeter.run.dispatch.replicas.hosts import Computed, Work
from polymeter.run.dispatch.replicas.replica import surround
from polymeter.run.dispatch.replicas.wire import packed, unpacked
from polymeter.run.plan.plan import compiled
from polymeter.run.schedule.pool import Pool
from polymeter.run.schedule.recorder import write_returned
from polymeter.run.schedule.role_client import SampleRoleClient
from polymeter.run.schedule.rollouts import RolloutWorker
from polymeter.run.schedule.running_samples import PendingRequest, Question, RunningSample, RunningTask, WrittenEnd
from polymeter.store.wire import write_score


@dataclass(frozen=True, slots=True)
class Finished:
    """A sample whose rollout is over.

    Attributes:
        task: The task's name.
        index: The sample's position in it.
        answers: What it asked, by fingerprint, and was answered, in order.
        verdicts: What its scoring asked other models, and was answered.
    """

    task: str
    index: int
    answers: tuple[tuple[str, Response], ...]
    verdicts: Mapping[Question, Response]


@dataclass(frozen=True, slots=True)
class ScoredSample:
    """The end of a sample that a scorer has scored.

    Attributes:
        status: Its end.
        error: Why it has no score, if it has none.
        written: What is written down of it.
        files: The files that it rests on.
        warnings: What the run's user should know.
    """

    status: SampleStatus
    error: Error | None
    written: WrittenEnd
    files: Noted
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotScoredYet:
    """A sample that is to be scored again when a question of its score is answered. The question is numbered as the run
    would number it.

    Attributes:
        role: The model that is asked.
        request: The question.
        fingerprint: Its fingerprint.
        occurrence: How often the sample asked it before.
        turn: How many questions the sample had asked with it.
        may_show: Whether it may carry media.
        files: The files that the sample has opened until then.
    """

    role: str
    request: Request | OwnPrompt
    fingerprint: str
    occurrence: int
    turn: int
    may_show: bool
    files: Noted


@dataclass(frozen=True, slots=True)
class ScoringSetup:
    """Everything that a scorer is made from, as plain data.

    Attributes:
        tasks: The tasks whose samples it scores.
        traits: What the run's model can do, for which they were compiled.
        roles: The roles that the run fills.
        reader: Reads answers for the tasks.
        panel: Its judges, if there are several.
        context: The settings that they were compiled with.
        options: The run's options.
    """

    tasks: tuple[TaskSpec, ...]
    traits: ModelTraits
    roles: tuple[str, ...]
    reader: AnswerReader
    panel: Panel | None
    context: OpenContext
    options: RunOptions

    def made(self) -> ProcessScorer:
        """The scorer, in this process.

        Raises:
            PlanError: if a file that the run imports cannot be imported here.
        """
        return ProcessScorer(self)

    def places(self) -> Sequence[Path]:
        """The files that it imports. What a task opens is missed when a sample is scored, which the run then does."""
        return self.options.imports


class ProcessScorer:
    """Scores samples in this process, which is not the run's.

    Args:
        setup: What it is made from.

    Raises:
        PlanError: if a file that the run imports cannot be imported here.
    """

    def __init__(self, setup: ScoringSetup) -> None:
        self._setup = setup
        self._specs: Mapping[str, TaskSpec] = {spec.name: spec for spec in setup.tasks}
        self._open: dict[str, RunningTask] = {}
        self._warnings: list[str] = []
        self._watchdog = Watchdog(setup.options.score_timeout_s, self._warnings.append)
        self._door = Door(setup.options.seed, self._watchdog)
        self._nobody = Pool("nobody", 1)
        self._asked: list[NotScoredYet] = []
        self._asking: set[int] = set()
        self._worker = RolloutWorker(self._door, self._asker, setup.reader, setup.panel)
        self._surroundings = ExitStack()
        self._context = copy_context()  # a host may call on any thread
        self._context.run(surround, self._surroundings, setup.context, setup.options)
        for file in setup.options.imports:
            self._context.run(import_file, file)

    def load(self) -> None:
        """Nothing: a task is opened when the first sample of it comes."""

    def prepare(self, work: Work) -> None:
        """Nothing: media is opened by the hooks that use it."""

    def compute(self, work: Work, preparation: None = None) -> Computed:
        """Score samples. Never called concurrently.

        Returns:
            For each of them its end (``ScoredSample``), the requests that it waits for (``NotScoredYet``), or a failed
            response with the reason why the run has to score it.
        """
        finished: Sequence[Finished] = [one for group in work.groups for one in group]
        return Computed(work.lease, [self._context.run(self._scored_or_returned, one) for one in finished])

    def close(self) -> None:
        """Let go of everything."""
        end_idle_processes()
        self._watchdog.close()
        self._context.run(self._surroundings.close)

    def _scored_or_returned(self, finished: Finished) -> ScoredSample | NotScoredYet | Response:
        try:
            with boundary(ScoreError, f"Scoring a sample of task {finished.task!r} in another process"):
                return self._scored(finished)
        except PolymeterError as error:
            return Response.failed(error.without_traceback(), "score")

    def _scored(self, finished: Finished) -> ScoredSample | NotScoredYet:
        """Score a sample, or find out what its score waits for.

        Raises:
            PolymeterError: if only the run itself can score it as it scores others.
        """
        task = self._task(finished.task)
        sample = task.task.samples[finished.index]
        sample = replace(sample, doc=deepcopy(sample.doc))  # a format may hold rows, and a sample may be replayed
        running = RunningSample(task, sample, verdicts=dict(finished.verdicts))
        trail = _Trail(finished.answers)
        self._asked.clear()
        self._asking.clear()
        end = self._worker.replay(running, trail)
        if not trail.is_whole:
            raise ScoreError("replayed, it asks something else")
        if any(running.occurrences.get((role, mark), 0) <= number for role, mark, number in finished.verdicts):
            raise ScoreError("scored again, it asks another model something else")
        if self._asked:
            return self._asked[0]  # what is asked after it may be asked for want of the answer
        if end.error is not None and end.error.kind in ("data", "guest"):
            raise ScoreError(f"something is missing where it was to be scored: {end.error.message}")
        score = None
        if end.score is not None:
            text = write_score(end.score)
            if not text.is_exact:
                raise ScoreError("its score holds values that cannot be written down exactly")
            if any(is_image(value) for value in end.score.log.values()):
                raise ScoreError("its score logs images, of which the run makes previews")
            score = text.body
        written = WrittenEnd(score, jsonable_as_json(running.sample.doc), write_returned(end.returned))
        warnings = tuple(self._warnings)
        del self._warnings[: len(warnings)]
        return ScoredSample(end.status, end.error, written, dict(running.files), warnings)

    def _task(self, name: str) -> RunningTask:
        task = self._open.get(name)
        if task is None:
            spec = self._specs.get(name)
            if spec is None:
                raise PlanError(f"there is no task {name!r} where it was to be scored")
            opened = compiled(spec, self._setup.traits, self._setup.context, self._setup.options)
            task = self._open[name] = RunningTask(opened, 0, range(len(opened.samples)), "")
        return task

    def _asker(self, running: RunningSample) -> SampleRoleClient:
        has_panel = self._setup.panel is not None
        return SampleRoleClient(
            running,
            self._setup.roles,
            self._door,
            self._nobody,
            self._note_question,
            self._setup.reader,
            has_panel=has_panel,
        )

    def _note_question(self, asked: PendingRequest) -> None:
        """Note a question as it is at this moment, and leave the score.

        Code that catches even that gets an empty answer when it asks again, or it might ask forever; what it makes of
        that is not used.

        Raises:
            _AwaitsAnswer: on a thread that asks for the first time in this score.
        """
        request = _as_it_is(asked.for_model) if asked.may_show else asked.for_model
        what = (asked.role, request, asked.fingerprint, asked.occurrence, asked.turn, asked.may_show)
        self._asked.append(NotScoredYet(*what, dict(asked.running.files)))
        thread = threading.get_ident()
        if thread not in self._asking:
            self._asking.add(thread)
            raise _AwaitsAnswer
        asked.response = Response.of_text("")
        asked.waiter.set()  # type: ignore[union-attr]


class _AwaitsAnswer(BaseException):
    """Leaves a score that cannot go on before a question is answered. It is no ``Exception``, so that code which asks
    again after a failure does not do so.
    """


def _nowhere(path: Path) -> bool:
    """No file is sure to be the same when the run shows it."""
    return False


def _as_it_is(request: Request | OwnPrompt) -> Request | OwnPrompt:
    """A question with copies of the media that it shows: authors' code may write to a file, ask about it and remove it
    again, and another machine may have another file there.

    Raises:
        DataError: if media cannot be read.
        ModelError: if something in it cannot be sent to the run.
    """
    data, beside = packed(request, _nowhere)
    copied: Request | OwnPrompt = unpacked(data, [bytes(one) for one in beside])
    return copied


class _Trail:
    """The answers of a sample that is replayed, in the order in which it asked.

    Attributes:
        is_whole: Whether it has asked the same so far, and everything that it had asked.
    """

    def __init__(self, answers: Sequence[tuple[str, Response]]) -> None:
        self._answers = answers
        self._n_taken = 0
        self._is_followed = True

    @property
    def is_whole(self) -> bool:
        return self._is_followed and self._n_taken == len(self._answers)

    def __call__(self, asked: Sequence[PendingRequest]) -> None:
        for one in asked:
            mark, response = self._answers[self._n_taken] if self._n_taken < len(self._answers) else ("", None)
            if response is None or mark != one.fingerprint:
                self._is_followed = False
                return
            one.response = response
            self._n_taken += 1
