"""Prompts and scores of MMAU (Sakshi et al. 2024, "MMAU: A Massive Multi-Task Audio Understanding and Reasoning
Benchmark"). Answers are compared by their words, not by letters.
"""

from __future__ import annotations

import json
import re
from typing import Any

Doc = dict[str, Any]
_WORD = re.compile(r"\w+")


def choices_of(doc: Doc) -> list[str]:
    """Return the choices: a list, or the JSON text of one."""
    given = doc["choices"]
    return list(json.loads(given) if isinstance(given, str) else given)


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Any = None) -> str:
    """Return the question and its choices, each on a line of its own."""
    choices = "\n".join(f"- {choice}" for choice in choices_of(doc))
    return f"{doc['question']}\n{choices}\nAnswer with the text of one of the choices."


def words(text: str) -> set[str]:
    """Return the words of a text, in lower case."""
    return set(_WORD.findall(text.lower()))


def is_right(answer: str, right: str, choices: list[str]) -> bool:
    """Return whether an answer has all words of the right choice, and none that only other choices have."""
    said, wanted = words(answer), words(right)
    others = {word for choice in choices for word in words(choice)} - wanted
    return bool(said) and wanted <= said and not said & others


def process_results(doc: Doc, results: list[str]) -> dict[str, float]:
    """Score an answer: for all questions, for those of its kind of sound, and for those of its difficulty."""
    score = float(is_right(results[0], doc["answer"], choices_of(doc)))
    return {"accuracy": score, doc["task"]: score, doc["difficulty"]: score}
