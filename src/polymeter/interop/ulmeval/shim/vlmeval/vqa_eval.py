"""``vlmeval.dataset.utils.vqa_eval``: open answers compared with their references."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polymeter.interop.ulmeval.shim.ulmeval.smp.misc import istype, toliststr
from polymeter.metrics.vqa import EvalAIAnswerProcessor, relaxed_match

__all__ = [
    "anls_compute",
    "hit_calculate",
    "levenshtein_distance",
    "process_answer",
    "process_line",
    "relaxed_correctness",
]

_BY_DISTANCE = ("DocVQA", "InfoVQA")
_BY_BEST = ("ChartQA", "OCRVQA")
_ANNOTATORS_NEEDED = 3


def levenshtein_distance(s1: Sequence[Any], s2: Sequence[Any]) -> int:
    """The smallest number of insertions, deletions and substitutions that turns one sequence into the other."""
    from rapidfuzz.distance import Levenshtein

    return int(Levenshtein.distance(s1, s2))


def anls_compute(groundtruth: str, prediction: str) -> float:
    """The edit distance of two texts over the length of the longer, ignoring case and extra white space."""
    reference, answer = (" ".join(text.lower().split()) for text in (groundtruth, prediction))
    longest = max(len(reference), len(answer))
    return levenshtein_distance(reference, answer) / longest if longest else 0.0


def process_answer(answer: str) -> str:
    """An answer as the VQA challenge compares it."""
    return EvalAIAnswerProcessor()(answer)


def relaxed_correctness(target: Any, prediction: Any, max_relative_change: float = 0.05) -> bool:
    """Return whether an answer is close to a number, or equals a text ignoring case (Masry et al. 2022, section 5.1).

    Nothing is close to an infinite number, or to NaN, which is what a missing cell is.
    """
    numbers = [_as_float(value) for value in (target, prediction)]
    if None not in numbers and not all(map(math.isfinite, filter(None, numbers))):
        return False
    return bool(relaxed_match([str(target)], [str(prediction)], max_relative_change))


def _as_float(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def process_line(line: Mapping[str, Any], method: str = "vqa_score") -> dict[str, Any]:
    """Match the ``prediction`` of a row with each of its answers.

    Args:
        line: The row; ``answer`` is one answer, or the text of a list of them.
        method: ``vqa_score``, ``anls`` (a distance), ``relaxed_accuracy``, ``accuracy``, or anything else for the VQA
            challenge's equality.

    Returns:
        ``gt``, ``pred`` and ``match``, one for each answer.
    """
    references = toliststr(line["answer"]) if istype(line["answer"], list) else [str(line["answer"])]
    answer = str(line["prediction"])
    if method == "anls":
        return {
            "gt": references,
            "pred": answer,
            "match": [anls_compute(reference, answer) for reference in references],
        }
    answer = answer.strip()
    if method == "relaxed_accuracy":
        return {
            "gt": references,
            "pred": answer,
            "match": [relaxed_correctness(reference, answer) for reference in references],
        }
    if method == "accuracy":
        match = [float(reference.strip().lower() == answer.lower()) for reference in references]
        return {"gt": references, "pred": answer, "match": match}
    references, answer = [process_answer(reference) for reference in references], process_answer(answer)
    if method == "vqa_score":
        count = references.count(answer)
        of_others = [count - 1 if reference == answer else count for reference in references]
        match = [min(1, n / _ANNOTATORS_NEEDED) for n in of_others]
        return {"gt": references, "pred": answer, "match": match}
    return {"gt": references, "pred": answer, "match": [reference == answer for reference in references]}


def hit_calculate(result: Iterable[Mapping[str, Any]], dataset_name: str, anls_threshold: float = 0.5) -> list[float]:
    """A score for each row of ``process_line``, by the rule of its dataset; also of rows with one number as match."""
    matches = [[match] if isinstance(match := line["match"], (int, float)) else match for line in result]
    if any(name in dataset_name for name in _BY_DISTANCE):
        near = [1 - min(match) for match in matches]
        return [0.0 if value < anls_threshold else value for value in near]
    if any(name in dataset_name for name in _BY_BEST):
        return [float(max(match)) for match in matches]
    return [sum(match) / len(match) for match in matches]
