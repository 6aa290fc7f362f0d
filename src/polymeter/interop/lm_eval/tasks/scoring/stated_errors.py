"""The standard errors that lm-eval states beside its values, for files in its form and runs at parity with it.

It knows the error of a mean, and draws resamples for a list of other aggregations; everything else has none, which its
files write as ``N/A``. Its resamples come from Python's generator, seeded by the number of a chunk of 1,000, so the
error is one number for given values. The same generator fills NumPy's here, and a chunk is drawn and aggregated at
once.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polymeter.interop.lm_eval.tasks.scoring.aggregations import AGGREGATIONS, CORPUS
from polymeter.stats.additive import Additive

NOT_STATED: Literal["N/A"] = "N/A"
ITERATIONS = 100_000
"""The number of resamples that lm-eval draws."""
_OF_TEXTS = 100
"""The largest number that it draws for a metric of texts, which it knows by the metric's name."""
_CHUNK = 1_000
_MOST_DRAWN = 2_000_000
"""The number of positions that are drawn at once."""

Floats = NDArray[np.float64]
Drawn = NDArray[np.int64]


def stated_stderr(
    metric: str, aggregation: str, values: Sequence[Any], bootstrap_iters: int | None = ITERATIONS
) -> float | Literal["N/A"]:
    """The standard error that lm-eval states for the aggregate of some values.

    Args:
        metric: The name of the metric.
        aggregation: The name of its aggregation; empty for an author's function.
        values: The values of its samples, in sample order.
        bootstrap_iters: How many resamples to draw; 0 or ``None``: no error is stated at all.

    Returns:
        The error, or ``N/A`` where lm-eval states none.
    """
    n = len(values)
    if not bootstrap_iters or bootstrap_iters < 0 or n < 2:
        return NOT_STATED
    if aggregation == "mean":
        return mean_stderr(values)
    statistic = _statistic(aggregation, values)
    if statistic is None:
        return NOT_STATED
    n_resamples = min(bootstrap_iters, _OF_TEXTS) if metric in CORPUS else bootstrap_iters
    replicates = np.concatenate([statistic(drawn) for drawn in _resamples(n, n_resamples)])
    return float(np.std(replicates, ddof=1))


def mean_stderr(values: Sequence[float]) -> float:
    """The standard error of a mean, ``s / sqrt(n)`` with ``n - 1`` in the variance."""
    middle = math.fsum(values) / len(values)
    squares = math.fsum([(value - middle) ** 2 for value in values])
    return math.sqrt(squares / (len(values) - 1)) / math.sqrt(len(values))


def _resamples(n: int, n_resamples: int) -> Iterator[Drawn]:
    """Positions of the values of each resample, shape ``(resamples, n)``, in blocks."""
    size = min(_CHUNK, n_resamples)
    at_once = max(1, _MOST_DRAWN // n)
    for seed in range(n_resamples // size):
        generator = np.random.RandomState()
        state = random.Random(seed).getstate()[1]
        generator.set_state(("MT19937", np.array(state[:-1], dtype=np.uint32), int(state[-1]), 0, 0.0))
        for begin in range(0, size, at_once):
            rows = min(at_once, size - begin)
            yield np.floor(generator.random_sample((rows, n)) * n).astype(np.int64)


def _statistic(aggregation: str, values: Sequence[Any]) -> Callable[[Drawn], Floats] | None:
    """From positions, the aggregate of each resample; ``None`` if lm-eval does not resample this aggregation."""
    if aggregation == "median":
        numbers = np.asarray(values, dtype=np.float64)
        middle = len(values) // 2
        return lambda drawn: np.partition(numbers[drawn], middle, axis=1)[:, middle]
    if aggregation == "nanmean":
        return _nanmeans(np.asarray(values, dtype=np.float64))
    if aggregation in ("f1", "matthews_corrcoef"):
        of_counts = _f1 if aggregation == "f1" else _correlation
        return _of_confusions(values, of_counts, is_binary=aggregation == "f1")
    aggregate = AGGREGATIONS[aggregation].aggregate if aggregation in ("perplexity", *CORPUS) else None
    if not isinstance(aggregate, Additive):
        return None
    terms, value = aggregate.terms(values), aggregate.value
    return lambda drawn: np.array([value(total) for total in _totals(terms, drawn).tolist()])


def _totals(terms: Floats, drawn: Drawn) -> Floats:
    """The sums of the terms of each resample, shape ``(resamples, k)``."""
    return np.stack([column[drawn].sum(axis=1) for column in terms.T], axis=1)


def _nanmeans(numbers: Floats) -> Callable[[Drawn], Floats]:
    is_number = ~np.isnan(numbers)
    terms = np.stack([np.where(is_number, numbers, 0.0), is_number.astype(np.float64)], axis=1)

    def means(drawn: Drawn) -> Floats:
        totals = _totals(terms, drawn)
        with np.errstate(divide="ignore", invalid="ignore"):
            return totals[:, 0] / totals[:, 1]

    return means


def _of_confusions(
    values: Sequence[tuple[Any, Any]], of_counts: Callable[[Floats], Floats], *, is_binary: bool
) -> Callable[[Drawn], Floats]:
    """A statistic of the confusion matrix of each resample, shape ``(resamples, reference, prediction)``."""
    labels = {label: i for i, label in enumerate(sorted({label for pair in values for label in pair}, key=str))}
    if is_binary:
        labels = {label: int(label == 1) for label in labels}
    width = max(max(labels.values(), default=0) + 1, 2)
    cells = np.array([labels[reference] * width + labels[prediction] for reference, prediction in values])

    def statistics(drawn: Drawn) -> Floats:
        of_rows = cells[drawn] + np.arange(len(drawn))[:, None] * width**2
        counts = np.bincount(of_rows.ravel(), minlength=len(drawn) * width**2)
        return of_counts(counts.reshape(len(drawn), width, width).astype(np.float64))

    return statistics


def _f1(counts: Floats) -> Floats:
    """F1 of the class 1, 0 where undefined."""
    right = counts[:, 1, 1]
    named = counts[:, 1, :].sum(axis=1) + counts[:, :, 1].sum(axis=1)
    scores: Floats = np.divide(2 * right, named, out=np.zeros_like(right), where=named > 0)
    return scores


def _correlation(counts: Floats) -> Floats:
    """Matthews correlation for any number of classes, 0 where undefined."""
    of_references, of_predictions = counts.sum(axis=2), counts.sum(axis=1)
    n = counts.sum(axis=(1, 2))
    right = np.trace(counts, axis1=1, axis2=2)
    covariance = right * n - (of_references * of_predictions).sum(axis=1)
    spread = (n**2 - (of_references**2).sum(axis=1)) * (n**2 - (of_predictions**2).sum(axis=1))
    root = np.sqrt(spread)
    correlations: Floats = np.divide(covariance, root, out=np.zeros_like(root), where=root > 0)
    return correlations
