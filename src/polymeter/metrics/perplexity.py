"""Metrics of log-likelihoods, in natural logarithms. The task computes the value of a sample, and the metric passes it
through.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polymeter.core.metric import Aggregation, Metric
from polymeter.stats.additive import Additive


def single_terms(values: Sequence[float]) -> NDArray[np.float64]:
    """Return each log-likelihood, and 1: shape ``(n, 2)``."""
    column = np.asarray(values, dtype=np.float64).reshape(-1)
    return np.stack([column, np.ones_like(column)], axis=1)


def weighted_terms(values: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
    """Return each log-likelihood and its weight (words or bytes): shape ``(n, 2)``.

    Raises:
        ValueError: if the values are not pairs of numbers.
    """
    terms = np.asarray(values, dtype=np.float64)
    if terms.ndim != 2 or terms.shape[1] != 2:
        raise ValueError("Each value must be a pair of log-likelihood and weight.")
    return terms


def perplexity(totals: Sequence[float]) -> float:
    """Compute ``exp(-Σ log p / Σ weight)``, or infinity if that exceeds a float.

    Args:
        totals: Shape ``(2,)``.

    Raises:
        ZeroDivisionError: if the weights sum to zero.
    """
    return _perplexity(totals[0] / totals[1])


def bits(totals: Sequence[float]) -> float:
    """Compute ``-Σ log p / Σ weight / ln 2``.

    Args:
        totals: Shape ``(2,)``.

    Raises:
        ZeroDivisionError: if the weights sum to zero.
    """
    return _bits(totals[0] / totals[1])


def _perplexity(mean: float) -> float:
    try:
        return math.exp(-mean)
    except OverflowError:
        return math.inf


def _bits(mean: float) -> float:
    return -mean / math.log(2)


PERPLEXITY_AGGREGATION = Aggregation("perplexity", Additive(single_terms, perplexity, _perplexity), bounds=(0.0, None))
WEIGHTED_PERPLEXITY_AGGREGATION = Aggregation(
    "weighted_perplexity", Additive(weighted_terms, perplexity, _perplexity), bounds=(0.0, None)
)
BITS_PER_BYTE_AGGREGATION = Aggregation("bits_per_byte", Additive(weighted_terms, bits, _bits), bounds=(0.0, None))

PERPLEXITY = Metric(
    "perplexity", "perplexity", higher_is_better=False, values={"loglikelihood": "log-likelihood of the target"}
)
WORD_PERPLEXITY = Metric(
    "word_perplexity",
    "weighted_perplexity",
    higher_is_better=False,
    values={"loglikelihood": "log-likelihood of the target and its number of words"},
)
_PER_BYTE = {"loglikelihood": "log-likelihood of the target and its number of UTF-8 bytes"}
BYTE_PERPLEXITY = Metric("byte_perplexity", "weighted_perplexity", higher_is_better=False, values=_PER_BYTE)
BITS_PER_BYTE = Metric("bits_per_byte", "bits_per_byte", higher_is_better=False, values=_PER_BYTE)
