"""Rank intervals: the possible places of each of several models in a ranking, given the data.

A bare rank claims that every difference is real. The rank interval of a model is
``[1 + the number of models shown to be better, n - the number of models shown to be worse]``. A difference counts as
shown if its one-sided test survives Holm's procedure over all ordered pairs. With probability 0.95 or more, all
intervals contain the true ranks at the same time (Mogstad, Romano, Shaikh and Wilhelm 2024, *Review of Economic
Studies* 91, "Inference for Ranks with Applications to Mobility across Neighbourhoods and Academic Achievement across
Countries", section 3: simultaneous confidence sets from tests of all pairs that control the familywise error rate; Holm
1979). Models that are equally good share the better rank.

Matrices compare all pairs at once, and exactly for right and wrong values, so two hundred runs take a second. If too
many samples would have to be read, ``unpaired_gaps`` is used instead, with a note beside the ranks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymeter.stats.intervals import LEVEL, normal_quantile
from polymeter.stats.means.clusters import Partition
from polymeter.stats.means.moments import FEWEST_CLUSTERS, FEWEST_SAMPLES

Matrix = NDArray[np.float64]
_ENOUGH = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Gaps:
    """The lead of each model over each other one, and its certainty; all of shape ``(models, models)``.

    Attributes:
        gap: The value of the row's model minus that of the column's.
        variance: The variance of the gap, for the test that the row's model is ahead.
        df: Degrees of freedom of that variance.
        p_value: The one-sided p-value of the hypothesis that the row's model is not ahead; NaN: no test.
    """

    gap: Matrix
    variance: Matrix
    df: Matrix
    p_value: Matrix


def unpaired_gaps(values: Sequence[float], intervals: Sequence[tuple[float, float] | None], n: Sequence[int]) -> Gaps:
    """Compare the means of models from their intervals alone, as if no two shared a sample.

    The variance of a gap is recovered from the distances to the ends of the intervals that face each other (Newcombe
    1998, *Statistics in Medicine* 17, method 10; Zou and Donner 2008, *Statistics in Medicine* 27), so it is as
    reliable as they are for values near 0 and 1, clusters and few samples. For models that share samples and find the
    same ones hard, it understates the certainty.

    Args:
        values: The value of each model, shape ``(models,)``.
        intervals: Its 95 % interval; ``None``: it is missing, and the model is not compared.
        n: The number of samples behind the value.
    """
    value = np.asarray(values, dtype=np.float64)
    low = np.array([math.nan if own is None else own[0] for own in intervals], dtype=np.float64)
    high = np.array([math.nan if own is None else own[1] for own in intervals], dtype=np.float64)
    z = normal_quantile((1 + LEVEL) / 2)
    below, above = np.square((value - low) / z), np.square((high - value) / z)
    variance = below[:, None] + above[None, :]
    df = np.maximum(np.asarray(n, dtype=np.float64) - 1, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        joint = np.square(variance) / (
            np.square(below)[:, None] / df[:, None] + np.square(above)[None, :] / df[None, :]
        )
    return _tested(value[:, None] - value[None, :], variance, joint)


def paired_gaps(values: Matrix, partition: Partition | None = None) -> Gaps:
    """Compare models sample by sample, each pair over the samples that both have a value for.

    Right and wrong values are compared by McNemar's exact test (1947). All other values, and all samples in clusters,
    are compared by the t-test of differences. Its p-value is never below the smallest possible one of the permutation
    test.

    Args:
        values: One row for each model, shape ``(models, n)``, NaN if unscored.
        partition: The samples that belong together; ``None``: none do.
    """
    from scipy.special import bdtrc

    is_clustered = partition is not None and partition.count < values.shape[1]
    if is_clustered:
        assert partition is not None
        order = np.argsort(partition.codes, kind="stable")
        values, codes = values[:, order], partition.codes[order]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
    is_share = bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())
    least = FEWEST_CLUSTERS if is_clustered else FEWEST_SAMPLES
    shape = (values.shape[0], values.shape[0])
    gap, variance, df, fewest = (np.full(shape, math.nan) for _ in range(4))
    exact = np.full(shape, math.nan)
    for place, own in enumerate(values):
        differences = own - values
        is_pair = ~np.isnan(differences)
        differences[~is_pair] = 0.0
        n = is_pair.sum(axis=1).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            gap[place] = differences.sum(axis=1) / n
            units, n_units = np.where(is_pair, differences - gap[place][:, None], 0.0), n
            seen = differences
            if is_clustered:
                units, seen = (np.add.reduceat(table, starts, axis=1) for table in (units, differences))
                n_units = (np.add.reduceat(is_pair, starts, axis=1) > 0).sum(axis=1).astype(np.float64)
            variance[place] = np.square(units).sum(axis=1) * n_units / np.maximum(n_units - 1, 1) / np.square(n)
        if is_share:
            # Models with equal scores on all samples are not necessarily always equal (Agresti and Min 2005).
            variance[place] = np.maximum(variance[place], 1 / np.square(np.maximum(n_units, 1)))
        df[place] = np.maximum(n_units - 1, 1)
        n_ahead, n_behind = (seen > _ENOUGH).sum(axis=1), (seen < -_ENOUGH).sum(axis=1)
        fewest[place] = np.exp2(-(n_ahead + n_behind).astype(np.float64))
        exact[place] = np.where(n_ahead > 0, bdtrc(n_ahead - 1.0, n_ahead + n_behind, 0.5), 1.0)
        variance[place, n_units < least] = math.nan
    found = _tested(gap, variance, df)
    p_value = exact if is_share and not is_clustered else np.maximum(found.p_value, fewest)
    return Gaps(gap, variance, df, np.where(np.isnan(variance), math.nan, p_value))


def mean_gaps(parts: Sequence[Gaps]) -> Gaps:
    """Compare the plain means of several independent scores, such as those of tasks.

    Args:
        parts: The comparisons for each score, at least one, over the same models.
    """
    weight = 1 / len(parts)
    gap = weight * sum((part.gap for part in parts[1:]), parts[0].gap)
    variances = [weight**2 * part.variance for part in parts]
    variance = sum(variances[1:], variances[0])
    with np.errstate(invalid="ignore", divide="ignore"):
        spent = sum((np.square(own) / part.df for own, part in zip(variances, parts, strict=True)), np.zeros(gap.shape))
        return _tested(gap, variance, np.square(variance) / spent)


def rank_intervals(gaps: Gaps) -> list[tuple[int, int]]:
    """Return the rank interval of each model; 1 is the best.

    Args:
        gaps: The comparison of all pairs; greater values are better.
    """
    p_values = gaps.p_value.copy()
    np.fill_diagonal(p_values, math.nan)
    is_better = _holm_rejections(p_values)
    n = p_values.shape[0]
    lowest, highest = 1 + is_better.sum(axis=0), n - is_better.sum(axis=1)
    return [(int(low), int(high)) for low, high in zip(lowest, highest, strict=True)]


def _holm_rejections(p_values: Matrix) -> NDArray[np.bool_]:
    """Return the hypotheses that Holm's step-down procedure rejects at the level 0.05. NaN does not count as a
    hypothesis.
    """
    flat = p_values.ravel()
    tested = np.flatnonzero(~np.isnan(flat))
    order = tested[np.argsort(flat[tested], kind="stable")]
    is_passed = flat[order] <= (1 - LEVEL) / np.arange(order.size, 0, -1)
    n_passed = order.size if bool(is_passed.all()) else int(np.argmin(is_passed))
    rejected = np.zeros(flat.size, dtype=bool)
    rejected[order[:n_passed]] = True
    return rejected.reshape(p_values.shape)


def _tested(gap: Matrix, variance: Matrix, df: Matrix) -> Gaps:
    from scipy.special import stdtr

    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(variance > 0, gap / np.sqrt(variance), np.where(gap == 0, 0.0, np.copysign(math.inf, gap)))
    usable = np.where(np.isfinite(df), df, 1e9)
    p_value = np.where(np.isnan(variance) | np.isnan(gap), math.nan, stdtr(usable, -t))
    return Gaps(gap, variance, df, p_value)
