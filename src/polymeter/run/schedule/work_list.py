"""Inputs and outputs of the scheduler: the samples to run, limits, and the end.

What is run is what no earlier part of the run has settled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from polymeter.core.errors import count
from polymeter.core.request import Error
from polymeter.judge.panel import Panel
from polymeter.run.dispatch.answers import AnswerReader
from polymeter.run.finish.files import FilesOfRun
from polymeter.run.finish.scoring_code import scoring_code
from polymeter.run.schedule.running_samples import PendingRequest, RunningSample, RunningTask
from polymeter.run.schedule.samples.limits import UNLIMITED, SampleLimits
from polymeter.store.journal import Journal

if TYPE_CHECKING:
    from polymeter.run.dispatch.replicas.scoring_crew import ScoringCrew

AnswersElsewhere = Callable[[Sequence[PendingRequest]], Sequence[PendingRequest]]
"""Sets the responses of those requests that are answered in other runs, and returns these."""


@dataclass(frozen=True, slots=True)
class WorkList:
    """The samples of a task to run: ``marks[i]`` is 0 for those. ``answered`` marks samples with earlier answers."""

    task: RunningTask
    completed: bytearray
    answered: bytearray

    @property
    def n_completed(self) -> int:
        """The number of the samples to run that are completed already."""
        return sum(self.completed[self.task.selected.start : self.task.selected.stop])

    @classmethod
    def of_one(cls, task: RunningTask, index: int) -> WorkList:
        """A single sample of a task, as if all others were completed."""
        completed = bytearray(b"\x01") * task.selected.stop
        completed[index] = 0
        return cls(task, completed, bytearray(task.selected.stop))

    def chunks(self) -> Iterator[range]:
        """Stretches of neighbouring samples to run, at most a chunk long; the chunk is read anew each time."""
        index, last = self.task.selected.start, self.task.selected.stop
        while True:
            index = self.completed.find(0, index)
            if index < 0 or index >= last:
                return
            size = self.task.chunk
            stop = self.completed.find(1, index, index + size)
            end = min(stop if stop >= 0 else index + size, last)
            yield range(index, end)
            index = end


class Resumption:
    """Decides which samples of a resumed run are run again: all except those that are settled.

    Args:
        files: The files that scores depend on.
        retry_errors: Whether samples without a score are run again; ``None``: those that failed, but not those that the
            model refused.
        note: Called with the reason why completed samples are run again.

    Attributes:
        n_scored_again: How many samples are run again because other code completed them.
    """

    def __init__(self, files: FilesOfRun, retry_errors: bool | None, note: Callable[[str], None]) -> None:
        self.n_scored_again = 0
        self._files = files
        self._retry_errors = retry_errors
        self._note = note

    def work_lists(self, tasks: Iterable[RunningTask], journal: Journal) -> list[WorkList]:
        """The samples of each task that are to be run."""
        work_lists = [
            WorkList(task, self._settled(task, journal), journal.marks(task.name, "answered", task.selected.stop))
            for task in tasks
        ]
        if self.n_scored_again:
            self._note(
                f"{self.n_scored_again:,} samples that other code of Polymeter completed are run again over their "
                "stored answers, so that all scores are made by one version. The model is asked only where prompts "
                "changed."
            )
        return work_lists

    def _settled(self, task: RunningTask, journal: Journal) -> bytearray:
        """Return the samples of a task that are not run: those that this code completed and whose files are unchanged
        since, and failed ones as ``retry_errors`` decides.
        """
        length, digest = task.selected.stop, task.completion_digest
        settled = journal.marks(task.name, "completed", length, digest, scoring_code())
        n_by_others = sum(journal.marks(task.name, "completed", length, digest)) - sum(settled)
        self.n_scored_again += n_by_others
        task.is_changed = task.is_changed or n_by_others > 0
        for index in self._rest_on_changed_files(task, journal):
            settled[index] = 0
        retry = self._retry_errors
        if retry is not None:
            state = "declined" if retry else "failed"
            for index, is_in_state in enumerate(journal.marks(task.name, state, length)):
                settled[index] = not retry if is_in_state else settled[index]
        return settled

    def _rest_on_changed_files(self, task: RunningTask, journal: Journal) -> Collection[int]:
        """The completed samples of a task that rest on a file that has changed since."""
        changed = {
            index: path
            for index, path in self._files.changed(journal, task.name, task.completion_digest)
            if index in task.selected
        }
        if changed:
            self._note(
                f"Files behind {count(len(changed), 'sample')} of task {task.name!r} changed since they were scored, "
                f"the first of them {next(iter(changed.values()))}. These samples are run again. The model is asked "
                "again only if its input changed."
            )
        return changed


class Acting(Protocol):
    """The way of acts to environments; see ``run.dispatch.acting``."""

    @property
    def is_busy(self) -> bool: ...
    def add(self, asked: Sequence[PendingRequest]) -> None: ...
    def release(self, running: RunningSample, *, keeps_place: bool = False) -> None: ...
    def history(self) -> Mapping[str, Any]: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """The settings of the scheduler.

    Attributes:
        window: Most samples in progress; 0: as many as keep the model busy.
        media_budget_bytes: Most memory for media that has been decoded and not answered.
        max_failed: Stop when more samples than this have failed; ``None``: never.
        workers: Threads for hooks and scoring.
        reader: Reads answers for the tasks.
        panel: The judges, if there are several.
        crew: Scores samples in other processes; ``None``: this one scores all.
        reuse: Answers requests from other runs; ``None``: none are named.
        limits: The user's limits of one sample.
        acting: The way to environments; ``None``: none is opened, and observations come from the journal alone.
    """

    window: int
    media_budget_bytes: int
    max_failed: float | None
    workers: int
    reader: AnswerReader = field(default_factory=AnswerReader)
    panel: Panel | None = None
    crew: ScoringCrew | None = None
    reuse: AnswersElsewhere | None = None
    limits: SampleLimits = UNLIMITED
    acting: Acting | None = None


@dataclass(slots=True)
class WorkOutcome:
    """The outcome of the scheduler. ``model_errors``: by task, the first error of the model that asking again cannot
    fix. ``reason``: the reason why it stopped before all samples were run.
    """

    is_stopped: bool = False
    is_interrupted: bool = False
    reason: str = ""
    n_failed: int = 0
    n_known: int = 0
    model_errors: dict[str, Error] = field(default_factory=dict)
    latency_ms: float = 0.0
