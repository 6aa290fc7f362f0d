"""From the values of one mean, or their sums per cluster, to the moments that its interval rests on."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from polymeter.core.spread import UNBOUNDED, Bounds, Spread
from polymeter.stats.clusters import Partition

FEWEST_SAMPLES = 20
FEWEST_CLUSTERS = 10
FEWEST_EFFECTIVE_CLUSTERS = 5
FEWEST_OTHERS = 5
"""Values that must differ from the most frequent one where no range is declared."""


def mean_spread(data: NDArray[np.float64], clusters: Partition | None = None, bounds: Bounds = UNBOUNDED) -> Spread:
    """The moments of the mean of values, shape ``(n,)``.

    The variance is that of Liang and Zeger (1986) with the small-sample correction CR2 of Bell and McCaffrey (2002),
    which for a mean divides the squared sum of a cluster's deviations by ``1 - n_c / n``. What that leaves of the bias,
    and the degrees of freedom (Satterthwaite), follow from the intraclass correlation (Imbens and Kolesár 2016), which
    is estimated by one-way analysis of variance (Donner 1986).

    Where the range of the values is known, few failures say little of how they spread over clusters. There the variance
    is averaged with the one that the intraclass correlation implies, is never below that of independent values, and is
    pulled towards that of values as unlike, or clusters as alike, as the range allows. The pull gets weaker with the
    number of clusters that are not all at one bound.

    Args:
        data: The values, at least one, all finite.
        clusters: Which of them belong together; ``None``: none do.
        bounds: The range of the values.
    """
    n = int(data.size)
    mean = math.fsum(data.tolist()) / n
    is_clustered = clusters is not None and clusters.count < n
    if clusters is None or not is_clustered:
        sizes, sums = np.ones(n), data
    else:
        sizes = np.bincount(clusters.codes, minlength=clusters.count).astype(np.float64)
        sums = clusters.sums(data[:, None])[:, 0]
    effective = n * n / float(np.square(sizes).sum())
    problem = _problem(effective, data, sizes.size, bounds, is_clustered=is_clustered)
    if sizes.size < 2:
        return Spread(mean, n, 0.0, trials=effective, bounds=bounds, problem=problem)
    deviations, shares = sums - sizes * mean, sizes / n
    variance = float((np.square(deviations) / (1 - shares)).sum()) / n**2
    third = float((deviations**3).sum()) / n**3 * _less_biased(effective)
    correlation = _intraclass_correlation(data, sums, sizes) if is_clustered else 0.0
    low, high = bounds
    if low is None or high is None or high <= low:
        df, bias = _satterthwaite(sizes, correlation) if is_clustered else (effective - 1, 1.0)
        return Spread(mean, n, variance * bias, third, df, effective, bounds, problem=problem)
    n_mixed = min(int((sums > sizes * low).sum()), int((sums < sizes * high).sum()))
    is_two_valued = bool(np.isin(data, (low, high)).all())
    most = (mean - low) * (high - mean)
    single = most if is_two_valued else float(np.square(data - mean).sum()) / (n - 1)
    df = effective - 1
    if is_clustered:
        modelled = single / n * _design_effect(sizes, correlation) * (n / (n - 1) if is_two_valued else 1.0)
        variance = max((variance + modelled) / 2, single / n)
    elif is_two_valued:
        variance = single / n
    if is_two_valued:
        # The variance of a single value follows from the mean: only what clusters add to it is estimated, and only
        # mixed clusters tell of it.
        added = variance - single / n
        df = min(df, max(n_mixed, 1)) * (variance / added) ** 2 if added > 1e-12 * variance else math.inf
    alike = most / n * _design_effect(sizes, min(1.0, correlation + 1 / max(n_mixed, 1)))
    pull = (1 + n_mixed) ** (-1.0 if is_two_valued else -1.5)
    variance = (1 - pull) * variance + pull * max(alike, variance)
    is_continuous = not is_two_valued and 2 * n_mixed >= sizes.size
    return Spread(mean, n, variance, third, df, effective, bounds, is_continuous, problem)


def known_bounds(data: NDArray[np.float64], bounds: Bounds) -> Bounds:
    """The declared range; 0 to 1 where none is declared and all values lie there. A range that a value violates is not
    one.
    """
    low, high = bounds
    least, greatest = float(data.min()), float(data.max())
    if (low is not None and least < low) or (high is not None and greatest > high):
        return UNBOUNDED
    if low is None and high is None and least >= 0 and greatest <= 1:
        return 0.0, 1.0
    return bounds


def _problem(
    effective: float, data: NDArray[np.float64], n_clusters: int, bounds: Bounds, *, is_clustered: bool
) -> str:
    """Why the interval of a mean cannot be trusted, also as part of a group; empty if it can."""
    if is_clustered and n_clusters < FEWEST_CLUSTERS:
        return f"fewer than {FEWEST_CLUSTERS} clusters"
    if is_clustered and effective < FEWEST_EFFECTIVE_CLUSTERS:
        return "a few clusters hold most samples"
    if data.size < 2:
        return "a single sample"
    if None in bounds or bounds[0] == bounds[1]:
        n_usual = int((data == np.median(data)).sum())
        if n_usual == data.size:
            return "all values are equal and the metric declares no range"
        if data.size - n_usual < FEWEST_OTHERS:
            return f"fewer than {FEWEST_OTHERS} values differ from the others and the metric declares no range"
    return ""


def _less_biased(n_units: float) -> float:
    """A factor for the third moment, which small samples of skewed values understate (Joanes and Gill 1998); the last
    part of it is what the simulation in ``benchmarks/coverage.py`` asks for beyond their correction.
    """
    if n_units < 3:
        return 1.0
    return n_units**2 / ((n_units - 1) * (n_units - 2)) * (1 + 3 / n_units)


def _intraclass_correlation(data: NDArray[np.float64], sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> float:
    """The intraclass correlation by one-way analysis of variance, between 0 and 1 (Donner 1986)."""
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
    """The variance of the mean of such clusters over that of as many independent values (Kish 1965)."""
    return 1 + (float(np.square(sizes).sum() / sizes.sum()) - 1) * correlation


def _satterthwaite(sizes: NDArray[np.float64], correlation: float) -> tuple[float, float]:
    """Degrees of freedom of the variance with the CR2 correction, and the factor that removes the bias which it has if
    members of a cluster correlate.

    With ``τ`` the variance of a cluster's sum and ``w`` its share of the values, the deviations of two clusters' sums
    have the covariance ``w_c w_d (Σ τ - τ_c / w_c - τ_d / w_d)``, to which ``τ_c`` is added for one and the same
    cluster. The variance is a weighted sum of the squares of these deviations.
    """
    shares = sizes / sizes.sum()
    weights = 1 / (1 - shares)
    own = sizes * (1 + (sizes - 1) * correlation)
    total, ratio = float(own.sum()), own / shares
    squares = weights * np.square(shares)
    sums = [float((squares * ratio**power).sum()) for power in range(3)]
    pairs = total**2 * sums[0] ** 2 + 2 * sums[0] * sums[2] - 4 * total * sums[0] * sums[1] + 2 * sums[1] ** 2
    apart = np.square(shares) * (total - 2 * ratio)
    diagonal = own + apart
    expected = float((weights * diagonal).sum())
    pairs += float((np.square(weights) * (np.square(diagonal) - np.square(apart))).sum())
    return expected**2 / pairs, total / expected
