"""Numbers from texts and lists that adapters compute themselves. What is as in 0.17 is 0.17's."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

from polymeter.interop.evalscope.tasks.scoring.metrics import (
    bleu_ngram_one_sample,
    calculate_pass_at_k,
    exact_match,
    macro_mean,
    mean,
    micro_mean,
    simple_f1_score,
)
from polymeter.metrics.bounded import bounded
from polymeter.metrics.overlap import Rouge, distinct_rouge, rouge

__all__ = [
    "bleu_ngram_one_sample",
    "calculate_pass_at_k",
    "calculate_pass_hat_k",
    "compute_rouge_score_one_sample",
    "compute_rouge_score_one_sample_zh",
    "exact_match",
    "levenshtein_distance",
    "macro_mean",
    "mean",
    "micro_mean",
    "normalize_text",
    "simple_f1_score",
]

_PARTS = {"r": "recall", "p": "precision", "f": "f1"}


def normalize_text(text: str) -> str:
    """A text in lower case without white space around it."""
    return text.strip().lower()


def calculate_pass_hat_k(num_trials: int, success_count: int, k: int) -> float:
    """The probability that k answers, drawn from some, are all right (Yao et al. 2024): ``C(c, k) / C(n, k)``.

    Args:
        num_trials: The answers.
        success_count: Of them right.
        k: How many are drawn.

    Raises:
        ValueError: if there are fewer than k.
    """
    if num_trials < k:
        raise ValueError(f"pass^{k} needs {k} answers, and there are {num_trials}.")
    return comb(success_count, k) / comb(num_trials, k)


def levenshtein_distance(s1: str | Sequence[str], s2: str | Sequence[str]) -> int:
    """The least number of insertions, deletions and replacements of characters, or of the items of lists."""
    return _distance(s1 if isinstance(s1, str) else list(s1), s2 if isinstance(s2, str) else list(s2))


@bounded
def _distance(first: str | list[str], second: str | list[str]) -> int:
    from rapidfuzz.distance import Levenshtein

    return int(Levenshtein.distance(first, second))


def compute_rouge_score_one_sample(
    predict: Sequence[str], reference: Sequence[str], strict: bool = False
) -> dict[str, float]:
    """ROUGE-1, -2 and -L of words separated by white space, as means over pairs: ``rouge-1-r``, ``rouge-1-p``,
    ``rouge-1-f``, ….

    Args:
        predict: Predictions.
        reference: A reference for each.
        strict: Refuse lists of different lengths.

    Raises:
        ValueError: if a text is given in place of a list, or the lengths differ and must not.
    """
    pairs = _pairs(predict, reference, strict=strict)
    return _means([rouge(expected.split(), answer.split()) for answer, expected in pairs], str.lower)


def compute_rouge_score_one_sample_zh(
    predict: Sequence[str], reference: Sequence[str], strict: bool = False
) -> dict[str, float]:
    """ROUGE-1, -2 and -L of distinct n-grams, Chinese cut into words, as means over pairs: ``Rouge-1-R``,
    ``Rouge-1-P``, ``Rouge-1-F``, ….

    Pairs with an empty text are left out; where all are, every value is 0.

    Args:
        predict: Predictions.
        reference: A reference for each.
        strict: Refuse lists of different lengths.

    Raises:
        ValueError: if a text is given in place of a list, or the lengths differ and must not.
        PlanError: if a text is Chinese and ``jieba`` is not installed.
    """
    pairs = _pairs(predict, reference, strict=strict)
    scored = [distinct_rouge(expected, answer) for answer, expected in pairs if answer.strip() and expected.strip()]
    return _means(scored, str.upper)


def _pairs(predict: Sequence[str], reference: Sequence[str], *, strict: bool) -> list[tuple[str, str]]:
    if isinstance(predict, str) or isinstance(reference, str):
        raise ValueError("ROUGE takes a list of predictions and a list of references, and a text was given.")
    return list(zip(predict, reference, strict=strict))


def _means(scores: Sequence[dict[str, Rouge]], written: Any) -> dict[str, float]:
    """The mean of each part, by its name: small letters, or ``Rouge-L-F``."""
    root = "Rouge" if written is str.upper else "rouge"
    return {
        f"{root}-{written(kind)}-{written(letter)}": mean([getattr(score[kind], part) for score in scores])
        for kind in ("1", "2", "l")
        for letter, part in _PARTS.items()
    }
