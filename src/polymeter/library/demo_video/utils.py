"""Scores of the `demo_video` benchmarks.

The answer may be a transcript of the clip, line by line: the order of its words is then its answer.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

from polymeter.extend import METRICS, read_choice

Doc = dict[str, Any]


def read_words(answer: str) -> list[str]:
    """Return the words of an answer in capital letters, without punctuation. A word repeated at once counts once: a
    transcript of frames repeats what stays on screen.
    """
    return [word for word, _ in groupby(re.findall(r"[^\W\d_]+", answer.upper()))]


def chosen(answer: str, choices: list[str]) -> int | None:
    """Return the option that an answer chooses, by its letter, by its text, or by words in its order and no others."""
    words = read_words(answer)
    orders = [read_words(choice) for choice in choices]
    return orders.index(words) if words in orders else read_choice(answer, choices)


def process_order(doc: Doc, results: list[str]) -> dict[str, float]:
    """Score the order that the answer chooses."""
    option = chosen(results[0], doc["choices"])
    return {"acc": float(option is not None and "ABCD"[option] == doc["letter"])}


def process_words(doc: Doc, results: list[str]) -> dict[str, Any]:
    """Score all words: the edits and the length for the error rate, and whether the answer is right as a whole."""
    answer = " ".join(read_words(results[0]))
    edits = METRICS.get("corpus_wer").score(references=[doc["words"]], predictions=[answer])
    return {"corpus_wer": edits, "exact_match": float(answer == doc["words"])}
