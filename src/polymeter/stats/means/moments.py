"""Moments for the interval of a mean, from its values or their sums per cluster."""

from __future__ import annotations

import math
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from polymeter.core.records.spread import UNBOUNDED, Bounds, Spread
from polymeter.stats.intervals import LEVEL, normal_quantile, t_quantile
from polymeter.stats.means.clusters import Partition
from polymeter.stats.means.freedom import clustered_freedom

FEWEST_SAMPLES = 20
FEWEST_CLUSTERS = 10
FEWEST_EFFECTIVE_CLUSTERS = 5
FEWEST_OTHERS = 5
"""The fewest values that must differ from the most frequent one if no range is declared."""

_VALUES_AT_ONCE = 1 << 16
_LEAST_DEVIATION = 1e-50
"""Powers of smaller deviations, and of deviations above its inverse, exceed the range of floats."""
_FEWEST_WHERE_SKEWED = 7
"""The fewest clusters, by their share of the variance, for a correction of skewness. With fewer there is no
interval.
"""
_SKEWED = 0.6

# Constants that theory leaves open for clusters of 0s and 1s. They were chosen by `python -m benchmarks.coverage` and
# checked on its held-out scenarios, which were not used for the choice.
_USUAL_CORRELATION = 0.5
"""The intraclass correlation if no failure shows it."""
_TRUST = 0.8
"""The weight of the variance between clusters. The rest is the variance that the correlation implies, which varies
less.
"""
_LEAST_EFFECT = 0.85
"""The least design effect. It is below 1, since the variance of correlations that happen to be negative is cut off."""
_TRIALS_PER_CLUSTER = 1.25
"""The number of independent trials that a cluster counts for if no failure shows it; 1 if its members were all
equal.
"""
_FEWER_TRIALS = 0.4
"""The addition to one trial for each cluster, for few mixed clusters, whose variance is uncertain."""
_LEAST_TRIALS = 0.7
"""The least effective number of values, as a share of their number."""


def mean_spread(data: NDArray[np.float64], clusters: Partition | None = None, bounds: Bounds = UNBOUNDED) -> Spread:
    """Return the moments of the mean of values, shape ``(n,)``.

    The variance is that of Liang and Zeger (1986) with the small-sample correction CR2 of Bell and McCaffrey (2002).
    For a mean, this correction divides the squared sum of a cluster's deviations by ``1 - n_c / n``. The remaining bias
    and the degrees of freedom (Satterthwaite) follow from the intraclass correlation (Imbens and Kolesár 2016), which
    is estimated by one-way analysis of variance (Donner 1986).

    If the range of the values is known, few failures say little about their spread over clusters. The correlation is
    then at least the usual one, and the variance is averaged with the one that this correlation implies. Both count
    less with more clusters that are not all at one bound. The end of the interval far from the values needs this. The
    close end (``seen_trials``), for shares near one end of the range, uses the estimated correlation: if it is high,
    failures come together in one cluster.

    Args:
        data: The values, at least one, all finite.
        clusters: The values that belong together; ``None``: none do.
        bounds: The range of the values.
    """
    n = int(data.size)
    mean = _sum(data) / n
    farthest = _farthest(data, mean)
    if farthest and not _LEAST_DEVIATION < farthest < 1 / _LEAST_DEVIATION:
        return Spread(mean, n, 0.0, bounds=bounds, problem="the values are too large or differ by too little")
    is_clustered = clusters is not None and clusters.count < n
    if clusters is None or not is_clustered:
        sizes, sums = np.broadcast_to(np.float64(1.0), n), data
    else:
        sizes = np.bincount(clusters.codes, minlength=clusters.count).astype(np.float64)
        sums = clusters.sums(data[:, None])[:, 0]
    effective = _effective(sizes)
    trials = min(float(n), _TRIALS_PER_CLUSTER * effective)
    problem = _problem(sizes, data, bounds, is_clustered=is_clustered)
    if sizes.size < 2:
        return Spread(mean, n, 0.0, trials=trials, bounds=bounds, problem=problem)
    # Computed in place for values without clusters: there may be a million of them.
    deviations = sums - sizes * mean if is_clustered else data - mean
    others = 1 - sizes / n if is_clustered else 1 - 1 / n
    terms = np.square(deviations)
    terms /= others
    variance = float(terms.sum()) / n**2
    # Small samples understate the third moment (Joanes and Gill 1998), each cluster by about the cube of the share of
    # the others. The last part is a further correction that the simulation in `benchmarks/coverage.py` requires.
    np.divide(deviations, others, out=terms)
    terms **= 3
    third = float(terms.sum()) / n**3 * (1 + 3 / effective)
    del deviations, terms
    correlation = _intraclass_correlation(data, sums, sizes) if is_clustered else 0.0
    low, high = bounds
    if low is None or high is None or high <= low:
        df, bias = clustered_freedom(sizes, correlation) if is_clustered else (effective - 1, 1.0)
        return Spread(mean, n, variance * bias, third, df, trials, bounds=bounds, problem=problem)
    n_mixed = min(int((sums > sizes * low).sum()), int((sums < sizes * high).sum()))
    is_two_valued = bool(np.isin(data, (low, high)).all())
    most = (mean - low) * (high - mean)
    single = most * n / (n - 1) if is_two_valued else float(np.square(data - mean).sum()) / (n - 1)
    freedom, bias = clustered_freedom(sizes, correlation) if is_clustered else (effective - 1, 1.0)

    def estimated(ignorance: float, freedom: float) -> tuple[float, float]:
        """Return the variance and its degrees of freedom. ``ignorance`` is the weight of the usual correlation."""
        likely = correlation + ignorance * max(_USUAL_CORRELATION - correlation, 0.0) if is_clustered else 0.0
        found = modelled = single / n * _design_effect(sizes, likely)
        if is_clustered:
            trust = _TRUST * (1 - ignorance)
            found = max(trust * bias * variance + (1 - trust) * modelled, _LEAST_EFFECT * single / n)
        if not is_two_valued:
            return found + ignorance * max(most / n * _design_effect(sizes, likely) - found, 0.0), freedom
        # The variance of a single value follows from the mean, so only the effect of clusters is estimated.
        found = found if is_clustered else most / n
        added = found - most / n
        return found, freedom * math.sqrt(found / added) if added > 1e-9 * found else math.inf

    ignorance = (1 + n_mixed) ** (-2.0 if is_two_valued else -1.5)
    # Only mixed clusters show the correlation of 0s and 1s.
    found, df = estimated(ignorance, min(freedom, max(n_mixed, 1)) if is_two_valued else freedom)
    # Clusters cannot be more alike than equal.
    least = min(_LEAST_TRIALS * n, (1 + _FEWER_TRIALS * math.sqrt(ignorance)) * effective, trials)
    seen = 0.0
    if is_clustered and is_two_valued and most > 0:
        seen = max(min(_LEAST_TRIALS * n, effective), _independent(most, *estimated(0.0, freedom)))
    is_continuous = not is_two_valued and 2 * n_mixed >= sizes.size
    return Spread(mean, n, found, third, df, trials, least, seen, bounds, is_continuous, problem)


def _sum(data: NDArray[np.float64]) -> float:
    """Return the exactly rounded sum. A list of all values would need four times their memory."""
    pieces = (data[start : start + _VALUES_AT_ONCE].tolist() for start in range(0, data.size, _VALUES_AT_ONCE))
    return math.fsum(chain.from_iterable(pieces))


def _farthest(data: NDArray[np.float64], mean: float) -> float:
    """Return the greatest deviation from the mean."""
    deviations = data - mean
    return float(np.abs(deviations, out=deviations).max())


def _independent(most: float, variance: float, df: float) -> float:
    """Return the number of independent values, each with the variance ``most``, that give an interval of the same
    length.
    """
    normal = normal_quantile((1 + LEVEL) / 2)
    quantile = t_quantile((1 + LEVEL) / 2, max(df, 1.0)) if math.isfinite(df) else normal
    return most / variance * (normal / quantile) ** 2


def known_bounds(data: NDArray[np.float64], bounds: Bounds) -> Bounds:
    """Return the declared range, or 0 to 1 if none is declared and all values lie there. A range that a value violates
    does not count.
    """
    low, high = bounds
    least, greatest = float(data.min()), float(data.max())
    if (low is not None and least < low) or (high is not None and greatest > high):
        return UNBOUNDED
    if low is None and high is None and least >= 0 and greatest <= 1:
        return 0.0, 1.0
    return bounds


def _problem(sizes: NDArray[np.float64], data: NDArray[np.float64], bounds: Bounds, *, is_clustered: bool) -> str:
    """Return the reason why the interval of a mean cannot be trusted, also as part of a group; empty if it can."""
    if is_clustered and sizes.size < FEWEST_CLUSTERS:
        return f"fewer than {FEWEST_CLUSTERS} clusters"
    if is_clustered and _effective(sizes) < FEWEST_EFFECTIVE_CLUSTERS:
        return "a few clusters hold most samples"
    if data.size < 2:
        return "a single sample"
    if None in bounds or bounds[0] == bounds[1]:
        n_usual = int((data == np.median(data)).sum())
        if n_usual == data.size:
            return "all values are equal and the metric declares no range"
        if data.size - n_usual < FEWEST_OTHERS:
            return f"fewer than {FEWEST_OTHERS} values differ from the others and the metric declares no range"
        if is_clustered and _effective(np.square(sizes)) < _FEWEST_WHERE_SKEWED and abs(_skewness(data)) > _SKEWED:
            return "the values are skewed and a few clusters hold most samples"
    return ""


def _effective(weights: NDArray[np.float64]) -> float:
    """Return the number of equal weights that give a weighted mean the same variance (Kish 1965)."""
    return float(weights.sum()) ** 2 / float(np.square(weights).sum())


def _skewness(data: NDArray[np.float64]) -> float:
    deviations = data - data.mean()
    return float((deviations**3).mean() / np.square(deviations).mean() ** 1.5)


def _intraclass_correlation(data: NDArray[np.float64], sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> float:
    """Estimate the intraclass correlation by one-way analysis of variance, between 0 and 1 (Donner 1986)."""
    n, n_clusters = data.size, sizes.size
    if n == n_clusters:
        return 0.0
    between = float((np.square(sums) / sizes).sum())
    mean_between = (between - float(sums.sum()) ** 2 / n) / (n_clusters - 1)
    mean_within = max(float(np.square(data).sum()) - between, 0.0) / (n - n_clusters)
    size = (n - float(np.square(sizes).sum()) / n) / (n_clusters - 1)
    divisor = mean_between + (size - 1) * mean_within
    return min(max((mean_between - mean_within) / divisor, 0.0), 1.0) if divisor > 0 else 0.0


def _design_effect(sizes: NDArray[np.float64], correlation: float) -> float:
    """Return the variance of the mean of such clusters over that of as many independent values (Kish 1965)."""
    return 1 + (float(np.square(sizes).sum() / sizes.sum()) - 1) * correlation
