"""lm-eval's aggregations: as records that reductions use, and as the functions that task code imports and calls.

Most are Polymeter's own. What is different there is said in ``differences``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polymeter.core.metric import Aggregation
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.metrics.basic import MEAN, MEDIAN
from polymeter.metrics.choice import BRIER_AGGREGATION, F1_AGGREGATION, MCC_AGGREGATION
from polymeter.metrics.perplexity import (
    BITS_PER_BYTE_AGGREGATION,
    PERPLEXITY_AGGREGATION,
    WEIGHTED_PERPLEXITY_AGGREGATION,
)
from polymeter.metrics.text import BYPASS_AGGREGATION
from polymeter.metrics.translation import (
    BLEU_AGGREGATION,
    CHRF_AGGREGATION,
    CHRF_WITH_WORDS_AGGREGATION,
    TER_AGGREGATION,
)

CORPUS = ("bleu", "chrf", "chrf++", "ter")
"""Aggregations of texts."""


def mean(values: Sequence[Any]) -> Any:
    """The arithmetic mean."""
    return sum(values) / len(values)


def nanmean(values: Sequence[Any]) -> float:
    """The arithmetic mean of the values that are not NaN; NaN without any."""
    numbers = np.asarray(values, dtype=np.float64)
    return float(np.nanmean(numbers)) if numbers.size and not np.isnan(numbers).all() else math.nan


def median(values: Sequence[Any]) -> Any:
    """The middle one of the sorted values; of two in the middle the greater."""
    return sorted(values)[len(values) // 2]


def weighted_mean(values: Sequence[tuple[float, float]]) -> float:
    """The sum of the first parts of pairs over that of the second."""
    return sum(value for value, _ in values) / sum(weight for _, weight in values)


def perplexity(values: Sequence[float]) -> float:
    """``exp(-mean)`` of log-likelihoods."""
    return math.exp(-mean(values))


def weighted_perplexity(values: Sequence[tuple[float, float]]) -> float:
    """``exp`` of the negative weighted mean of log-likelihoods."""
    return math.exp(-weighted_mean(values))


def bits_per_byte(values: Sequence[tuple[float, float]]) -> float:
    """The negative weighted mean of log-likelihoods, in bits."""
    return -weighted_mean(values) / math.log(2)


def bypass_agg(values: Sequence[Any]) -> int:
    """999, whatever the values."""
    return int(BYPASS_AGGREGATION.aggregate(values))


def f1_score(values: Sequence[tuple[Any, Any]]) -> float:
    """F1 of the class 1, from pairs of reference and prediction."""
    return float(F1_AGGREGATION.aggregate(values))


def matthews_corrcoef(values: Sequence[tuple[Any, Any]]) -> float:
    """Matthews correlation, from pairs of reference and prediction."""
    return float(MCC_AGGREGATION.aggregate(values))


def brier_score(values: Sequence[tuple[int, Sequence[float]]]) -> float:
    """The Brier score, from pairs of reference and probabilities."""
    return float(BRIER_AGGREGATION.aggregate(values))


def bleu(values: Sequence[Any]) -> float:
    """BLEU of a corpus, from pairs of references and prediction."""
    return float(BLEU_AGGREGATION.aggregate(values))


def chrf(values: Sequence[Any]) -> float:
    """The chrF of a corpus, from pairs of references and prediction."""
    return float(CHRF_AGGREGATION.aggregate(values))


def chrfpp(values: Sequence[Any]) -> float:
    """The chrF++ of a corpus, from pairs of references and prediction."""
    return float(CHRF_WITH_WORDS_AGGREGATION.aggregate(values))


def ter(values: Sequence[Any]) -> float:
    """The translation error rate of a corpus, from pairs of references and prediction."""
    return float(TER_AGGREGATION.aggregate(values))


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "bypass": bypass_agg,
    "nanmean": nanmean,
    "mean": mean,
    "median": median,
    "perplexity": perplexity,
    "weighted_perplexity": weighted_perplexity,
    "bits_per_byte": bits_per_byte,
    "f1": f1_score,
    "matthews_corrcoef": matthews_corrcoef,
    "bleu": bleu,
    "chrf": chrf,
    "chrf++": chrfpp,
    "ter": ter,
    "brier_score": brier_score,
}
"""The functions that task code gets for names."""

AGGREGATIONS: Mapping[str, Aggregation] = {
    "bypass": BYPASS_AGGREGATION,
    # NaN is not a value: reductions leave it out of every mean.
    "nanmean": replace(MEAN, name="nanmean"),
    "mean": MEAN,
    "median": MEDIAN,
    "perplexity": PERPLEXITY_AGGREGATION,
    "weighted_perplexity": WEIGHTED_PERPLEXITY_AGGREGATION,
    "bits_per_byte": BITS_PER_BYTE_AGGREGATION,
    "f1": F1_AGGREGATION,
    "matthews_corrcoef": MCC_AGGREGATION,
    "bleu": BLEU_AGGREGATION,
    "chrf": CHRF_AGGREGATION,
    "chrf++": CHRF_WITH_WORDS_AGGREGATION,
    "ter": TER_AGGREGATION,
    "brier_score": BRIER_AGGREGATION,
}
"""The aggregations that a ``metric_list`` can name."""


def aggregation_at(name: str, parity: Parity = NO_PARITY) -> Aggregation:
    """The aggregation of a name, with the values of lm-eval where the run is at parity with it.

    Raises:
        KeyError: if there is none.
    """
    aggregation = AGGREGATIONS[name]
    if name == "median" and parity.on("median-upper"):
        return replace(aggregation, aggregate=median)
    if name in CORPUS and parity.on("fewest-references"):
        compute = aggregation.aggregate
        return replace(aggregation, aggregate=lambda values: compute(with_fewest_references(values)))
    return aggregation


def aggregation_of(function: Any) -> str:
    """The name of the aggregation that a function of this module is; empty for any other."""
    return next((name for name, own in FUNCTIONS.items() if own is function), "")


def with_fewest_references(values: Sequence[Any]) -> list[tuple[list[str], Any]]:
    """Pairs of references and prediction, each with as many references as the sample that has the fewest."""
    listed = [([texts] if isinstance(texts, str) else list(texts), answer) for texts, answer in values]
    fewest = min((len(texts) for texts, _ in listed), default=0)
    return [(texts[:fewest], answer) for texts, answer in listed]
