"""Metric values from log-probabilities of choices, or of one text. A log-probability is a sum over tokens; higher is
likelier.

A module apart from ``likelihoods``, which makes the requests, because task classes need the values alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polymeter.core.errors import ScoreError
from polymeter.core.request import ChoiceLogprob
from polymeter.tasks.yaml.scoring.metrics import BoundMetric

_SPACES = re.compile(r"\s+")


def choice_values(
    metrics: Sequence[BoundMetric],
    indices: Sequence[int],
    choices: Sequence[str],
    logprobs: Sequence[ChoiceLogprob],
    unconditional: Sequence[ChoiceLogprob] | None = None,
    doc: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], int]:
    """Values of the metrics, and the index of the likeliest choice.

    Args:
        metrics: The metrics to compute.
        indices: The indices of the right choices; see ``choice_indices``.
        choices: The row's choices.
        logprobs: For each choice, its log-probability after the prompt; as many as there are choices.
        unconditional: The same without the prompt, for ``acc_mutual_info``.
        doc: The row, for ``acc_all``.

    Raises:
        ScoreError: if ``unconditional`` is missing.
    """
    sums = [item.logprob for item in logprobs]
    prediction = argmax(sums)
    reference = indices[0] if len(indices) == 1 else list(indices)

    def is_right(index: int) -> float:
        return float(index in indices)

    makers: dict[str, Callable[[], Any]] = {
        "acc": lambda: is_right(prediction),
        "acc_norm": lambda: is_right(
            argmax([value / max(len(text), 1) for value, text in zip(sums, choices, strict=True)])
        ),
        "acc_mutual_info": lambda: is_right(argmax(_mutual(sums, unconditional))),
        "exact_match": lambda: float(any(logprobs[index].is_greedy for index in indices if index >= 0)),
        "brier_score": lambda: (reference, softmax(sums)),
        "acc_all": lambda: (prediction, dict(doc or {})),
        "bypass": lambda: _pairs(logprobs),
        "by_pass": lambda: _pairs(logprobs),
    }
    # Any other metric is a name whose aggregation decides: it gets the reference and the likeliest choice.
    return {metric.name: makers.get(metric.name, lambda: (reference, prediction))() for metric in metrics}, prediction


def likelihood_values(
    metrics: Sequence[BoundMetric], text: str, logprob: ChoiceLogprob, doc: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Values of the metrics for the likelihood of one text: per token, or with its number of words or bytes."""
    makers: Mapping[str, Callable[[], Any]] = {
        "acc": lambda: float(logprob.is_greedy),
        "word_perplexity": lambda: (logprob.logprob, len(_SPACES.split(text))),
        "byte_perplexity": lambda: (logprob.logprob, len(text.encode())),
        "bits_per_byte": lambda: (logprob.logprob, len(text.encode())),
        "acc_all": lambda: (logprob.is_greedy, dict(doc or {})),
        "bypass": lambda: (logprob.logprob, logprob.is_greedy),
        "by_pass": lambda: (logprob.logprob, logprob.is_greedy),
    }
    return {metric.name: makers.get(metric.name, lambda: logprob.logprob)() for metric in metrics}


def argmax(values: Sequence[float]) -> int:
    """Index of the largest value; at a tie, the first one."""
    return max(range(len(values)), key=values.__getitem__)


def softmax(values: Sequence[float]) -> list[float]:
    """Probabilities of the choices from their log-probabilities."""
    top = max(values)
    weights = [math.exp(value - top) for value in values]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def _mutual(sums: Sequence[float], unconditional: Sequence[ChoiceLogprob] | None) -> list[float]:
    if unconditional is None:
        raise ScoreError("acc_mutual_info needs the choices' likelihood without the prompt.")
    # An option that there is not has no likelihood before the prompt either.
    return [
        value if value == base.logprob == -math.inf else value - base.logprob
        for value, base in zip(sums, unconditional, strict=True)
    ]


def _pairs(logprobs: Sequence[ChoiceLogprob]) -> list[tuple[float, bool]]:
    return [(item.logprob, item.is_greedy) for item in logprobs]
