"""The rules of MME-RealWorld: the first letter of an answer, and its table by task, subtask and category."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from polymeter.interop.ulmeval.shim.ulmeval.smp.file import load

__all__ = ["extract_characters_regex", "get_dimension_rating"]

_CHOICES = ("(A)", "(B)", "(C)", "(D)", "(E)")
_ANNOUNCED = re.compile(
    r"The best answer is|The correct answer is|The answer is|The answer|The best option is|The correct option is"
    r"|Best answer:|Best option:"
)
_LETTER = re.compile("[ABCDE]")
_WORDS = 10
_TASKS = ("Reasoning", "Perception")
_SUBTASKS = ("Monitoring", "Autonomous_Driving", "OCR with Complex Context", "Diagram and Table", "Remote Sensing")
_ATTRIBUTE = "attribute"
_AVERAGE = "Avg"


def extract_characters_regex(s: Any, choices: Sequence[str] = _CHOICES) -> str:
    """The first letter from A to E of an answer, without the words that announce one; empty if it names no option.

    Args:
        s: The answer.
        choices: The options as ``(A) text``, of which an answer without a letter may be a part.
    """
    text = "" if isinstance(s, dict) else _without_announcements(str(s).strip())
    found = _LETTER.search(text)
    if found is not None:
        return found[0]
    if len(text.split()) > _WORDS:
        return ""
    return next((choice[1] for choice in choices if text.lower() in choice.lower()), "")


def _without_announcements(text: str) -> str:
    """A text without each announcement, one after the other: removing one may leave another."""
    for words in _ANNOUNCED.pattern.split("|"):
        text = text.replace(words, "")
    return text


def get_dimension_rating(data_path: str | os.PathLike[str]) -> dict[str, Any]:
    """The accuracies of scored predictions: task → subtask → category, each with its ``Avg``, and ``Overall``.

    Args:
        data_path: A table with ``category`` (``task/subtask``), ``l2-category`` and ``score`` (1, 0, or -1 for an
            answer that does not count).
    """
    counts: dict[tuple[str, str, str], list[float]] = {}
    for row in load(data_path).to_dict("records"):
        task, subtask = str(row["category"]).split("/")[:2]
        category = str(row["l2-category"]).lower()
        if _ATTRIBUTE in category:
            category = f"{category.split('/')[0]}/{_ATTRIBUTE}"
        if row["score"] >= 0:
            counts.setdefault((task, subtask, category), []).append(row["score"])
    results: dict[str, Any] = {"Overall": _mean([score for own in counts.values() for score in own])}
    for task in _TASKS:
        of_task = {key: own for key, own in counts.items() if key[0] == task}
        results[task] = {}
        for subtask in _SUBTASKS:
            own = {key[2]: scores for key, scores in of_task.items() if key[1] == subtask}
            averages = {category: _mean(scores) for category, scores in own.items()}
            results[task][subtask] = {**averages, _AVERAGE: _mean([one for scores in own.values() for one in scores])}
        results[task][_AVERAGE] = _mean([one for own in of_task.values() for one in own])
    return results


def _mean(scores: Sequence[float]) -> float:
    return sum(scores) / len(scores) if scores else 0
