"""Intervals of means and of sums of means, from their moments.

The methods are these two. If neither can be trusted, the interval is ``None``, with a reason:

- ``score``: if the range of the values is known. For one mean it is Wilson's interval (1927) for the number of
  independent trials with the same variance (Korn and Graubard 1998; Dean and Pagano 2015). For a sum of means it is the
  score interval for a linear combination of proportions (Martín Andrés, Álvarez Hernández and Herranz Tejedor 2011),
  which is Wilson's for a single one. The bound next to one or two failures is lengthened (Brown, Cai and DasGupta 2001,
  section 4.1.1). For clusters, this bound uses more trials than the other one (``_near_bound``).
- ``hall``: if the range is unknown, the hull of Student's interval and of the interval without skewness by Hall's cubic
  transformation (1992).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymeter.core.records.spread import Bounds, Spread, Terms
from polymeter.stats.intervals import LEVEL, Interval, normal_quantile, t_quantile, wilson_interval
from polymeter.stats.means.moments import FEWEST_SAMPLES

_RARE = 2.0
"""The most failures for which Wilson's bound is too short."""
_RARE_TAIL = 0.085
"""The probability of as many failures or more at the lengthened bound. It keeps the coverage above 0.91 everywhere.
Brown, Cai and DasGupta's 0.05 makes the bound longer than necessary.
"""
_RARE_BOUNDS = {1.0: 0.0888312137066, 2.0: 0.4826876018189}
_MANY_MEMBERS = 4
_FARTHEST = 20.0
"""The multiple of the distance to a 95 % bound beyond which every p-value is 0."""
_SKEWED = 1.5
"""The least skewness of single values that an interval on a known range corrects for."""


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """An interval, or the reason why it is missing.

    Attributes:
        interval: The 95 % interval.
        method: How the interval was computed.
        problem: Why the interval is missing; empty if there is one.
    """

    interval: Interval | None = None
    method: str | None = None
    problem: str = ""


def mean_interval(spread: Spread) -> MeanInterval:
    """Return the interval of one mean."""
    return sum_interval(((1.0, spread),))


def sum_interval(terms: Terms) -> MeanInterval:
    """Return the interval of a sum of independent means.

    Args:
        terms: Means, each with its coefficient. Terms of the same mean are added.
    """
    terms = _merged(terms)
    n = sum(spread.n for _, spread in terms)
    if n < FEWEST_SAMPLES:
        return MeanInterval(problem=f"fewer than {FEWEST_SAMPLES} samples")
    problem = next((spread.problem for _, spread in terms if spread.problem), "")
    if problem:
        return MeanInterval(problem=problem)
    low, high = _range_of(terms)
    quantile = _quantile(terms)
    if low is None or high is None:
        interval, method = _hall(terms, quantile), "hall"
    else:
        interval, method = _score(terms, quantile), "score"
        if len(terms) == 1 and _is_skewed(terms[0][1]):
            skewed = _hall(terms, quantile)
            interval, method = (min(interval[0], skewed[0]), max(interval[1], skewed[1])), "score and hall"
    least = interval[0] if low is None else max(interval[0], low)
    greatest = interval[1] if high is None else min(interval[1], high)
    value = math.fsum(coefficient * spread.mean for coefficient, spread in terms)
    return MeanInterval((min(least, value), max(greatest, value)), method)


def zero_p_value(terms: Terms) -> tuple[float, str] | None:
    """Return the p-value of the hypothesis that a sum of independent means is zero, and the name of the test. The test
    is the inversion of ``sum_interval``, so the two never contradict each other.

    It is 1 minus the level at which the interval begins to contain zero. It is ``None`` if there is no interval.
    """
    terms = _merged(terms)
    found = sum_interval(terms)
    if found.interval is None:
        return None
    value = math.fsum(coefficient * spread.mean for coefficient, spread in terms)
    test = "score test" if found.method == "score" else "t-test, skewness removed"
    if value == 0:
        return 1.0, test
    from scipy.optimize import brentq
    from scipy.special import stdtr

    quantile, is_score = _quantile(terms), found.method == "score"

    def distance(reach: float) -> float:
        """Return the distance of the nearest bound from zero: positive while zero lies outside."""
        low, high = _score(terms, quantile, reach) if is_score else _hall(terms, reach * quantile)
        return low if value > 0 else -high

    if distance(_FARTHEST) > 0:
        return 0.0, test
    reach = brentq(distance, 1e-9, _FARTHEST, xtol=1e-7, rtol=1e-7) if distance(1e-9) > 0 else 0.0
    return min(1.0, 2 * float(stdtr(_freedom(terms), -reach * quantile))), test


def bounded_interval(value: float, stderr: float, df: float, bounds: tuple[float, float]) -> Interval:
    """Return the score interval of any estimate between two bounds, from its standard error."""
    spread = Spread(value, FEWEST_SAMPLES, stderr**2, df=df, bounds=bounds)
    return _score(((1.0, spread),), _quantile(((1.0, spread),)))


def _merged(terms: Terms) -> Terms:
    by_spread: dict[int, tuple[float, Spread]] = {}
    for coefficient, spread in terms:
        before = by_spread.get(id(spread), (0.0, spread))[0]
        by_spread[id(spread)] = before + coefficient, spread
    return tuple((coefficient, spread) for coefficient, spread in by_spread.values() if coefficient != 0)


def _range_of(terms: Terms) -> Bounds:
    ends = []
    for side in (0, 1):
        parts = [
            None if (end := spread.bounds[side if coefficient > 0 else 1 - side]) is None else coefficient * end
            for coefficient, spread in terms
        ]
        ends.append(None if None in parts else math.fsum(part for part in parts if part is not None))
    return ends[0], ends[1]


def _quantile(terms: Terms) -> float:
    """Return the quantile for an interval: Student's, or the normal one."""
    df = _freedom(terms)
    return t_quantile((1 + LEVEL) / 2, df) if math.isfinite(df) else normal_quantile((1 + LEVEL) / 2)


def _freedom(terms: Terms) -> float:
    """Return the degrees of freedom of Satterthwaite (1946) and Welch for a sum of variances; infinite if these are
    known.
    """
    parts = [(coefficient**2 * spread.variance, spread.df) for coefficient, spread in terms]
    total = math.fsum(variance for variance, _ in parts)
    spent = math.fsum(variance**2 / df for variance, df in parts if df > 0)
    if total <= 0 or spent <= 0 or not math.isfinite(total**2 / spent):
        return math.inf
    return max(total**2 / spent, 1.0)


def _is_skewed(spread: Spread) -> bool:
    if not spread.is_continuous or spread.variance == 0:
        return False
    skewness = abs(spread.third) / float(spread.variance**1.5) * math.sqrt(spread.trials)
    return skewness > _SKEWED


def _hall(terms: Terms, quantile: float) -> Interval:
    """Return Student's interval, lengthened if skewness requires it.

    Hall (1992) removes the skewness ``a`` of a mean from its t statistic by ``g(t) = t + a t²/3 + a² t³/27 + a/6``.
    This function has an inverse in closed form.
    """
    value = math.fsum(coefficient * spread.mean for coefficient, spread in terms)
    error = math.sqrt(math.fsum(coefficient**2 * spread.variance for coefficient, spread in terms))
    if error == 0:
        return value, value
    skewness = math.fsum(coefficient**3 * spread.third for coefficient, spread in terms) / error**3
    low, high = (value - error * _untransformed(sign * quantile, skewness) for sign in (1, -1))
    return min(low, value - error * quantile), max(high, value + error * quantile)


def _untransformed(quantile: float, skewness: float) -> float:
    if abs(skewness) < 1e-9:
        return quantile
    return 3 / skewness * (float(np.cbrt(1 + skewness * (quantile - skewness / 6))) - 1)


def _score(terms: Terms, quantile: float, reach: float = 1.0) -> Interval:
    """Return the score interval on the scale of the values, ``reach`` times as many standard errors wide as at 95 %."""
    spreads = [spread for _, spread in terms]
    lows, highs = (np.array([spread.bounds[side] for spread in spreads], dtype=np.float64) for side in (0, 1))
    coefficients = np.array([coefficient for coefficient, _ in terms]) * (highs - lows)
    offset = math.fsum(coefficient * low for (coefficient, _), low in zip(terms, lows.tolist(), strict=True))
    means = np.array([spread.mean for spread in spreads])
    shares = np.clip((means - lows) / (highs - lows), 0.0, 1.0)
    # A share with a negative coefficient is reversed, so that all coefficients are positive.
    is_negative = coefficients < 0
    offset += float(coefficients[is_negative].sum())
    shares, coefficients = np.where(is_negative, 1 - shares, shares), np.abs(coefficients)
    variances = np.array([spread.variance for spread in spreads]) / np.square(highs - lows)
    sizes = np.array([float(spread.n) for spread in spreads])
    if len(spreads) > 1:  # p (1 - p) / n understates the variance by a factor that matters only in long sums
        variances = variances * sizes / np.maximum(sizes - 1, 1)
    worth = np.array([spread.trials for spread in spreads])
    normal = normal_quantile((1 + LEVEL) / 2)
    least = np.array([spread.least_trials for spread in spreads])
    trials = np.maximum(_trials(shares, variances, worth) * (normal / quantile) ** 2, least)
    total = float(coefficients.sum())
    low, high = _score_bounds(shares, trials, coefficients / total, reach)
    if len(spreads) == 1 and (seen := spreads[0].seen_trials):
        share = float(shares[0])
        if share < 0.5:
            low = _near_bound(share, seen)
        elif share > 0.5:
            high = 1 - _near_bound(1 - share, seen)
    return offset + total * low, offset + total * high


def _trials(
    shares: NDArray[np.float64], variances: NDArray[np.float64], fallback: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the number of independent trials with a share of this variance."""
    most = shares * (1 - shares)
    has_spread = (most > 0) & (variances > 0)
    return np.where(has_spread, most / np.where(has_spread, variances, 1.0), fallback)


def _score_bounds(
    shares: NDArray[np.float64], trials: NDArray[np.float64], weights: NDArray[np.float64], reach: float = 1.0
) -> Interval:
    """Return the bounds of ``Σ w p`` for independent shares, all between 0 and 1.

    If the number of trials is divided by the square of ``reach``, the bounds lie ``reach`` times as many standard
    errors away.
    """
    share = float(weights @ shares)
    trials = trials / reach**2
    if shares.size == 1:
        total = float(trials[0])
        low, high = wilson_interval(share, total)
    else:
        spread = float(np.square(weights) @ (shares * (1 - shares) / trials))
        total = share * (1 - share) / spread if spread > 0 else 1 / float(np.square(weights) @ (1 / trials))
        low = _score_bound(shares, trials, weights)
        high = 1 - _score_bound(1 - shares, trials, weights)
        parts = np.square(weights) / trials
        if parts.sum() ** 2 >= _MANY_MEMBERS * np.square(parts).sum():
            # If most of many members are perfect, they stay perfect in the most likely shares at a bound, which then
            # have too little variance. The members together have enough.
            pooled = wilson_interval(share, total)
            low, high = min(pooled[0], low), max(pooled[1], high)
    total *= reach**2
    if 0 < total * share <= _RARE:
        low = min(low, _rare_bound(total * share) / total)
    if 0 < total * (1 - share) <= _RARE:
        high = max(high, 1 - _rare_bound(total * (1 - share)) / total)
    return max(0.0, min(low, share)), min(1.0, max(high, share))


def _score_bound(shares: NDArray[np.float64], trials: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the lower bound of ``Σ w p``: the least value that the data do not contradict.

    For each multiplier, the shares are the most likely ones with the same sum. The bound is the sum that lies 1.96
    standard errors below the observed one, with the standard error at the bound.
    """
    observed = float(weights @ shares)
    if observed <= 0:
        return 0.0
    quantile = normal_quantile((1 + LEVEL) / 2)

    def at(multipliers: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        pulled = multipliers[:, None] * weights
        sums = pulled + trials
        likely = 2 * trials * shares / (sums + np.sqrt(np.maximum(np.square(sums) - 4 * pulled * trials * shares, 0)))
        likely = np.clip(likely, 0.0, 1.0)
        total = likely @ weights
        variance = (likely * (1 - likely) / trials) @ np.square(weights)
        return total, np.square(observed - total) - quantile**2 * variance

    scale = float((trials / weights).max())
    grid = scale * np.geomspace(1e-7, 1e7, 300)
    _, excess = at(grid)
    inside = np.flatnonzero(excess <= 0)
    if not inside.size:
        return observed
    if inside[-1] == grid.size - 1:
        return 0.0
    low, high = float(grid[inside[-1]]), float(grid[inside[-1] + 1])
    for _ in range(4):
        finer = np.linspace(low, high, 40)
        _, excess = at(finer)
        last = int(np.flatnonzero(excess <= 0).max(initial=0))
        low, high = float(finer[last]), float(finer[min(last + 1, finer.size - 1)])
    return float(at(np.array([high]))[0][0])


def _near_bound(share: float, trials: float) -> float:
    """Return the lower bound of a small share: Wilson's, or that of the one-sided mid-p test if it is higher.

    The upper bound uses fewer trials, since few failures say little about the similarity of a cluster's members. If
    even a sample without failures has a probability of 0.05 or more under a share (Hanley and Lippman-Hand 1983), this
    share is therefore never above the upper bound. So the lower bound may miss as often as both bounds together. The
    mid-p test (Lancaster 1961; Berry and Armitage 1995) rejects a true share in 5 % of samples on average.
    """
    low, _ = _score_bounds(np.array([share]), np.array([trials]), np.ones(1))
    highest = min(1 - (1 - LEVEL) ** (1 / trials), share)
    if low >= highest:
        return low
    from scipy.special import betainc

    failures = share * trials
    outside, inside = low, highest
    for _ in range(40):
        middle = (outside + inside) / 2
        more = betainc(failures, trials - failures + 1, middle) + betainc(failures + 1, trials - failures, middle)
        outside, inside = (middle, inside) if more / 2 < 1 - LEVEL else (outside, middle)
    return outside


def _rare_bound(failures: float) -> float:
    known = _RARE_BOUNDS.get(round(failures, 9))
    if known is not None:
        return known
    from scipy.special import gammaincinv

    return float(gammaincinv(failures, _RARE_TAIL))
