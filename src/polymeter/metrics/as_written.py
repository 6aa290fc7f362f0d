"""Metrics that compare texts code point by code point, in their published form.

Code that calls them by another system's name gets these, and so does a run at parity with that system. Metrics that a
task names read both texts first (``metrics.text``).
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polymeter.metrics.bounded import bounded
from polymeter.metrics.patterns import without_matches
from polymeter.metrics.references import no_pairing, one_prediction
from polymeter.reading.text import with_folded_width

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NO_DIGITS = str.maketrans("", "", string.digits)
_ANLS_THRESHOLD = 0.5


def share_equal(references: Sequence[Any], predictions: Sequence[Any]) -> float:
    """Return 1 if a single prediction equals any reference, else 0; for several, the share that equal their own
    reference.

    Raises:
        ScoreError: if the references are missing, or several predictions do not have one each.
    """
    if len(predictions) == 1 and references:
        return float(any(bool(reference == predictions[0]) for reference in references))
    if not references or len(references) != len(predictions):
        raise no_pairing(references, predictions)
    return sum(bool(pair[0] == pair[1]) for pair in zip(references, predictions, strict=True)) / len(predictions)


def exact_match(
    references: Sequence[Any],
    predictions: Sequence[Any],
    regexes_to_ignore: Sequence[str] | str | None = None,
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    ignore_numbers: bool = False,
    fold_width: bool = False,
) -> float:
    """Check whether the answer equals a reference, by the rules of ``exact_match`` in Hugging Face's *evaluate*.

    Ignored parts are removed in the order of the arguments: matches of patterns, case (as lower case), ASCII
    punctuation, ASCII digits. ``fold_width`` is Polymeter's own, and comes first.

    Returns:
        0 or 1 for one answer, else the share of answers that equal their own reference.
    """
    patterns = [regexes_to_ignore] if isinstance(regexes_to_ignore, str) else list(regexes_to_ignore or ())
    deleted = {**(_NO_PUNCTUATION if ignore_punctuation else {}), **(_NO_DIGITS if ignore_numbers else {})}
    if not (patterns or deleted or ignore_case or fold_width):
        return share_equal(references, predictions)

    def cleaned(text: Any) -> Any:
        if not isinstance(text, str):
            return text
        text = without_matches(with_folded_width(text) if fold_width else text, patterns)
        return (text.lower() if ignore_case else text).translate(deleted)

    return share_equal(list(map(cleaned, references)), list(map(cleaned, predictions)))


@bounded
def anls(
    references: Sequence[Any],
    predictions: Sequence[Any],
    threshold: float | None = None,
    thresh_hold: float | None = None,
    fold_width: bool = False,
) -> float:
    """Compute the normalised Levenshtein similarity to the nearest reference, over the lengths of the original texts.

    The distance is between texts in lower case with runs of white space collapsed.
    """
    from rapidfuzz.distance import Levenshtein

    def text_of(value: Any) -> str:
        text = value if isinstance(value, str) else str(value)
        return with_folded_width(text) if fold_width else text

    def folded(text: str) -> str:
        return " ".join(text.split()).lower()

    answer = text_of(one_prediction(references, predictions))
    best = 0.0
    for reference in map(text_of, references):
        length = max(len(reference), len(answer))
        distance = Levenshtein.distance(folded(reference), folded(answer))
        best = max(best, 1 - distance / length if length else 1.0)
    limit = threshold if threshold is not None else thresh_hold if thresh_hold is not None else _ANLS_THRESHOLD
    return best if best >= limit else 0.0


AS_WRITTEN: Mapping[str, Callable[..., Any]] = {"exact_match": exact_match, "anls": anls}
"""These metrics, by the names of those that read texts first."""
