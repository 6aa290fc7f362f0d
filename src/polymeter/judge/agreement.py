"""The agreement of two judges, or of a judge and human raters, beyond chance.

With 20 samples or more, each number has a 95 % interval: Wilson's for the share of equal verdicts, one from the closed
form of the large-sample error for kappa, and Fisher's for a rank correlation. Samples that share a cluster are not
independent. The interval of the share is then computed from the clusters, and that of kappa by resampling them; a rank
correlation has none.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import compress, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeter.core.text.codec import is_nan
from polymeter.metrics.basic import MEAN
from polymeter.stats import (
    Estimate,
    Partition,
    bootstrap,
    bootstrap_error,
    bootstrap_interval,
    estimate,
    normal_quantile,
)
from polymeter.stats.means.mean_intervals import bounded_interval
from polymeter.stats.means.moments import FEWEST_SAMPLES

BINS = 5
_MOST_CATEGORIES = 10
_RESAMPLES = 1000
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of two lists of verdicts on the same samples.

    Attributes:
        n: The number of pairs compared.
        n_left_out: The number of pairs with a missing verdict.
        raw: The share of equal verdicts.
        kappa: Cohen's kappa: agreement beyond chance. Its value is ``None`` if both judges gave the same verdict on all
            samples.
        spearman: The rank correlation; only for numbers with more than two distinct values.
        categories: The compared categories: the verdicts, or the bins of numbers.
        is_binned: Whether numbers were put into bins.
    """

    n: int
    n_left_out: int
    raw: Estimate
    kappa: Estimate
    spearman: Estimate | None
    categories: tuple[str, ...]
    is_binned: bool = False


def agreement(
    first: Sequence[Any],
    second: Sequence[Any],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    seed: int = 0,
) -> Agreement:
    """Compare two judges, sample by sample.

    Numbers with more than ten distinct values are put into five bins of equal width before they are compared. Their
    rank correlation uses the numbers themselves.

    Args:
        first: One judge's verdicts, numbers or texts; ``None`` or NaN if a verdict is missing.
        second: The other judge's, on the same samples in the same order.
        clusters: The label that each sample shares with others, ``None`` for a sample on its own.
        seed: For resampling clusters.

    Raises:
        ValueError: if the lists differ in length.
    """
    if len(first) != len(second) or (clusters is not None and len(clusters) != len(first)):
        raise ValueError("The lists of verdicts and clusters differ in length, so they cannot be paired.")
    is_pair = [not (_is_missing(a) or _is_missing(b)) for a, b in zip(first, second, strict=True)]
    pairs = [*compress(zip(first, second, strict=True), is_pair)]
    partition = None
    if clusters is not None:
        labels = [*compress(clusters, is_pair)]
        partition = Partition.of(labels) if any(label is not None for label in labels) else None
    n_left_out = len(first) - len(pairs)
    if not pairs:
        return Agreement(0, n_left_out, Estimate(None), Estimate(None), None, ())
    is_numeric = all(_is_finite(value) for pair in pairs for value in pair)
    values = {value for pair in pairs for value in pair}
    is_binned = is_numeric and len(values) > _MOST_CATEGORIES
    codes, names = _binned(pairs) if is_binned else _coded(pairs)
    equal = [float(a == b) for a, b in codes]
    return Agreement(
        len(pairs),
        n_left_out,
        estimate(equal, MEAN, clusters=partition),
        _kappa(codes, partition, seed),
        spearman(*zip(*pairs, strict=True), is_clustered=partition is not None)
        if is_numeric and len(values) > 2
        else None,
        names,
        is_binned,
    )


def cohens_kappa(table: Sequence[Sequence[float]] | NDArray[np.float64]) -> tuple[float | None, float | None]:
    """Compute Cohen's kappa and its standard error (Cohen 1960; the error of Fleiss, Cohen and Everitt 1969, equation
    13).

    Args:
        table: In row i and column j, the number of samples with category i by the first judge and category j by the
            second, shape ``(k, k)``.

    Returns:
        Kappa and its standard error; ``(None, None)`` if both judges gave the same category to all samples, so that
        chance alone explains their agreement.
    """
    counts = np.asarray(table, dtype=np.float64)
    n = counts.sum()
    p = counts / n
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    observed, expected = float(np.trace(p)), float(rows @ columns)
    if math.isclose(expected, 1.0):
        return None, None
    kappa = (observed - expected) / (1 - expected)
    on = np.diag(p) @ np.square(1 - (rows + columns) * (1 - kappa))
    crossed = np.square(columns[:, None] + rows[None, :])
    off = (1 - kappa) ** 2 * float((p * crossed).sum() - np.diag(p) @ np.diag(crossed))
    variance = (float(on) + off - (kappa - expected * (1 - kappa)) ** 2) / (n * (1 - expected) ** 2)
    return kappa, math.sqrt(max(variance, 0.0))


def spearman(first: Sequence[float], second: Sequence[float], *, is_clustered: bool = False) -> Estimate:
    """Compute Spearman's rank correlation, with Fisher's interval and the standard error of Bonett and Wright 2000.

    Args:
        first: One judge's numbers, shape ``(n,)``.
        second: The other judge's, on the same samples, shape ``(n,)``.
        is_clustered: Whether samples share clusters.

    Returns:
        The estimate. It has no value if a judge gave the same number to all samples. It has no interval for fewer than
        20 samples, for samples that share clusters, or for a perfect correlation.
    """
    a, b = _ranks(first), _ranks(second)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return Estimate(None)
    value = float(np.clip(np.corrcoef(a, b)[0, 1], -1, 1))
    if a.size < FEWEST_SAMPLES:
        return Estimate(value, no_interval=f"fewer than {FEWEST_SAMPLES} samples")
    if is_clustered:
        return Estimate(value, no_interval="the samples share clusters")
    if math.isclose(abs(value), 1.0):
        return Estimate(value, no_interval="the ranks show no spread")
    half = normal_quantile((1 + _LEVEL) / 2) * math.sqrt((1 + value**2 / 2) / (a.size - 3))
    return Estimate(
        value,
        interval=(math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half)),
        method="fisher",
        ci_method="fisher",
    )


def _kappa(codes: Sequence[tuple[int, int]], partition: Partition | None, seed: int) -> Estimate:
    size = 1 + max(max(pair) for pair in codes)

    def kappa_of(pairs: Sequence[tuple[int, int]]) -> float:
        value, _ = cohens_kappa(_table(pairs, size))
        return math.nan if value is None else value

    value, stderr = cohens_kappa(_table(codes, size))
    if value is None:
        return Estimate(None)
    method = "closed form"
    if partition is not None and partition.count > 1:
        replicates = bootstrap(
            kappa_of, codes, generator=np.random.default_rng(seed), resamples=_RESAMPLES, clusters=partition
        )
        known = replicates[~np.isnan(replicates)]
        stderr = bootstrap_error(value, known)
        if stderr is None:
            return Estimate(value, no_interval="hardly any resample has a value")
        found = bootstrap_interval(value, known, partition.count, bounds=(-1.0, 1.0), is_clustered=True)
        return Estimate(value, stderr, found.interval, "bootstrap", found.method, found.problem)
    if not stderr:  # full agreement has no spread to estimate an error from
        return Estimate(value, no_interval="the verdicts show no spread")
    if len(codes) < FEWEST_SAMPLES:
        return Estimate(value, stderr, None, method, no_interval=f"fewer than {FEWEST_SAMPLES} samples")
    interval = bounded_interval(value, stderr, math.inf, (-1.0, 1.0))
    return Estimate(value, stderr, interval, method, "score")


def _table(pairs: Sequence[tuple[int, int]], size: int) -> NDArray[np.float64]:
    table = np.zeros((size, size))
    np.add.at(table, tuple(np.asarray(pairs).T), 1)
    return table


def _coded(pairs: Sequence[tuple[Any, Any]]) -> tuple[list[tuple[int, int]], tuple[str, ...]]:
    values = {value for pair in pairs for value in pair}
    order = sorted(values, key=lambda value: (not _is_finite(value), value if _is_finite(value) else str(value)))
    codes = {value: number for number, value in enumerate(order)}
    names = tuple(f"{value:g}" if _is_finite(value) else str(value) for value in order)
    return [(codes[a], codes[b]) for a, b in pairs], names


def _binned(pairs: Sequence[tuple[float, float]]) -> tuple[list[tuple[int, int]], tuple[str, ...]]:
    data = np.asarray(pairs, dtype=np.float64)
    edges = np.linspace(data.min(), data.max(), BINS + 1)
    codes = np.clip(np.searchsorted(edges, data, side="right") - 1, 0, BINS - 1)
    names = tuple(f"{low:g} to {high:g}" for low, high in pairwise(edges))
    return [(int(a), int(b)) for a, b in codes], names


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Return ranks from 1, shape ``(n,)``; ties share their mean rank."""
    _, inverse, counts = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: NDArray[np.float64] = (last - (counts - 1) / 2)[inverse]
    return ranks


def _is_missing(value: Any) -> bool:
    return value is None or is_nan(value)


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and math.isfinite(value)
