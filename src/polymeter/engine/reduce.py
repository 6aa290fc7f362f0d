"""From rows to results: reductions read what the journal holds, in sample order, so that a resumed run and an
uninterrupted one agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from polymeter.core.errors import ScoreError, boundary
from polymeter.core.guest_context import answering_through
from polymeter.core.request import Response
from polymeter.core.role_client import no_role_client
from polymeter.core.task import ReduceContext, Result, SampleStatus, Score, ScoredRow
from polymeter.engine.groups import mark_lost_subsets
from polymeter.engine.running_samples import RunningTask
from polymeter.guests.door import Door
from polymeter.store.journal import Journal, SampleRow
from polymeter.store.media import MediaStore
from polymeter.store.wire import read_response, read_score

Again = Callable[[RunningTask, int, Journal], "Score | None"]
"""Scores a sample again from its stored answers; ``None`` when it has no score any more, which it has written down."""


class Rows:
    """A re-iterable view over a task's ended samples. Holds nothing; every iteration reads the journal again.

    A score that the journal cannot hold exactly, or that was made by an older way of scoring, is computed again from
    the stored answers.
    """

    def __init__(self, task: RunningTask, journal: Journal, media: MediaStore, again: Again) -> None:
        self._task = task
        self._journal = journal
        self._media = media
        self._again = again
        self.subsets: dict[tuple[str, ...], bool] = {}
        """Whether any row of each subset has a score, of the rows that were read."""

    def __iter__(self) -> Iterator[ScoredRow]:
        for row in self._journal.rows(self._task.name):
            if row.index in self._task.selected:
                scored = self._row(row)
                if scored.score is not None:
                    self._task.scorers.update(dict.fromkeys(scored.score.scorers))
                self.subsets[row.subset] = self.subsets.get(row.subset, False) or scored.score is not None
                yield scored

    def _row(self, row: SampleRow) -> ScoredRow:
        score = self._score(row) if row.status is SampleStatus.OK else None
        status = SampleStatus.UNSCORED if row.status is SampleStatus.OK and score is None else row.status
        return ScoredRow(row.id, row.index, row.subset, row.cluster, status, score, lambda: self._responses(row.index))

    def _score(self, row: SampleRow) -> Score | None:
        if row.score is not None and row.score_is_exact and row.score_digest == self._task.task.score_digest:
            return read_score(row.score)
        return self._again(self._task, row.index, self._journal)

    def _responses(self, index: int) -> tuple[Response, ...]:
        return tuple(read_response(body, self._media.load) for body in self._journal.turns(self._task.name, index))


def reduce_task(
    task: RunningTask,
    open_journal: Callable[[], Journal],
    media: MediaStore,
    again: Again,
    door: Door,
    context: ReduceContext,
) -> list[Result]:
    """The results of one task.

    Raises:
        ScoreError: The task's own aggregation failed.
    """
    journal = open_journal()
    try:
        rows = Rows(task, journal, media, again)
        with (
            answering_through(context.role_client or no_role_client),
            boundary(ScoreError, f"Aggregating task {task.name!r}"),
            door.hook(task.name, "", "reduce"),  # a task without code of its own may name a user's aggregation
        ):
            results = list(task.task.reduce(rows, context))
        return mark_lost_subsets(results, rows.subsets)
    finally:
        journal.close()


def finish_task(task: RunningTask, results: list[Result], report_path: Path, door: Door) -> None:
    """Let the task see its written results.

    Raises:
        ScoreError: The task's own code failed.
    """
    with boundary(ScoreError, f"Finishing task {task.name!r}"), door.hook(task.name, "", "finish"):
        task.task.finish(results, report_path)
