"""Scores of MMStar (Chen et al. 2024, "Are We on the Right Way for Evaluating Large Vision-Language Models?")."""

from __future__ import annotations

from typing import Any

Doc = dict[str, Any]
_LEADS = ("", "(", "option ", "the answer is ")
"""Texts that may precede the letter, in lower case."""


def is_right(answer: str, letter: str) -> bool:
    """Return whether an answer begins with the letter of the right option."""
    said, wanted = (text.lower().strip().replace("\n", " ") for text in (answer, letter))
    return bool(wanted) and any(said.startswith(lead) and said[len(lead) : len(lead) + 1] == wanted for lead in _LEADS)


def process_results(doc: Doc, results: list[str]) -> dict[str, float]:
    """Score an answer: for all questions, and for those of its category."""
    score = float(is_right(results[0], str(doc["answer"])))
    return {"accuracy": score, str(doc["category"]): score}
