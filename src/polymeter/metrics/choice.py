"""Metrics of choices and classes: accuracy and its relatives, F1, Matthews correlation, Brier score.

For multiple choice and log-likelihoods, the task computes the value of a sample from log-probabilities (see
``Metric.values``), and the metric passes it through. For generation, the metric computes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeter.core.metric import Aggregation, Metric
from polymeter.metrics.references import one_prediction, share_equal
from polymeter.metrics.text import text_compared
from polymeter.stats.additive import Additive


def accuracy(references: Sequence[Any], predictions: Sequence[Any]) -> float:
    """Return the accuracy of a generated answer: 1 if it equals a reference, else 0."""
    return share_equal(references, predictions)


def reference_and_prediction(references: Sequence[Any], predictions: Sequence[Any]) -> tuple[Any, Any]:
    """Return ``(reference, prediction)`` of a sample, for metrics over a confusion matrix. The first of several
    references counts.
    """
    prediction = one_prediction(references, predictions)
    return references[0], prediction


def binary_f1(values: Sequence[tuple[Any, Any]]) -> float:
    """Compute F1 of the class 1: ``2 TP / (2 TP + FP + FN)``, or 0 if undefined, with scikit-learn's ``f1_score``.

    Args:
        values: ``(reference, prediction)`` of each sample, each 0 or 1.

    Raises:
        ValueError: if the values have more than two classes, or none of them is 1.
    """
    from sklearn.metrics import f1_score

    references, predictions, counts = _confusion(values)
    return float(f1_score(references, predictions, sample_weight=counts, zero_division=0))


def matthews_correlation(values: Sequence[tuple[Any, Any]]) -> float:
    """Compute the Matthews correlation coefficient for any number of classes (Gorodkin 2004), or 0 if undefined, with
    scikit-learn.

    Args:
        values: ``(reference, prediction)`` of each sample.
    """
    from sklearn.metrics import matthews_corrcoef

    references, predictions, counts = _confusion(values)
    if len({*references, *predictions}) < 2:
        return 0.0  # scikit-learn returns the same, with a warning
    return float(matthews_corrcoef(references, predictions, sample_weight=counts))


def brier_terms(values: Sequence[tuple[int, Sequence[float]]]) -> NDArray[np.float64]:
    """Compute ``Σ_k (p_k - [k = reference])²`` and 1 for each ``(reference index, probabilities)`` (Brier 1950).

    Args:
        values: The index of the right choice and the probabilities of each sample, shape ``(choices,)``. Samples may
            differ in their number of choices.

    Returns:
        Shape ``(n, 2)``.

    Raises:
        ValueError: if a reference is not an index of its probabilities.
    """
    terms = np.ones((len(values), 2))
    for i, (reference, probabilities) in enumerate(values):
        errors = np.array(probabilities, dtype=np.float64)
        if not 0 <= reference < errors.size:
            raise ValueError(f"The reference {reference} is not an index of {errors.size} choices.")
        errors[reference] -= 1
        terms[i, 0] = float(errors @ errors)
    return terms


def question_terms(values: Sequence[tuple[Any, Mapping[str, Any]]]) -> NDArray[np.float64]:
    """Return, for each question of a paragraph, whether all its answers were labelled correctly, and 1.

    Args:
        values: ``(label given, doc)`` of each answer, with ``doc["idx"]["paragraph"]``, ``doc["idx"]["question"]`` and
            ``doc["label"]`` (1: right), in the form of MultiRC.

    Returns:
        Shape ``(questions, 2)``. Answers to one question are not independent, so questions are resampled.
    """
    questions: dict[tuple[Any, Any], bool] = {}
    for label, doc in values:
        key = (doc["idx"]["paragraph"], doc["idx"]["question"])
        questions[key] = questions.get(key, True) and bool((doc["label"] == 1) == label)
    return np.array([[float(is_right), 1.0] for is_right in questions.values()])


def ratio(totals: Sequence[float]) -> float:
    """Return the first total over the second."""
    return totals[0] / totals[1]


def _confusion(values: Sequence[tuple[Any, Any]]) -> tuple[list[Any], list[Any], list[int]]:
    """Return the distinct pairs of reference and prediction and their counts. These are so few that scikit-learn is
    fast.
    """
    counts = Counter((reference, prediction) for reference, prediction in values)
    return [reference for reference, _ in counts], [prediction for _, prediction in counts], list(counts.values())


F1_AGGREGATION = Aggregation("f1", binary_f1, resamples=200, bounds=(0.0, 1.0))
MCC_AGGREGATION = Aggregation("matthews_corrcoef", matthews_correlation, resamples=200, bounds=(-1.0, 1.0))
BRIER_AGGREGATION = Aggregation("brier_score", Additive(brier_terms, ratio), bounds=(0.0, 2.0))
ACC_ALL_AGGREGATION = Aggregation("acc_all", Additive(question_terms, ratio), bounds=(0.0, 1.0))

_INDICES = "reference index and predicted index"

ACC = Metric(
    "acc",
    score=accuracy,
    values={
        "generate_until": "1 if the prediction equals a reference",
        "loglikelihood": "1 if the target is the greedy continuation",
        "multiple_choice": "1 if the choice with the highest log-likelihood is right",
    },
    bounds=(0.0, 1.0),
    version="2",
    extract=text_compared,
)
ACC_NORM = Metric(
    "acc_norm",
    values={"multiple_choice": "1 if the choice with the highest log-likelihood per character is right"},
    bounds=(0.0, 1.0),
)
ACC_MUTUAL_INFO = Metric(
    "acc_mutual_info",
    values={"multiple_choice": "1 if the choice whose log-likelihood the context raises most is right"},
    bounds=(0.0, 1.0),
)
ACC_ALL = Metric(
    "acc_all",
    "acc_all",
    values={
        "loglikelihood": "1 if the target is the greedy continuation, and the row",
        "multiple_choice": "predicted index, and the row",
    },
)
BRIER_SCORE = Metric(
    "brier_score",
    "brier_score",
    higher_is_better=False,
    values={"multiple_choice": "reference index and the softmax over the choices' log-likelihoods"},
)
F1 = Metric("f1", "f1", values={"multiple_choice": _INDICES})
MCC = Metric(
    "mcc",
    "matthews_corrcoef",
    score=reference_and_prediction,
    values={"generate_until": "reference and prediction", "multiple_choice": _INDICES},
)
