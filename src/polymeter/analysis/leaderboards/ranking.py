"""The ranks of a leaderboard: each column's models compared pair by pair, and the average over columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polymeter.analysis.comparison.runs import scale_of
from polymeter.analysis.leaderboards.cells import BoardCell, BoardColumn
from polymeter.stats import Gaps, Partition, mean_gaps, paired_gaps, rank_intervals, unpaired_gaps
from polymeter.stats.intervals import Interval
from polymeter.store.reading.values import SampleValues, has_samples, read_values

MOST_PAIRED = 60_000
"""The most scores, in all runs together, for which samples are compared one by one by default."""


@dataclass(frozen=True, slots=True)
class Average:
    """The average over the columns in which all models are ranked. Models that are ranked nowhere do not count.

    Attributes:
        columns: The names of these columns.
        values: The average of each model; ``None`` if it is ranked nowhere. The same holds for intervals and ranks.
        intervals: Its 95 % interval, for independent columns; ``None`` if one of them has none.
        ranks: Its rank interval.
        method: ``paired``, ``unpaired``, or ``mixed`` if columns differ.
    """

    columns: tuple[str, ...]
    values: tuple[float | None, ...]
    intervals: tuple[Interval | None, ...]
    ranks: tuple[tuple[int, int] | None, ...]
    method: str


def rank_column(column: BoardColumn, *, is_paired: bool) -> Gaps | None:
    """Set the rank intervals of the cells of a column.

    Args:
        column: The column.
        is_paired: Whether to compare samples one by one if runs have them.

    Returns:
        The comparisons of the ranked models; ``None`` if the direction of the values is unknown.
    """
    ranked = [cell for _, cell in column.ranked]
    if column.higher_is_better is None or not ranked:
        return None
    gaps = _paired(column, ranked) if is_paired and column.kind == "task" and len(ranked) > 1 else None
    column.method = "unpaired" if gaps is None else "paired"
    if gaps is None:
        sign = 1.0 if column.higher_is_better else -1.0
        ends = [
            None if cell.interval is None else (sign * cell.interval[0], sign * cell.interval[1]) for cell in ranked
        ]
        gaps = unpaired_gaps(
            [sign * _value_of(cell) for cell in ranked],
            [None if own is None else (min(own), max(own)) for own in ends],
            [cell.n for cell in ranked],
        )
    for cell, rank in zip(ranked, rank_intervals(gaps), strict=True):
        cell.rank = rank
    return gaps


def average(columns: Sequence[BoardColumn], gaps: Sequence[Gaps | None], n_models: int) -> Average | None:
    """Return the average over the columns that have a ranked score of every model that is ranked anywhere. Only columns
    on the most common scale count. Return ``None`` for fewer than two columns.
    """
    members = sorted({row for column in columns for row, _ in column.ranked})
    whole = [
        (column, own)
        for column, own in zip(columns, gaps, strict=True)
        if own is not None and column.higher_is_better and len(column.ranked) == len(members)
    ]
    scales = [_scale_key(column) for column, _ in whole]
    chosen = [pair for pair, key in zip(whole, scales, strict=True) if key == max(scales, key=scales.count)]
    if len(chosen) < 2:
        return None
    found = mean_gaps([own for _, own in chosen])
    tables = [[cell for _, cell in column.ranked] for column, _ in chosen]
    by_model = [*zip(*tables, strict=True)]
    values: list[float | None] = [None] * n_models
    intervals: list[Interval | None] = [None] * n_models
    ranks: list[tuple[int, int] | None] = [None] * n_models
    for row, cells, rank in zip(members, by_model, rank_intervals(found), strict=True):
        value = math.fsum(_value_of(cell) for cell in cells) / len(cells)
        values[row] = value
        intervals[row] = _interval_of_mean(value, cells)
        ranks[row] = rank
    methods = {column.method for column, _ in chosen}
    return Average(
        tuple(column.name for column, _ in chosen),
        tuple(values),
        tuple(intervals),
        tuple(ranks),
        methods.pop() if len(methods) == 1 else "mixed",
    )


def n_scores(columns: Sequence[BoardColumn]) -> int:
    """Return the number of scores that a comparison of samples one by one would read."""
    return sum(cell.n for column in columns if column.kind == "task" for _, cell in column.ranked)


def _paired(column: BoardColumn, ranked: Sequence[BoardCell]) -> Gaps | None:
    """Return the comparison by samples, or ``None`` if the score of a run is not the mean of its samples' values, or a
    run has no samples.
    """
    tables: list[SampleValues] = []
    scales = set()
    for cell in ranked:
        if cell.result.get("stderr_method") == "bootstrap" or not has_samples(cell.run.folder, column.name):
            return None
        own = read_values(cell.run.folder, column.name, column.key)
        scale = scale_of(_value_of(cell), own.values)
        if scale is None:
            return None
        if cell.value:  # zero equals zero percent
            scales.add(scale)
        tables.append(own)
    if len(scales) > 1:
        return None
    size = next(iter(scales), 1.0)
    places: dict[str, int] = {}
    clusters: list[str | None] = []
    for own in tables:
        if own.ids != tuple(places):
            for name, cluster in zip(own.ids, own.clusters, strict=True):
                if name not in places:
                    places[name] = len(places)
                    clusters.append(cluster)
    values = np.full((len(tables), len(places)), math.nan)
    for row, own in zip(values, tables, strict=True):
        row[[places[name] for name in own.ids]] = own.values
    partition = Partition.of(clusters) if any(label is not None for label in clusters) else None
    found = paired_gaps(values if column.higher_is_better else -values, partition)
    is_pair = ~np.eye(len(tables), dtype=bool)
    if bool(np.isnan(found.variance[is_pair]).any()):  # two models share too few samples
        return None
    return Gaps(size * found.gap, size**2 * found.variance, found.df, found.p_value)


def _interval_of_mean(value: float, cells: Sequence[BoardCell]) -> Interval | None:
    """Return the interval of a mean of independent scores, from their intervals (Zou and Donner 2008)."""
    below, above = [], []
    for cell in cells:
        if cell.interval is None:
            return None
        below.append((_value_of(cell) - cell.interval[0]) / len(cells))
        above.append((cell.interval[1] - _value_of(cell)) / len(cells))
    return value - math.hypot(*below), value + math.hypot(*above)


def _value_of(cell: BoardCell) -> float:
    assert cell.value is not None  # ranked cells have one
    return cell.value


def _scale_key(column: BoardColumn) -> tuple[object, ...]:
    """Return a key that is equal for columns on one scale: the range of their values, or else their metric."""
    return column.bounds if None not in column.bounds else (column.key[0],)
