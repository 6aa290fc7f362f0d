"""Estimation of the mean of human labels from a few labels and a judge's score of every sample.

This is prediction-powered inference with power tuning: PPI++ (Angelopoulos, Duchi and Zrnic 2023, *PPI++: Efficient
Prediction-Powered Inference*, section 6 and proposition 2, for a mean). The labels show the error of the judge. Its
scores of all other samples add precision, as far as they agree with the labels. A useless judge leaves the mean of the
labels alone. No judge can bias the estimate if the labelled samples are a random part of all.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymeter.core.records.spread import Spread
from polymeter.stats.intervals import Interval, t_interval
from polymeter.stats.means.clusters import Partition
from polymeter.stats.means.mean_intervals import mean_interval
from polymeter.stats.means.moments import FEWEST_CLUSTERS, FEWEST_SAMPLES

_PSEUDO_DISAGREEMENTS = 1.0
"""Squared disagreements of a judge and a label that are added to the observed ones: half a sample in each of the four
cells of right and wrong (Agresti and Min 2005). Twenty labels without a disagreement do not prove that none exists.
"""
_PSEUDO_SAMPLES = 2.0
_LEAST_TRIALS = 0.8
"""The least number of independent labels for which each label counts: near 0 and 1, the variance alone says too
little.
"""


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """A mean of labels, estimated with the help of a judge's scores.

    Attributes:
        value: The estimate.
        stderr: Its standard error, which includes the judge's error; ``None`` with too few labels.
        interval: The 95 % interval; ``None`` with too few labels.
        no_interval: Why the interval is missing; empty if there is one.
        weight: The weight λ of the judge: 0 if its scores say nothing about the labels, 1 if they count fully.
        bias: The judge's mean minus that of the labels, on the labelled samples.
        n_labelled: The number of samples with a label and a score of the judge.
        n_unlabelled: The number of samples with a score but no label.
    """

    value: float
    stderr: float | None
    interval: Interval | None
    no_interval: str
    weight: float
    bias: float
    n_labelled: int
    n_unlabelled: int


def corrected_mean(
    labels: Sequence[float],
    scores: Sequence[float],
    unlabelled: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
) -> CorrectedMean:
    """Estimate the mean of the labels of all samples, labelled or not.

    The estimate is ``λ mean(f of unlabelled) + mean(y - λ f of labelled)``, with the λ of least variance,
    ``cov(y, f) / ((1 + n / N) var(f))``, between 0 and 1. Its variance is that of both means,
    ``λ² var(f) / N + var(y - λ f) / n``. With clusters, it is the sum over clusters of the squared sum of their
    samples' terms. This also holds if a cluster has samples on both sides.

    Args:
        labels: The labels of the labelled samples, shape ``(n,)``, at least one.
        scores: The judge's scores of the same samples, shape ``(n,)``.
        unlabelled: The judge's scores of all other samples, shape ``(N,)``; may be empty.
        clusters: The label that each sample shares with others, ``None`` for one on its own: of the labelled samples,
            then of the others.

    Raises:
        ValueError: if the labels are empty, or the lists differ in length.
    """
    y, f, g = (np.asarray(values, dtype=np.float64) for values in (labels, scores, unlabelled))
    if not y.size:
        raise ValueError("There are no labels to correct a mean with.")
    if y.shape != f.shape or (clusters is not None and len(clusters) != y.size + g.size):
        raise ValueError("The lists of labels, scores and clusters differ in length, so they cannot be paired.")
    n, n_others = int(y.size), int(g.size)
    weight = _power(y, f, g) if n_others else 0.0
    residuals = y - weight * f
    value = float(residuals.mean()) + (weight * float(g.mean()) if n_others else 0.0)
    bias = float((f - y).mean())
    partition = None if clusters is None else Partition.of(clusters)
    if partition is not None and partition.count == y.size + g.size:
        partition = None
    if n < 2:
        return CorrectedMean(value, None, None, "a single label", weight, bias, n, n_others)
    units = "labels"
    n_units = n
    fewest = FEWEST_SAMPLES
    if partition is None:
        of_labelled, of_others = float(residuals.var(ddof=1)) / n, _variance(weight * g)
        variance = of_labelled + of_others
        df = variance**2 / (of_labelled**2 / (n - 1) + (of_others**2 / (n_others - 1) if n_others > 1 else 0.0) or 1.0)
    else:
        variance = _clustered(residuals, weight * g, partition)
        n_units = len(set(partition.codes[:n].tolist()))
        if n_units < n:
            units, fewest = "clusters with labels", FEWEST_CLUSTERS
        df = float(max(n_units - 1, 1))
    stderr = math.sqrt(variance)
    if n_units < fewest or n < FEWEST_SAMPLES:
        short = f"fewer than {fewest} {units}" if n_units < fewest else f"fewer than {FEWEST_SAMPLES} labels"
        return CorrectedMean(value, stderr, None, short, weight, bias, n, n_others)
    are_shares = all(bool(((part >= 0) & (part <= 1)).all()) for part in (y, f, g))
    if are_shares:
        unseen = _PSEUDO_DISAGREEMENTS / (n_units + _PSEUDO_SAMPLES) ** 2
        spread = Spread(
            min(max(value, 0.0), 1.0),
            n,
            variance + unseen,
            df=max(df, 1.0),
            trials=float(n_units),
            least_trials=_LEAST_TRIALS * n_units,
            bounds=(0.0, 1.0),
        )
        interval = mean_interval(spread).interval or (0.0, 1.0)
    elif stderr == 0:
        return CorrectedMean(value, stderr, None, "the labels and scores show no spread", weight, bias, n, n_others)
    else:
        interval = t_interval(value, stderr, max(df, 1.0))
    return CorrectedMean(value, stderr, interval, "", weight, bias, n, n_others)


def _power(labels: NDArray[np.float64], scores: NDArray[np.float64], unlabelled: NDArray[np.float64]) -> float:
    """Return the λ of least variance, between 0 and 1 (equation 9 of the paper, as its authors' package estimates
    it).
    """
    spread = float(np.concatenate([scores, unlabelled]).var(ddof=1))
    if spread <= 0:
        return 0.0
    together = float(((labels - labels.mean()) * (scores - scores.mean())).mean())
    return min(max(together / ((1 + labels.size / unlabelled.size) * spread), 0.0), 1.0)


def _variance(values: NDArray[np.float64]) -> float:
    """Return the variance of the mean of independent values; 0 for fewer than two."""
    return float(values.var(ddof=1)) / values.size if values.size > 1 else 0.0


def _clustered(residuals: NDArray[np.float64], weighted: NDArray[np.float64], partition: Partition) -> float:
    """Return the variance for samples that are independent only between clusters, with the usual correction for few
    clusters.
    """
    parts = [(residuals - residuals.mean()) / residuals.size]
    if weighted.size:
        parts.append((weighted - weighted.mean()) / weighted.size)
    sums = partition.sums(np.concatenate(parts)[:, None])[:, 0]
    return partition.count / max(partition.count - 1, 1) * float(np.square(sums).sum())
