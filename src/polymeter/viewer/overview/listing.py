"""The list of runs: the selected runs in order and in groups. The checkpoints of one training run are one row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from polymeter.report.formatting import duration
from polymeter.viewer.overview.in_short import ScoreInShort
from polymeter.viewer.shelf import RunInShort

GROUPS = {"": "none", "folder": "folder", "model": "model"}
DEFAULT_SORT = "-started"
TOP = "top folder"
SPARK_PX = (160, 22)


@dataclass(frozen=True, slots=True)
class SortColumn:
    """A column by which runs are sorted.

    Attributes:
        name: Its name in links.
        title: Its heading.
        key: The value of a row; ``None``: unknown, which is last in either direction.
        is_descending: True if its first use begins with the greatest.
    """

    name: str
    title: str
    key: Callable[[RunRow], Any]
    is_descending: bool = False


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in the list.

    Attributes:
        run: The run.
        score: The score that is shown.
        n_more: The number of its further scores.
    """

    run: RunInShort
    score: ScoreInShort | None
    n_more: int = 0

    @property
    def last(self) -> RunRow:
        """The row by which it is sorted: itself."""
        return self

    @property
    def took(self) -> str:
        """The duration."""
        return "–" if self.run.seconds is None else duration(self.run.seconds)


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """The checkpoints of one training run.

    Attributes:
        name: Their folder.
        rows: Their runs by step.
    """

    name: str
    rows: tuple[RunRow, ...]

    @property
    def last(self) -> RunRow:
        """The row of the last step, by which the series is sorted."""
        return self.rows[-1]

    @property
    def spark(self) -> Spark | None:
        """The first metric over the steps; ``None`` if fewer than two steps have it."""
        shown = self.last.score
        points = [
            (row.run.step or 0, row.score)
            for row in self.rows
            if row.score is not None and shown is not None and row.score.metric == shown.metric
        ]
        return _spark(points) if len(points) > 1 else None


@dataclass(frozen=True, slots=True)
class Spark:
    """A curve in pixels: the points of its line, those of the band of its intervals, its last point, and its text."""

    line: str
    band: str
    x: float
    y: float
    label: str


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Rows with one folder or model; the title is empty if rows are not grouped."""

    title: str
    rows: tuple[RunRow | SeriesRow, ...]

    @property
    def n_runs(self) -> int:
        """The number of its runs, checkpoints included."""
        return sum(len(row.rows) if isinstance(row, SeriesRow) else 1 for row in self.rows)


COLUMNS = (
    SortColumn("run", "Run", lambda row: row.run.name.casefold()),
    SortColumn("model", "Model", lambda row: row.run.model.casefold() or None),
    SortColumn("task", "Task", lambda row: _task(row).casefold() or None),
    SortColumn("value", "Value", lambda row: row.score and row.score.number, is_descending=True),
    SortColumn("n", "n", lambda row: row.run.n_scored or None, is_descending=True),
    SortColumn("duration", "Duration", lambda row: row.run.seconds, is_descending=True),
    SortColumn("usage", "Tokens", lambda row: row.run.usage.cost or row.run.usage.tokens, is_descending=True),
    SortColumn("started", "Started", lambda row: row.run.started or None, is_descending=True),
)


def rows_of(runs: Iterable[RunInShort], task: str) -> list[RunRow | SeriesRow]:
    """The rows of some runs: one for each run, and one for all checkpoints of a training run.

    Args:
        runs: The runs.
        task: The task whose score is shown; empty: the first of each run.
    """
    rows: list[RunRow | SeriesRow] = []
    series: dict[str, list[RunRow]] = {}
    for run in runs:
        scores = [score for score in run.scores if task in ("", score.name)]
        row = RunRow(run, scores[0] if scores else None, max(len(run.tasks) - 1, 0) if not task else 0)
        if run.step is None:
            rows.append(row)
        else:
            series.setdefault(run.place, []).append(row)
    for name, own in series.items():
        if len(own) == 1:
            rows += own
        else:
            rows.append(SeriesRow(name, tuple(sorted(own, key=lambda row: row.run.step or 0))))
    return rows


def in_order(rows: Sequence[RunRow | SeriesRow], sort: str) -> list[RunRow | SeriesRow]:
    """The rows sorted by a column; a name with ``-`` before it: the greatest first. Unknown values are last."""
    column = column_of(sort)
    named = sorted(rows, key=lambda row: row.last.run.name)
    known = [row for row in named if column.key(row.last) is not None]
    unknown = [row for row in named if column.key(row.last) is None]
    known.sort(key=lambda row: column.key(row.last), reverse=sort.startswith("-"))
    return [*known, *unknown]


def column_of(sort: str) -> SortColumn:
    """The column that a ``sort`` of a link names; the default for names that are unknown."""
    name = sort.removeprefix("-")
    return next((column for column in COLUMNS if column.name == name), COLUMNS[-1])


def next_sort(column: SortColumn, sort: str) -> str:
    """The ``sort`` of a column's heading: the other direction if the rows are sorted by it, else its first one."""
    is_own = column_of(sort) is column
    is_descending = not sort.startswith("-") if is_own else column.is_descending
    return f"-{column.name}" if is_descending else column.name


def gathered(rows: Sequence[RunRow | SeriesRow], group: str) -> list[RunRow | SeriesRow]:
    """The rows with those of one group together, in the order of the first row of each group."""
    first: dict[str, int] = {}
    for place, row in enumerate(rows):
        first.setdefault(_title(row, group), place)
    return sorted(rows, key=lambda row: first[_title(row, group)])


def groups_of(rows: Sequence[RunRow | SeriesRow], group: str) -> Iterator[RunGroup]:
    """The groups of rows that ``gathered`` has put together."""
    for title, own in groupby(rows, key=lambda row: _title(row, group)):
        yield RunGroup(title, tuple(own))


def _title(row: RunRow | SeriesRow, group: str) -> str:
    if group == "folder":
        return (row.name.rpartition("/")[0] if isinstance(row, SeriesRow) else row.run.place) or TOP
    return row.last.run.model or "unknown model" if group == "model" else ""


def _task(row: RunRow) -> str:
    return row.score.title if row.score is not None else next(iter(row.run.tasks), "")


def _spark(points: Sequence[tuple[int, ScoreInShort]]) -> Spark:
    """The curve over the range of its intervals, so that its noise shows beside its rise."""
    width, height = SPARK_PX
    steps = [step for step, _ in points]
    ends = [score.interval or (score.number, score.number) for _, score in points]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    wide, tall = (steps[-1] - steps[0]) or 1, (high - low) or 1.0

    def at(step: int, value: float) -> tuple[float, float]:
        return round(3 + (step - steps[0]) / wide * (width - 6), 1), round(
            height - 3 - (value - low) / tall * (height - 6), 1
        )

    line = [at(step, score.number) for step, score in points]
    tops = [at(step, end[1]) for step, end in zip(steps, ends, strict=True)]
    bottoms = [at(step, end[0]) for step, end in zip(steps, ends, strict=True)]
    first, last = points[0], points[-1]
    best = max(points, key=lambda point: point[1].number)
    label = (
        f"{first[1].metric}: {first[1].value} at step {first[0]:,}, {last[1].value} at step {last[0]:,}, "
        f"highest {best[1].value} at step {best[0]:,}"
    )
    return Spark(_path(line), _path([*tops, *reversed(bottoms)]), *line[-1], label)


def _path(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)
