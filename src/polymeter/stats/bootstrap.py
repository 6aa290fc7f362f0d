"""Bootstrap: the spread of an aggregation over resampled values (Efron 1979), or over resampled clusters.

Every draw comes from a generator that the caller seeds. The number of resamples is bounded by the number of values they
touch, so that a run of a million samples finishes. The bound depends on sizes alone, not on time, so the same plan
gives the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeter.stats.additive import Additive
from polymeter.stats.clusters import Partition
from polymeter.stats.intervals import LEVEL, Interval, normal_interval

_FEWEST = 50
_ENOUGH_FOR_PERCENTILES = 500
_ADDITIVE_BUDGET = 20_000_000
_GENERAL_BUDGET = 5_000_000


def affordable_resamples(resamples: int, n: int, budget: int) -> int:
    """``resamples``, reduced so that they touch at most ``budget`` values, but not below 50."""
    return min(resamples, max(_FEWEST, budget // max(n, 1)))


def bootstrap_additive(
    aggregate: Additive,
    terms: NDArray[np.float64],
    *,
    generator: np.random.Generator,
    resamples: int = 1000,
    clusters: Partition | None = None,
) -> NDArray[np.float64]:
    """Replicates of an additive aggregation.

    Args:
        aggregate: The aggregation.
        terms: What each value adds to its totals, shape ``(n, k)``.
        generator: Source of the draws.
        resamples: The number of replicates; reduced for many values.
        clusters: The clusters to resample in place of single values.

    Returns:
        The replicates, shape ``(resamples or fewer,)``.
    """
    units = terms if clusters is None else clusters.sums(terms)
    count = affordable_resamples(resamples, units.size, _ADDITIVE_BUDGET)
    replicates = np.empty(count)
    for i in range(count):
        drawn = generator.integers(len(units), size=len(units))
        replicates[i] = aggregate.value(np.take(units, drawn, axis=0).sum(axis=0).tolist())
    return replicates


def bootstrap(
    aggregate: Callable[[Sequence[Any]], float],
    values: Sequence[Any],
    *,
    generator: np.random.Generator,
    resamples: int = 1000,
    clusters: Partition | None = None,
) -> NDArray[np.float64]:
    """Replicates of any aggregation, which receives a list of values each time.

    Args:
        aggregate: The aggregation.
        values: Its values, at least two.
        generator: Source of the draws.
        resamples: The number of replicates; reduced for many values.
        clusters: The clusters to resample in place of single values.

    Returns:
        The replicates, shape ``(resamples or fewer,)``.
    """
    members = None if clusters is None else clusters.members()
    n_units = len(values) if members is None else len(members)
    count = affordable_resamples(resamples, len(values), _GENERAL_BUDGET)
    replicates = np.empty(count)
    for i in range(count):
        drawn = generator.integers(n_units, size=n_units)
        positions = drawn if members is None else np.concatenate([members[unit] for unit in drawn])
        replicates[i] = aggregate(_pick(values, positions))
    return replicates


def bootstrap_error(
    value: float, replicates: NDArray[np.float64], *, level: float = LEVEL
) -> tuple[float | None, Interval | None]:
    """Standard error and interval from replicates.

    The error is the replicates' standard deviation. From 500 replicates on the interval is read off their percentiles;
    with fewer the tails are too thin for that, and it is ``value ± z · error``.

    Args:
        value: The aggregate of the original values.
        replicates: Shape ``(resamples,)``.
        level: Confidence level of the interval.

    Returns:
        ``(None, None)`` if there are fewer than two replicates, or not all are finite.
    """
    if replicates.size < 2 or not np.isfinite(replicates).all() or not math.isfinite(value):
        return None, None
    error = float(replicates.std(ddof=1))
    if replicates.size < _ENOUGH_FOR_PERCENTILES:
        return error, normal_interval(value, error, level=level)
    low, high = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2])
    return error, (float(low), float(high))


def _pick(values: Sequence[Any], positions: NDArray[np.intp]) -> list[Any]:
    if positions.size == 1:  # with one position, itemgetter gives the value itself, not a tuple
        return [values[positions[0]]]
    return list(itemgetter(*positions.tolist())(values))
