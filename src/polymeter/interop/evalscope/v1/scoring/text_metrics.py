"""Metrics of a text and a reference, by the names that benchmarks list."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from polymeter.interop.evalscope.v1.registries import register_metric
from polymeter.interop.evalscope.v1.scoring.functions import levenshtein_distance, normalize_text
from polymeter.interop.evalscope.v1.scoring.math_answers import compare_answers, require_math_verify
from polymeter.interop.evalscope.v1.scoring.metric_base import Metric


@register_metric("exact_match")
class ExactMatch(Metric):
    """1 where both texts are the same, but for letter case and white space around them; else 0."""

    def apply(self, predictions: list[str], references: list[Any]) -> Sequence[float]:
        """The values of some answers."""
        return [float(normalize_text(a) == normalize_text(b)) for a, b in zip(predictions, references, strict=False)]


@register_metric(["accuracy", "acc"])
class Accuracy(ExactMatch):
    """``exact_match``, or one of two variants.

    Args:
        allow_inclusion: Any accepted answer may be given.
        numeric: Both are compared as mathematics.

    Raises:
        PlanError: if that needs a package that is not installed.
    """

    def __init__(self, allow_inclusion: bool = False, numeric: bool = False) -> None:
        if numeric and not allow_inclusion:
            require_math_verify()
        self.allow_inclusion = allow_inclusion
        self.numeric = numeric

    def prepare_reference(self, target: Any) -> Any:
        """All accepted answers where any may be given; else the only one."""
        return list(target.values) if self.allow_inclusion else super().prepare_reference(target)

    def apply(self, predictions: list[str], references: list[Any]) -> Sequence[float]:
        """The values of some answers.

        Raises:
            MathEvaluationError: if a reference is no mathematics.
        """
        pairs = zip(predictions, references, strict=False)
        if self.allow_inclusion:
            return [float(_is_among(prediction, reference)) for prediction, reference in pairs]
        if self.numeric:
            return [float(compare_answers(prediction, reference).matched) for prediction, reference in pairs]
        return super().apply(predictions, references)


@register_metric("numeric_match")
class NumericMatch(Metric):
    """1 where both are equal."""

    def apply(self, predictions: list[Any], references: list[Any]) -> Sequence[float]:
        """The values of some answers."""
        return [float(prediction == reference) for prediction, reference in zip(predictions, references, strict=False)]


@register_metric("math_acc")
class MathAcc(Metric):
    """1 where the mathematics in a model's text is equal to the reference.

    Raises:
        PlanError: if the package that it needs is not installed.
    """

    def __init__(self) -> None:
        require_math_verify()

    def apply(self, predictions: list[str], references: list[Any]) -> Sequence[float]:
        """The values of some answers.

        Raises:
            MathEvaluationError: if a reference is no mathematics.
        """
        pairs = zip(predictions, references, strict=False)
        return [float(compare_answers(a, b, prediction_mode="output").matched) for a, b in pairs]


@register_metric("multi_choice_acc")
class MultiChoiceAcc(Metric):
    """The share of the right options that were chosen; 0 if a wrong one was."""

    def prepare_reference(self, target: Any) -> Any:
        """The labels of all accepted answers."""
        return target.compact()

    def apply(self, predictions: list[str], references: list[Any]) -> Sequence[float]:
        """The values of some answers."""
        values = []
        for prediction, reference in zip(predictions, references, strict=False):
            chosen, right = set(prediction.strip().upper()), set(reference.strip().upper())
            values.append(len(chosen) / len(right) if right and chosen <= right else 0.0)
        return values


@register_metric("anls")
class ANLS(Metric):
    """The similarity to the nearest reference: 1 minus the edit distance over the length of the longer text. Both are
    in lower case, with single spaces.

    Args:
        thresh_hold: A smaller similarity is 0.
    """

    def __init__(self, thresh_hold: float = 0.5) -> None:
        self.thresh_hold = thresh_hold

    def apply(self, predictions: list[str], references: list[Any]) -> Sequence[float]:
        """The values of some answers. A reference may be a list in JSON."""
        pairs = zip(predictions, references, strict=False)
        return [self._similarity(prediction, _alternatives(reference)) for prediction, reference in pairs]

    def _similarity(self, prediction: str, references: Sequence[str]) -> float:
        answer = _folded(prediction)
        distances = []
        for reference in map(_folded, references):
            length = max(len(reference), len(answer))
            distances.append(levenshtein_distance(reference, answer) / length if length else 0.0)
        similarity = 1 - min(distances, default=1.0)
        return similarity if similarity >= self.thresh_hold else 0.0


def _is_among(prediction: str, reference: Any) -> bool:
    answer = normalize_text(prediction)
    accepted = [reference] if isinstance(reference, str) else reference
    return bool(answer) and answer in map(normalize_text, accepted)


def _alternatives(reference: str) -> list[str]:
    try:
        value = json.loads(reference)
    except json.JSONDecodeError:
        value = reference
    return value if isinstance(value, list) else [value if isinstance(value, str) else reference]


def _folded(text: str) -> str:
    return " ".join(text.strip().lower().split())
