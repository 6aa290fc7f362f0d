"""Metrics that compare a generated text with its references, sample by sample."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from polymeter.core.metric import Aggregation, Metric
from polymeter.metrics.bounded import bounded
from polymeter.metrics.patterns import without_matches
from polymeter.metrics.references import one_prediction, share_equal

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NO_DIGITS = str.maketrans("", "", string.digits)
_ANLS_THRESHOLD = 0.5
_BYPASSED = 999


def exact_match(
    references: Sequence[Any],
    predictions: Sequence[Any],
    regexes_to_ignore: Sequence[str] | str | None = None,
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    ignore_numbers: bool = False,
) -> float:
    """Whether the answer equals a reference, after everything to be ignored is removed from both.

    It is removed in the order of the arguments. The rules are those of ``exact_match`` in Hugging Face's *evaluate*. A
    reference that is not text stays unchanged and never equals a text.

    Args:
        references: The references.
        predictions: The answer. With as many answers as references, the share that equal their own.
        regexes_to_ignore: Patterns whose matches are deleted, one after the other, before case is folded.
        ignore_case: Compare in lower case.
        ignore_punctuation: Delete ASCII punctuation.
        ignore_numbers: Delete ASCII digits.

    Returns:
        0 or 1 for one answer, else the share.
    """
    if regexes_to_ignore or ignore_case or ignore_punctuation or ignore_numbers:
        patterns = [regexes_to_ignore] if isinstance(regexes_to_ignore, str) else list(regexes_to_ignore or ())
        deleted = {**(_NO_PUNCTUATION if ignore_punctuation else {}), **(_NO_DIGITS if ignore_numbers else {})}
        references = [_cleaned(text, patterns, ignore_case, deleted) for text in references]
        predictions = [_cleaned(text, patterns, ignore_case, deleted) for text in predictions]
    return share_equal(references, predictions)


@bounded
def anls(
    references: Sequence[Any],
    predictions: Sequence[Any],
    threshold: float | None = None,
    thresh_hold: float | None = None,
) -> float:
    """Normalised Levenshtein similarity to the nearest reference (Biten et al. 2019).

    ``max_r 1 - distance(r, answer) / max(len(r), len(answer))``, and 0 below the threshold. The distance is between
    texts in lower case with runs of white space collapsed; the lengths are those of the original texts, as in
    lmms-eval.

    Args:
        references: The references.
        predictions: The answer.
        threshold: Below this similarity an answer is simply wrong; 0.5 by default.
        thresh_hold: lmms-eval's name for the same; ``threshold`` wins.
    """
    from rapidfuzz.distance import Levenshtein

    answer = _text(one_prediction(references, predictions))
    folded = _collapsed(answer).lower()
    best = 0.0
    for reference in map(_text, references):
        length = max(len(reference), len(answer))
        distance = Levenshtein.distance(_collapsed(reference).lower(), folded)
        best = max(best, 1 - distance / length if length else 1.0)
    limit = threshold if threshold is not None else thresh_hold if thresh_hold is not None else _ANLS_THRESHOLD
    return best if best >= limit else 0.0


@bounded
def anls_paper(references: Sequence[Any], predictions: Sequence[Any], threshold: float = _ANLS_THRESHOLD) -> float:
    """Normalised Levenshtein similarity as the paper defines it (Biten et al. 2019, *Scene Text Visual Question
    Answering*, equation 1; used for DocVQA as well).

    ``max_r s(r, answer)`` with ``s = 1 - distance / max(len(r), len(answer))`` if the normalised distance is below the
    threshold, else 0. Both texts are compared in lower case, stripped, with single spaces; distance and lengths are
    those of the same texts, whereas ``anls`` takes the lengths of the original ones, as lmms-eval does, and counts an
    answer exactly at the threshold.

    Args:
        references: The references.
        predictions: The answer.
        threshold: From this normalised distance on an answer is simply wrong.
    """
    from rapidfuzz.distance import Levenshtein

    answer = _collapsed(_text(one_prediction(references, predictions))).strip().lower()
    distances = [
        Levenshtein.normalized_distance(_collapsed(_text(reference)).strip().lower(), answer)
        for reference in references
    ]
    nearest = min(distances, default=1.0)
    return 1 - nearest if nearest < threshold else 0.0


@bounded
def character_error_rate(references: Sequence[Any], predictions: Sequence[Any]) -> float:
    """Insertions, deletions and substitutions per character of the reference; the smallest rate over all references.

    White space is collapsed. The rate may exceed 1. Against an empty reference every inserted character counts as one
    error. The mean over samples is not the rate over the whole corpus, which gives long texts more weight.
    """
    return _error_rate(references, predictions, split=False)


@bounded
def word_error_rate(references: Sequence[Any], predictions: Sequence[Any]) -> float:
    """Edits per word of the reference, words separated by white space; otherwise like ``character_error_rate``."""
    return _error_rate(references, predictions, split=True)


def answer_itself(references: Sequence[Any], predictions: Sequence[Any]) -> Any:
    """The answer unchanged: nothing is computed."""
    return predictions[0] if len(predictions) == 1 else list(predictions)


def bypassed(values: Sequence[Any]) -> int:
    """999, whatever the values: the number with which lmms-eval says that nothing was computed."""
    return _BYPASSED


def _cleaned(text: Any, patterns: Sequence[str], ignore_case: bool, deleted: dict[int, int | None]) -> Any:
    if not isinstance(text, str):
        return text
    text = without_matches(text, patterns)
    if ignore_case:
        text = text.lower()
    return text.translate(deleted) if deleted else text


def _error_rate(references: Sequence[Any], predictions: Sequence[Any], *, split: bool) -> float:
    from rapidfuzz.distance import Levenshtein

    answer: str | list[str] = _collapsed(_text(one_prediction(references, predictions)))
    targets: list[str] | list[list[str]] = [_collapsed(_text(reference)) for reference in references]
    if split:
        answer, targets = str(answer).split(), [str(target).split() for target in targets]
    return min(float(Levenshtein.distance(target, answer) / max(len(target), 1)) for target in targets)


def _collapsed(text: str) -> str:
    return " ".join(text.split())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


BYPASS_AGGREGATION = Aggregation("bypass", bypassed, uncertainty="none")

EXACT_MATCH = Metric(
    "exact_match",
    score=exact_match,
    values={
        "generate_until": "1 if the prediction equals a reference, ignored parts removed",
        "multiple_choice": "1 if the right choice is the greedy continuation",
    },
    bounds=(0.0, 1.0),
)
ANLS = Metric(
    "anls",
    score=anls,
    values={"generate_until": "similarity to the nearest reference, 0 below the threshold"},
    bounds=(0.0, 1.0),
)
ANLS_PAPER = Metric(
    "anls_paper",
    score=anls_paper,
    values={"generate_until": "similarity to the nearest reference as the paper defines it, 0 below the threshold"},
    bounds=(0.0, 1.0),
)
CER = Metric(
    "cer",
    higher_is_better=False,
    score=character_error_rate,
    values={"generate_until": "character edits over characters of the reference"},
    bounds=(0.0, None),
)
WER = Metric(
    "wer",
    higher_is_better=False,
    score=word_error_rate,
    values={"generate_until": "word edits over words of the reference"},
    bounds=(0.0, None),
)
BYPASS = Metric(
    "bypass",
    "bypass",
    score=answer_itself,
    values={
        "generate_until": "the prediction",
        "loglikelihood": "log-likelihood of the target and whether it is greedy",
        "multiple_choice": "log-likelihood of each choice and whether it is greedy",
        "generate_image": "number of images",
    },
)
