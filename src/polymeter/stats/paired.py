"""Comparison of two models on the same samples.

Samples that are hard for one model are hard for the other, so the difference per sample varies less than either score.
Pairing therefore gives precision for free (Miller 2024, *Adding Error Bars to Evals*).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from polymeter.core.records.spread import UNBOUNDED, Bounds, Spread
from polymeter.stats.errors import clustered_standard_error, standard_error
from polymeter.stats.intervals import LEVEL, Interval, normal_quantile, within
from polymeter.stats.means.clusters import Partition
from polymeter.stats.means.mean_intervals import MeanInterval, mean_interval
from polymeter.stats.means.moments import FEWEST_OTHERS, FEWEST_SAMPLES, known_bounds, mean_spread

_FEW = "fewer than two pairs or clusters"


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean of ``first - second`` over the samples that both have a value for.

    Attributes:
        difference: The mean difference; ``None`` without a pair.
        n: Number of pairs.
        stderr: Its standard error, clustered if clusters were given; ``None`` with too few pairs or clusters.
        interval: Its 95 % interval.
        t: The statistic ``difference / stderr``: infinite if every pair differs by the same amount, 0 if no pair
            differs. With clusters, the error has the CR2 correction.
        df: Degrees of freedom: pairs less one, or those of Satterthwaite for clusters.
        p_value: The two-sided p-value of the t-test, for the hypothesis that the true difference is zero.
        correlation: Pearson's correlation between the two models' values; ``None`` if either does not vary.
        ci_method: How the interval was computed: ``tango``, ``score`` or ``hall``.
        no_interval: Why the interval is missing; empty if there is one.
        spread: The moments for the interval of a group that contains this task; ``None`` with fewer than two pairs.
        limit: The greatest possible difference of two values; infinite if their range is unknown.
    """

    difference: float | None
    n: int
    stderr: float | None = None
    interval: Interval | None = None
    t: float | None = None
    df: float | None = None
    p_value: float | None = None
    correlation: float | None = None
    ci_method: str | None = None
    no_interval: str = ""
    spread: Spread | None = field(default=None, repr=False, compare=False)
    limit: float = math.inf


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    bounds: Bounds = UNBOUNDED,
) -> PairedDifference:
    """Compare two models, sample by sample, with a paired t-test.

    The interval of two proportions is Tango's score interval (1998), the inversion of McNemar's test. Any other
    interval is that of a mean. See ``docs/uncertainty.md``.

    Args:
        first: Values of one model, shape ``(n,)``, NaN if unscored.
        second: Values of the other on the same samples in the same order, shape ``(n,)``.
        clusters: The label that each sample shares with others, ``None`` for a sample on its own.
        bounds: The range of the values, if their metric declares one.

    Raises:
        ValueError: if the lists differ in length.
    """
    a, b, partition = pairs_of(first, second, clusters)
    differences = a - b
    if differences.size == 0:
        return PairedDifference(None, 0)
    difference = math.fsum(differences.tolist()) / differences.size
    is_clustered = partition is not None
    stderr = standard_error(differences) if partition is None else clustered_standard_error(differences, partition)
    n = int(differences.size)
    if stderr is None:
        return PairedDifference(difference, n, no_interval=_FEW)
    df, error = float(n - 1), stderr
    if is_clustered:
        moments = mean_spread(differences, partition)
        df, error = moments.df, math.sqrt(moments.variance)
    t = difference / error if error > 0 else math.copysign(math.inf, difference) if difference else 0.0
    spread = difference_spread(a, b, partition)
    low, high = known_bounds(np.concatenate([a, b]), bounds)
    limit = math.inf if low is None or high is None else high - low
    found = _interval(a, b, spread, limit, is_clustered=is_clustered)
    return PairedDifference(
        difference,
        n,
        stderr,
        found.interval,
        t,
        df,
        t_test_p_value(t, df),
        _correlation(a, b),
        found.method,
        found.problem,
        spread,
        limit,
    )


def pairs_of(
    first: Sequence[float], second: Sequence[float], clusters: Sequence[Hashable | None] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], Partition | None]:
    """Return the values of the samples that have one in both lists, and their clusters (``None`` without clusters).

    Raises:
        ValueError: if the lists differ in length.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or (clusters is not None and len(clusters) != len(a)):
        raise ValueError("The lists of values and clusters differ in length, so they cannot be paired.")
    is_pair = ~(np.isnan(a) | np.isnan(b))
    a, b = a[is_pair], b[is_pair]
    if clusters is None:
        return a, b, None
    partition = Partition.of(compress(clusters, is_pair.tolist()))
    return a, b, partition if partition.count < a.size else None


def tango_interval(n: int, only_first: int, only_second: int) -> Interval:
    """Compute the score interval of the difference of two proportions of the same samples (Tango 1998, equation 8).

    Args:
        n: The number of pairs.
        only_first: Pairs in which only the first model succeeds.
        only_second: Pairs in which only the second one does.
    """
    z = normal_quantile((1 + LEVEL) / 2)

    def excess(difference: float) -> float:
        """Return the squared distance from the observed difference in standard errors at this one, less ``z²``."""
        linear = -only_first - only_second + (2 * n - only_first + only_second) * difference
        constant = -only_second * difference * (1 - difference)
        share = (math.sqrt(max(linear**2 - 8 * n * constant, 0.0)) - linear) / (4 * n)
        variance = n * (2 * share + difference * (1 - difference))
        distance = (only_first - only_second - n * difference) ** 2
        return distance - z * z * variance

    observed = (only_first - only_second) / n
    bounds = []
    for end in (-1.0, 1.0):
        inside, outside = observed, end
        for _ in range(60):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if excess(middle) <= 0 else (inside, middle)
        bounds.append(outside)
    return bounds[0], bounds[1]


def difference_spread(first: NDArray[np.float64], second: NDArray[np.float64], partition: Partition | None) -> Spread:
    """Return the moments of the mean difference of paired values, shape ``(n,)`` each, at least one.

    Differences of shares have a range. It decides whether an interval is possible, but says nothing about their spread:
    they hardly ever come near its ends.
    """
    differences = first - second
    spread = mean_spread(differences, partition)
    if _are_shares(first, second):
        spread = replace(spread, problem=mean_spread(differences, partition, (-1.0, 1.0)).problem)
    return spread


def _interval(
    first: NDArray[np.float64], second: NDArray[np.float64], spread: Spread, limit: float, *, is_clustered: bool
) -> MeanInterval:
    differences = first - second
    values = np.concatenate([first, second])
    if not is_clustered and differences.size >= FEWEST_SAMPLES and bool(np.isin(values, (0.0, 1.0)).all()):
        only_first, only_second = int((differences > 0).sum()), int((differences < 0).sum())
        return MeanInterval(tango_interval(differences.size, only_first, only_second), "tango")
    if differences.size >= FEWEST_SAMPLES and int((differences != np.median(differences)).sum()) < FEWEST_OTHERS:
        return MeanInterval(problem=f"fewer than {FEWEST_OTHERS} differences are unlike the others")
    found = mean_interval(spread)
    return found if found.interval is None else replace(found, interval=within(found.interval, (-limit, limit)))


def _are_shares(first: NDArray[np.float64], second: NDArray[np.float64]) -> bool:
    return all(bool(((values >= 0) & (values <= 1)).all()) for values in (first, second))


def t_test_p_value(t: float, df: float) -> float:
    """Return the two-sided p-value of a t statistic."""
    from scipy.special import stdtr

    return min(1.0, 2 * float(stdtr(df, -abs(t))))


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float | None:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])
