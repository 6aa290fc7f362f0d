"""Comparing two models on the same samples.

Samples that are hard for one model are hard for the other, so the difference per sample varies less than either
score: pairing is free precision (Miller 2024, *Adding Error Bars to Evals*).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from polymeter.stats.clusters import Partition
from polymeter.stats.errors import clustered_standard_error, standard_error
from polymeter.stats.intervals import LEVEL, Interval, t_interval


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean of ``first - second`` over the samples that both have a value for.

    Attributes:
        difference: The mean difference; ``None`` without a pair.
        n: Number of pairs.
        stderr: Its standard error, clustered if clusters were given; ``None`` with too few pairs or clusters.
        interval: Its interval by Student's t.
        t: ``difference / stderr``; infinite if every pair differs by the same amount, 0 if no pair differs.
        df: Degrees of freedom: pairs, or clusters, less one.
        p_value: Two-sided, of the hypothesis that the true difference is zero.
        correlation: Pearson's, between the two models' values; ``None`` if either does not vary.
    """

    difference: float | None
    n: int
    stderr: float | None = None
    interval: Interval | None = None
    t: float | None = None
    df: int | None = None
    p_value: float | None = None
    correlation: float | None = None


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    level: float = LEVEL,
) -> PairedDifference:
    """Compare two models, sample by sample, with a paired t-test.

    Args:
        first: Values of one model, shape ``(n,)``, NaN where unscored.
        second: Values of the other on the same samples in the same order, shape ``(n,)``.
        clusters: The label that each sample shares with others, ``None`` for a sample on its own.
        level: Confidence level of the interval.

    Raises:
        ValueError: if the lists differ in length.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or (clusters is not None and len(clusters) != len(a)):
        raise ValueError("The lists of values and clusters differ in length, so they cannot be paired.")
    is_pair = ~(np.isnan(a) | np.isnan(b))
    a, b = a[is_pair], b[is_pair]
    differences = a - b
    if differences.size == 0:
        return PairedDifference(None, 0)
    difference = math.fsum(differences.tolist()) / differences.size
    partition = None
    if clusters is not None:
        partition = Partition.of(compress(clusters, is_pair.tolist()))
    stderr = standard_error(differences) if partition is None else clustered_standard_error(differences, partition)
    if stderr is None:
        return PairedDifference(difference, differences.size)
    df = (differences.size if partition is None else partition.count) - 1
    t = difference / stderr if stderr > 0 else math.copysign(math.inf, difference) if difference else 0.0
    return PairedDifference(
        difference,
        int(differences.size),
        stderr,
        t_interval(difference, stderr, df, level=level),
        t,
        int(df),
        t_test_p_value(t, df),
        _correlation(a, b),
    )


def t_test_p_value(t: float, df: float) -> float:
    """Two-sided p value of a t statistic."""
    from scipy.special import stdtr

    return min(1.0, 2 * float(stdtr(df, -abs(t))))


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float | None:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])
