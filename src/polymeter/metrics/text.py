"""Metrics that compare a generated text with its references, sample by sample.

Both texts are read first: always by ``reading.text.compared``, and by the rules that a metric's arguments add.
``as_written`` has the same metrics without this step.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from polymeter.core.metric import Aggregation, Metric
from polymeter.metrics.bounded import bounded
from polymeter.metrics.patterns import without_matches
from polymeter.metrics.references import one_prediction, share_equal
from polymeter.reading.text import (
    compared,
    with_folded_case,
    with_folded_width,
    with_single_spaces,
    without_digits,
    without_punctuation,
)

_ANLS_THRESHOLD = 0.5
_BYPASSED = 999


def exact_match(
    references: Sequence[Any],
    predictions: Sequence[Any],
    regexes_to_ignore: Sequence[str] | str | None = None,
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    ignore_numbers: bool = False,
    fold_width: bool = False,
) -> float:
    """Check whether the answer equals a reference, after ignored parts are removed from both.

    The width is folded first; the rest is removed in the order of the arguments. If nothing of a text is left, the
    original text is compared. A reference that is not text stays unchanged and never equals a text.

    Args:
        references: The references.
        predictions: The answer. If it has as many answers as references, the share that equal their own reference is
            returned.
        regexes_to_ignore: Patterns whose matches are deleted, one after the other, before case is folded.
        ignore_case: Fold letter case, as Unicode does.
        ignore_punctuation: Delete the punctuation of all scripts; see ``reading.text.without_punctuation``.
        ignore_numbers: Delete the digits of all scripts.
        fold_width: Compare full-width and half-width characters in their usual width.

    Returns:
        0 or 1 for one answer, else the share.
    """
    if not (regexes_to_ignore or ignore_case or ignore_punctuation or ignore_numbers or fold_width):
        return share_equal(references, predictions)
    cleaned = partial(
        _cleaned,
        regexes_to_ignore=regexes_to_ignore,
        ignore_case=ignore_case,
        ignore_punctuation=ignore_punctuation,
        ignore_numbers=ignore_numbers,
        fold_width=fold_width,
    )
    return share_equal(list(map(cleaned, references)), list(map(cleaned, predictions)))


def _cleaned(
    value: Any,
    regexes_to_ignore: Sequence[str] | str | None = None,
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    ignore_numbers: bool = False,
    fold_width: bool = False,
) -> Any:
    """Return a text as ``exact_match`` compares it; anything else stays unchanged."""
    if not isinstance(value, str):
        return value
    plain = _text_compared(value, fold_width)
    patterns = [regexes_to_ignore] if isinstance(regexes_to_ignore, str) else list(regexes_to_ignore or ())
    text = without_matches(plain, patterns)
    if ignore_case:
        text = with_folded_case(text)
    if ignore_punctuation:
        text = without_punctuation(text)
    if ignore_numbers:
        text = without_digits(text)
    return plain if not text or text.isspace() else text


def text_compared(prediction: Any, **kwargs: Any) -> str:
    """Return an answer as ``exact_match`` with these arguments compares it."""
    return str(_cleaned(prediction, **kwargs))


@bounded
def anls(
    references: Sequence[Any],
    predictions: Sequence[Any],
    threshold: float | None = None,
    thresh_hold: float | None = None,
    fold_width: bool = False,
) -> float:
    """Compute the normalised Levenshtein similarity to the nearest reference (Biten et al. 2019).

    ``max_r 1 - distance(r, answer) / max(len(r), len(answer))``, and 0 below the threshold. Letter case does not count.
    The distance is between texts with runs of white space collapsed; the lengths are those of the original texts, as in
    lmms-eval.

    Args:
        references: The references.
        predictions: The answer.
        threshold: Below this similarity, an answer scores 0; 0.5 by default.
        thresh_hold: lmms-eval's name for the same; ``threshold`` takes precedence.
        fold_width: Compare full-width and half-width characters in their usual width.
    """
    from rapidfuzz.distance import Levenshtein

    answer = with_folded_case(_text_compared(one_prediction(references, predictions), fold_width))
    collapsed = with_single_spaces(answer)
    best = 0.0
    for value in references:
        reference = with_folded_case(_text_compared(value, fold_width))
        length = max(len(reference), len(answer))
        distance = Levenshtein.distance(with_single_spaces(reference), collapsed)
        best = max(best, 1 - distance / length if length else 1.0)
    limit = threshold if threshold is not None else thresh_hold if thresh_hold is not None else _ANLS_THRESHOLD
    return best if best >= limit else 0.0


@bounded
def anls_paper(
    references: Sequence[Any],
    predictions: Sequence[Any],
    threshold: float = _ANLS_THRESHOLD,
    fold_width: bool = False,
) -> float:
    """Compute the normalised Levenshtein similarity as the paper defines it (Biten et al. 2019, *Scene Text Visual
    Question Answering*, equation 1; used for DocVQA as well).

    ``max_r s(r, answer)`` with ``s = 1 - distance / max(len(r), len(answer))`` if the normalised distance is below the
    threshold, else 0. Letter case does not count, and runs of white space are single spaces. Distance and lengths are
    those of the same texts. In contrast, ``anls`` uses the lengths with all white space, as lmms-eval does, and counts
    an answer exactly at the threshold.

    Args:
        references: The references.
        predictions: The answer.
        threshold: From this normalised distance on, an answer scores 0.
        fold_width: Compare full-width and half-width characters in their usual width.
    """
    from rapidfuzz.distance import Levenshtein

    def folded(value: Any) -> str:
        return with_folded_case(with_single_spaces(_text_compared(value, fold_width)))

    answer = folded(one_prediction(references, predictions))
    distances = [Levenshtein.normalized_distance(folded(reference), answer) for reference in references]
    nearest = min(distances, default=1.0)
    return 1 - nearest if nearest < threshold else 0.0


@bounded
def character_error_rate(references: Sequence[Any], predictions: Sequence[Any], fold_width: bool = False) -> float:
    """Compute insertions, deletions and substitutions per character of the reference: the smallest rate over all
    references.

    White space is collapsed. The rate may exceed 1. Against an empty reference every inserted character counts as one
    error. The mean over samples is not the rate over the whole corpus, in which long texts have more weight.

    Args:
        references: The references.
        predictions: The answer.
        fold_width: Compare full-width and half-width characters in their usual width.
    """
    return _error_rate(references, predictions, fold_width, split=False)


@bounded
def word_error_rate(references: Sequence[Any], predictions: Sequence[Any], fold_width: bool = False) -> float:
    """Compute edits per word of the reference, with words separated by white space; otherwise like
    ``character_error_rate``.
    """
    return _error_rate(references, predictions, fold_width, split=True)


def answer_itself(references: Sequence[Any], predictions: Sequence[Any]) -> Any:
    """Return the answer unchanged."""
    return predictions[0] if len(predictions) == 1 else list(predictions)


def bypassed(values: Sequence[Any]) -> int:
    """Return 999 for any values, which in lmms-eval means that nothing was computed."""
    return _BYPASSED


def _error_rate(references: Sequence[Any], predictions: Sequence[Any], fold_width: bool, *, split: bool) -> float:
    from rapidfuzz.distance import Levenshtein

    def units(value: Any) -> str | list[str]:
        text = with_single_spaces(_text_compared(value, fold_width))
        return text.split() if split else text

    answer = units(one_prediction(references, predictions))
    targets = [units(reference) for reference in references]
    return min(float(Levenshtein.distance(target, answer) / max(len(target), 1)) for target in targets)


def _text_compared(value: Any, fold_width: bool) -> str:
    text = value if isinstance(value, str) else str(value)
    return compared(with_folded_width(text) if fold_width else text)


BYPASS_AGGREGATION = Aggregation("bypass", bypassed, uncertainty="none")

EXACT_MATCH = Metric(
    "exact_match",
    score=exact_match,
    values={
        "generate_until": "1 if the prediction equals a reference, ignored parts removed",
        "multiple_choice": "1 if the right choice is the greedy continuation",
    },
    bounds=(0.0, 1.0),
    version="2",
    extract=text_compared,
)
ANLS = Metric(
    "anls",
    score=anls,
    values={"generate_until": "similarity to the nearest reference, 0 below the threshold"},
    bounds=(0.0, 1.0),
    version="2",
)
ANLS_PAPER = Metric(
    "anls_paper",
    score=anls_paper,
    values={"generate_until": "the same as the paper defines it"},
    bounds=(0.0, 1.0),
    version="2",
)
CER = Metric(
    "cer",
    higher_is_better=False,
    score=character_error_rate,
    values={"generate_until": "character edits over characters of the reference"},
    bounds=(0.0, None),
    version="2",
)
WER = Metric(
    "wer",
    higher_is_better=False,
    score=word_error_rate,
    values={"generate_until": "word edits over words of the reference"},
    bounds=(0.0, None),
    version="2",
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
