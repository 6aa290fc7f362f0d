"""Scores of the `demo_audio` benchmark.

Digits may be written as digits, together or apart, or as words: "4 0 2", "402" and "four oh two" are the same answer.
Every other word stays, and counts as an error.
"""

from __future__ import annotations

import re
from typing import Any

from polymeter.extend import METRICS

Doc = dict[str, Any]

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
DIGITS = {word: str(digit) for digit, word in enumerate(WORDS)} | {"oh": "0"}


def read_digits(answer: str) -> str:
    """Return an answer in lower case and without punctuation, its digits one by one, separated by spaces."""
    tokens = re.findall(r"\d|[^\W\d_]+", answer.lower())
    return " ".join(DIGITS.get(token, token) for token in tokens)


def process_digits(doc: Doc, results: list[str]) -> dict[str, Any]:
    """Score all digits: the edits and the length for the error rate, and whether the answer is right as a whole."""
    answer = read_digits(results[0])
    edits = METRICS.get("corpus_wer").score(references=[doc["digits"]], predictions=[answer])
    return {"corpus_wer": edits, "exact_match": float(answer == doc["digits"])}
