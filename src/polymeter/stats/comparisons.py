"""Differences beyond a single list of pairs: those of a group of tasks, and those of two models on different
samples.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polymeter.core.records.spread import UNBOUNDED, Bounds, Spread
from polymeter.stats.intervals import Interval, within
from polymeter.stats.means.clusters import Partition
from polymeter.stats.means.mean_intervals import MeanInterval, sum_interval, zero_p_value
from polymeter.stats.means.moments import FEWEST_OTHERS, known_bounds, mean_spread
from polymeter.stats.paired import t_test_p_value
from polymeter.stats.significance import permutation_test


@dataclass(frozen=True, slots=True)
class MemberDifference:
    """The contribution of one task to the difference of a group.

    Attributes:
        weight: Its weight in the group's score; those of all members add up to 1.
        differences: One for each pair, shape ``(n,)``.
        spread: The moments of their mean.
        partition: Which of them belong together; ``None``: none do.
        limit: The greatest possible difference; infinite if the range of the values is unknown.
    """

    weight: float
    differences: NDArray[np.float64]
    spread: Spread
    partition: Partition | None = None
    limit: float = math.inf


@dataclass(frozen=True, slots=True)
class CombinedDifference:
    """A difference of means, with a test of whether it is more than noise.

    Attributes:
        difference: The first less the second.
        stderr: Its standard error.
        interval: Its 95 % interval.
        ci_method: How the interval was computed.
        no_interval: Why the interval is missing; empty if there is one.
        p_value: The two-sided p-value of the hypothesis that the means are equal.
        p_method: How the p-value was computed.
        effect_size: Cohen's d, if it can be computed.
        false_positive_rate: How often the test finds a difference between equal models, given the pairs that differ;
            ``None`` if unknown.
    """

    difference: float
    stderr: float | None = None
    interval: Interval | None = None
    ci_method: str | None = None
    no_interval: str = ""
    p_value: float | None = None
    p_method: str = ""
    effect_size: float | None = None
    false_positive_rate: float | None = None


def group_difference(members: Sequence[MemberDifference], *, seed: int = 0) -> CombinedDifference:
    """Compute the difference of two models on a group: the weighted mean of the differences on its tasks, which are
    independent.

    The interval is that of a sum of means. The test exchanges the models' values of each sample, or cluster, of every
    task, and adds the exchanged values with their weight in the group's score.

    Args:
        members: The tasks, at least one, and each only once.
        seed: For resampling.
    """
    difference = math.fsum(member.weight * member.spread.mean for member in members)
    members = [_with_least_variance(member) for member in members]
    stderr = math.sqrt(math.fsum(member.weight**2 * member.spread.variance for member in members))
    if sum(int((member.differences != 0).sum()) for member in members) < FEWEST_OTHERS:
        found = MeanInterval(problem=f"fewer than {FEWEST_OTHERS} samples differ")
    else:
        found = sum_interval(tuple((member.weight, member.spread) for member in members))
    bounds = found.interval
    if bounds is not None:
        limit = math.fsum(member.weight * member.limit for member in members)
        bounds = within(bounds, (-limit, limit))
    units = [
        member.weight / member.differences.size * _unit_sums(member.differences, member.partition) for member in members
    ]
    p_value, rate, method = permutation_test(np.concatenate(units), seed=seed)
    if any(member.partition is not None for member in members):
        method = method.replace("permutation", "permutation of clusters", 1)
    return CombinedDifference(
        difference, stderr, bounds, found.method, found.problem, p_value, method, false_positive_rate=rate
    )


def unpaired_difference(
    first: Sequence[float],
    second: Sequence[float],
    *,
    first_clusters: Sequence[Hashable | None] | None = None,
    second_clusters: Sequence[Hashable | None] | None = None,
    bounds: Bounds = UNBOUNDED,
) -> CombinedDifference | None:
    """Compare the means of two models on different samples.

    The interval is that of a difference of two independent means (``polymeter.stats.means.mean_intervals``), and the
    test is its inversion. For shares it is the score test, which keeps its error rate even if few samples fail or one
    side has far fewer samples. With too few samples for an interval, it is Welch's test (1947), with the standard
    errors of clusters if there are any.

    Args:
        first: Values of one model, shape ``(n,)``, all finite.
        second: Values of the other, shape ``(m,)``, all finite.
        first_clusters: The label that each sample of the first shares with others, ``None`` for one on its own.
        second_clusters: The same for the second.
        bounds: The range of the values.

    Returns:
        ``None`` if one of them has no value.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if not a.size or not b.size:
        return None
    pooled = known_bounds(np.concatenate([a, b]), bounds)
    partitions = [None if own is None else Partition.of(own) for own in (first_clusters, second_clusters)]
    one, other = (mean_spread(data, own, pooled) for data, own in zip((a, b), partitions, strict=True))
    found = sum_interval(((1.0, one), (-1.0, other)))
    difference = one.mean - other.mean
    if a.size < 2 or b.size < 2:
        return CombinedDifference(difference, no_interval=found.problem)
    # The standard error does not use the range. Its moments are those of the values alone.
    free, free_other = (mean_spread(data, own) for data, own in zip((a, b), partitions, strict=True))
    p_value, test = zero_p_value(((1.0, one), (-1.0, other))) or (welch_p_value(free, free_other), "Welch's t-test")
    deviation = math.sqrt((np.square(a - a.mean()).sum() + np.square(b - b.mean()).sum()) / max(a.size + b.size - 2, 1))
    return CombinedDifference(
        difference,
        math.sqrt(free.variance + free_other.variance),
        found.interval,
        found.method,
        found.problem,
        p_value,
        test,
        difference / deviation if deviation > 0 else None,
    )


def welch_p_value(first: Spread, second: Spread) -> float:
    """Compute the two-sided p-value of Welch's t-test (1947) of two independent means.

    Args:
        first: The moments of one, from its values alone.
        second: Those of the other.
    """
    difference, variance = first.mean - second.mean, first.variance + second.variance
    spent = sum(part.variance**2 / part.df for part in (first, second) if part.df > 0)
    t = difference / math.sqrt(variance) if variance else math.copysign(math.inf, difference) if difference else 0.0
    return t_test_p_value(t, variance**2 / spent if spent else math.inf)


def _with_least_variance(member: MemberDifference) -> MemberDifference:
    """Give a member of shares its least variance. Models that agree on every sample do not necessarily always agree. So
    the variance is at least that of one sample in which they differ, like adding half a pair to each cell of the table
    (Agresti and Min 2005, *Statistics in Medicine* 24).
    """
    n_units = member.differences.size if member.partition is None else member.partition.count
    if not _are_of_shares(member.differences):
        return member
    return replace(member, spread=replace(member.spread, variance=max(member.spread.variance, 1 / n_units**2)))


def _are_of_shares(differences: NDArray[np.float64]) -> bool:
    return bool((np.abs(differences) <= 1).all())


def _unit_sums(differences: NDArray[np.float64], partition: Partition | None) -> NDArray[np.float64]:
    return differences if partition is None else partition.sums(differences[:, None])[:, 0]
