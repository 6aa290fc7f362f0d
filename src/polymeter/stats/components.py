"""Components of the variance of a mean that is measured under several conditions on the same items."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from polymeter.stats.means.clusters import Partition


@dataclass(frozen=True, slots=True)
class ConditionSpread:
    """The differences between the means of conditions.

    Attributes:
        observed: The standard deviation of these means.
        beyond_sampling: The part of it that the sampling of items, and of answers to them, does not explain: the
            standard deviation of the conditions' true means. 0 if sampling explains all of it.
    """

    observed: float
    beyond_sampling: float


def condition_spread(
    values: Sequence[Sequence[float]], clusters: Sequence[Hashable | None] | None = None
) -> ConditionSpread | None:
    """Estimate how much the means of conditions differ, apart from sampling error.

    The model is ``x[q, k] = m + a[q] + b[k] + e[q, k]`` for item q of Q and condition k of K, each item under each
    condition: a two-way layout of random effects without replication. With the mean squares of its analysis of variance
    the estimate is ``var(b) = (MS_condition - MS_residual) / Q`` and never below 0 (Searle, Casella and McCulloch 1992,
    *Variance Components*, chapter 4; Brennan 2001, *Generalizability Theory*, chapter 3). ``MS_condition / Q`` is
    the variance of the conditions' means. ``MS_residual / Q`` is the part that sampling explains: how hard an item is
    cancels, because all conditions share the items.

    With clusters, residuals of one cluster may depend on each other, so that the sampling part is
    ``C / (C - 1) / (K - 1) * sum over k and c of (sum of residuals of c under k)^2 / Q^2`` for C clusters (Cameron
    and Miller 2015, *A Practitioner's Guide to Cluster-Robust Inference*). With each item alone, this is
    ``MS_residual / Q``.

    Args:
        values: For each item its values, one for each condition, without NaN.
        clusters: The label that each item shares with others; ``None`` for one alone.

    Returns:
        The spread; ``None`` for fewer than two conditions, items or clusters.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or min(table.shape) < 2:
        return None
    n_items, n_conditions = table.shape
    means = table.mean(axis=0)
    residuals = table - table.mean(axis=1, keepdims=True) - means + means.mean()
    partition = Partition.of(clusters if clusters is not None else [None] * n_items)
    if partition.count < 2:
        return None
    observed = float(means.var(ddof=1))
    n = partition.count
    sampling = n / (n - 1) / (n_conditions - 1) * float((partition.sums(residuals) ** 2).sum()) / n_items**2
    return ConditionSpread(math.sqrt(observed), math.sqrt(max(0.0, observed - sampling)))
