"""Confidence intervals and the quantiles they need.

SciPy is slow to import, so it is used only for Student's t with few degrees of freedom, for which no simpler method is
accurate enough.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from polymeter.core.records.spread import Bounds

Interval = tuple[float, float]

LEVEL = 0.95
_SERIES_FROM_DF = 30


def ends_of(interval: Interval | None) -> list[float] | None:
    """Return an interval in the form of a document."""
    return None if interval is None else list(interval)


def normal_quantile(probability: float) -> float:
    """Return a quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(probability)


def t_quantile(probability: float, df: float) -> float:
    """Return a quantile of Student's t distribution.

    From 30 degrees of freedom on, it uses the Cornish-Fisher series around the normal quantile (Abramowitz and Stegun
    1964, 26.7.5; the error is below 1e-6 at the usual levels). Below, it uses SciPy.

    Args:
        probability: Between 0 and 1, exclusive.
        df: Degrees of freedom, positive.
    """
    if df < _SERIES_FROM_DF:
        from scipy.special import stdtrit

        return float(stdtrit(df, probability))
    z = normal_quantile(probability)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / df**power for power, term in enumerate(terms, start=1))


def normal_interval(value: float, stderr: float, *, level: float = LEVEL) -> Interval:
    """Return ``value ± z · stderr``."""
    half = normal_quantile((1 + level) / 2) * stderr
    return value - half, value + half


def t_interval(value: float, stderr: float, df: float, *, level: float = LEVEL) -> Interval:
    """Return ``value ± t · stderr`` with ``df`` degrees of freedom: one less than the number of values, or of
    clusters.
    """
    half = t_quantile((1 + level) / 2, df) * stderr
    return value - half, value + half


def within(interval: Interval, bounds: Bounds) -> Interval:
    """Cut an interval at the ends of a range. The true value is never outside, so no coverage is lost."""
    low, high = bounds
    ends = [end if low is None else max(end, low) for end in interval]
    ends = [end if high is None else min(end, high) for end in ends]
    return ends[0], ends[1]


def wilson_interval(proportion: float, n: float, *, level: float = LEVEL) -> Interval:
    """Return Wilson's score interval for a proportion (Wilson 1927).

    It stays within 0 and 1. It has a width even if all or none succeed, for which the normal interval claims certainty.

    Args:
        proportion: Successes over trials.
        n: Number of trials; for clustered trials, the equivalent number of independent ones.
        level: Confidence level.
    """
    z2 = normal_quantile((1 + level) / 2) ** 2
    centre = (proportion + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (proportion * (1 - proportion) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return max(0.0, min(centre - half, proportion)), min(1.0, max(centre + half, proportion))
