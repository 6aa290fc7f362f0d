"""Scores of a run in progress: for each task a sum and a count of its first metric, and nothing else.

The progress display reads them when it draws. It gets no message for each sample.
"""

from __future__ import annotations

from typing import Any

from polymeter.core.records.progress import LiveScore
from polymeter.core.task import MetricKey, Score
from polymeter.run.schedule.running_samples import RunningTask

_NUMBERS = frozenset({float, int, bool})


class LiveScores:
    """The mean of each task's first metric over the samples that have ended in this part of the run.

    One thread adds; any may read.
    """

    def __init__(self) -> None:
        self._by_task: dict[int, _LiveSum | None] = {}
        self._sums: list[_LiveSum] = []

    def add(self, task: RunningTask, score: Score) -> None:
        """Count the score of a sample."""
        try:
            entry = self._by_task[task.number]
        except KeyError:
            entry = self._by_task[task.number] = self._first(task, score)
        if entry is not None:
            value: Any = score.values.get(entry.key)
            if type(value) in _NUMBERS and value == value:  # noqa: PLR0124  (NaN is what differs from itself)
                entry.total += value
                entry.n += 1

    def read(self) -> list[LiveScore]:
        """The means so far, of the tasks that have one, in the order of their first scores."""
        return [LiveScore(entry.task, entry.key[0], entry.total / entry.n, entry.n) for entry in self._sums if entry.n]

    def _first(self, task: RunningTask, score: Score) -> _LiveSum | None:
        key = next((key for key, value in score.values.items() if type(value) in _NUMBERS), None)
        if key is None:  # a metric whose samples have no number has no mean
            return None
        entry = _LiveSum(task.name, key)
        self._sums.append(entry)
        return entry


class _LiveSum:
    __slots__ = ("key", "n", "task", "total")

    def __init__(self, task: str, key: MetricKey) -> None:
        self.task = task
        self.key = key
        self.total = 0.0
        self.n = 0
