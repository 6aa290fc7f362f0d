"""Standard errors in closed form. They are ``None`` for too few values, and never NaN."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from polymeter.stats.means.clusters import Partition


def standard_error(values: ArrayLike) -> float | None:
    """Compute the standard error of a mean of independent values.

    It is ``sqrt(Σ (x - x̄)² / (n - 1) / n)``, the central limit theorem's error with Bessel's correction (Miller 2024,
    *Adding Error Bars to Evals*).

    Args:
        values: Shape ``(n,)``.

    Returns:
        The error in the unit of the values, or ``None`` for fewer than two.
    """
    data = np.asarray(values, dtype=np.float64)
    if data.size < 2:
        return None
    return float(data.std(ddof=1) / math.sqrt(data.size))


def clustered_standard_error(values: ArrayLike, clusters: Partition) -> float | None:
    """Compute the standard error of a mean of values that are independent only between clusters.

    It is ``sqrt(G / (G - 1) · Σ_c (Σ_{i in c} (x_i - x̄))²) / n`` for ``G`` clusters (Liang and Zeger 1986, as in
    Miller 2024). The correction is the usual one for few clusters. It makes the error equal to ``standard_error`` if
    every cluster has one member.

    Args:
        values: Shape ``(n,)``.
        clusters: The clusters of the values, in the same order.

    Returns:
        The error in the unit of the values, or ``None`` for fewer than two clusters.
    """
    if clusters.count < 2:
        return None
    data = np.asarray(values, dtype=np.float64)
    residuals = clusters.sums((data - data.mean())[:, None])[:, 0]
    return math.sqrt(clusters.count / (clusters.count - 1) * float(np.square(residuals).sum())) / data.size


def pooled_standard_error(stderrs: Sequence[float], sizes: Sequence[int]) -> float | None:
    """Compute the standard error of the mean over all samples of several groups, from the pooled sample variance.

    It is ``s / sqrt(Σ n_g)`` with ``s² = Σ (n_g - 1) n_g se_g² / (Σ n_g - G)``, the variance within groups, as
    lm-evaluation-harness and lmms-eval print it. It treats the groups as fixed and ignores the spread between them.

    Args:
        stderrs: The standard error of each group's mean.
        sizes: The number of samples of each group.

    Returns:
        The error, or ``None`` if no group has two samples.

    Raises:
        ValueError: if the two lists differ in length.
    """
    freedom = sum(sizes) - len(sizes)
    if freedom <= 0:
        return None
    variance = math.fsum((n - 1) * n * se**2 for se, n in zip(stderrs, sizes, strict=True)) / freedom
    return math.sqrt(variance / sum(sizes))


def weighted_standard_error(stderrs: Sequence[float], weights: Sequence[float]) -> float | None:
    """Compute the standard error of a weighted mean of independent means: ``sqrt(Σ w² se²) / Σ w``.

    Equal weights give the error of a macro average. Weights equal to the sizes give that of the mean over all samples.

    Returns:
        The error, or ``None`` if the weights sum to zero.

    Raises:
        ValueError: if the two lists differ in length.
    """
    total = math.fsum(weights)
    if total <= 0:
        return None
    return math.sqrt(math.fsum((w * se) ** 2 for se, w in zip(stderrs, weights, strict=True))) / total
