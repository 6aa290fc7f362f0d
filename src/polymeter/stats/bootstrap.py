"""Bootstrap: the spread of an aggregation over resampled values (Efron 1979), or over resampled clusters.

Every draw comes from a generator that the caller seeds. The number of values limits the number of resamples, so that a
run of a million samples finishes. The limit depends on sizes alone, not on time, so the same plan gives the same
results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeter.core.records.spread import UNBOUNDED, Bounds, Spread
from polymeter.stats.additive import Additive
from polymeter.stats.means.clusters import Partition
from polymeter.stats.means.mean_intervals import MeanInterval, bounded_interval, mean_interval
from polymeter.stats.means.moments import FEWEST_CLUSTERS, FEWEST_SAMPLES

_FEWEST = 50
FEWEST_RESAMPLED = 50
"""The fewest samples for an interval of an aggregation that is not a mean."""
_ADDITIVE_BUDGET = 20_000_000
_GENERAL_BUDGET = 5_000_000


def affordable_resamples(resamples: int, n: int, budget: int) -> int:
    """Reduce ``resamples`` so that they use at most ``budget`` values, but not below 50."""
    return min(resamples, max(_FEWEST, budget // max(n, 1)))


def bootstrap_additive(
    aggregate: Additive,
    terms: NDArray[np.float64],
    *,
    generator: np.random.Generator,
    resamples: int = 1000,
    clusters: Partition | None = None,
) -> NDArray[np.float64]:
    """Return replicates of an additive aggregation.

    Args:
        aggregate: The aggregation.
        terms: The terms of each value, shape ``(n, k)``.
        generator: The source of the draws.
        resamples: The number of replicates; reduced for many values.
        clusters: The clusters to resample instead of single values.

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
    """Return replicates of any aggregation, which receives a list of values each time.

    Args:
        aggregate: The aggregation.
        values: Its values, at least two.
        generator: The source of the draws.
        resamples: The number of replicates; reduced for many values.
        clusters: The clusters to resample instead of single values.

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


def bootstrap_error(value: float, replicates: NDArray[np.float64]) -> float | None:
    """Return the standard error from replicates, shape ``(resamples,)``: their standard deviation.

    Returns:
        ``None`` if there are fewer than two replicates, or not all are finite.
    """
    if replicates.size < 2 or not np.isfinite(replicates).all() or not math.isfinite(value):
        return None
    return float(replicates.std(ddof=1))


def bootstrap_interval(
    value: float,
    replicates: NDArray[np.float64],
    n_units: int,
    *,
    bounds: Bounds = UNBOUNDED,
    is_clustered: bool = False,
) -> MeanInterval:
    """Compute the 95 % interval from finite replicates.

    Percentiles of few samples are too close together, and at the end of a scale (all are right) they have no width. The
    interval is therefore computed from the replicates' standard deviation, corrected by ``n / (n - 1)`` for the bias of
    resampling. Between two bounds, it is the score interval of the proportion with the same error; else it is Student's
    interval, lengthened for the replicates' skewness (Hall 1992). ``benchmarks/coverage.py`` compares the methods.

    Args:
        value: The aggregate of the original values.
        replicates: Shape ``(resamples,)``.
        n_units: The number of resampled values or clusters.
        bounds: The range of the aggregate.
        is_clustered: Whether clusters were resampled.
    """
    fewest, units = (FEWEST_CLUSTERS, "clusters") if is_clustered else (FEWEST_RESAMPLED, "samples")
    if n_units < fewest:
        return MeanInterval(problem=f"fewer than {fewest} {units}")
    deviations = replicates - replicates.mean()
    variance = float(np.square(deviations).sum()) / (replicates.size - 1) * n_units / (n_units - 1)
    if variance <= 0:
        return MeanInterval(problem="all resamples have the same value")
    low, high = bounds
    if low is not None and high is not None:
        if not low <= value <= high:
            return MeanInterval(problem="the value lies outside its range")
        return MeanInterval(bounded_interval(value, math.sqrt(variance), n_units - 1, (low, high)), "bootstrap score")
    third = float((deviations**3).mean())
    spread = Spread(value, FEWEST_SAMPLES, variance, third, n_units - 1, n_units, bounds=bounds)
    return replace(mean_interval(spread), method="bootstrap hall")


def _pick(values: Sequence[Any], positions: NDArray[np.intp]) -> list[Any]:
    if positions.size == 1:  # with one position, itemgetter returns the value itself, not a tuple
        return [values[positions[0]]]
    return list(itemgetter(*positions.tolist())(values))
