"""A check that an answer contains a reference as separate words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from polymeter.core.metric import Metric
from polymeter.metrics.references import one_prediction
from polymeter.reading.text import compared, with_folded_case, with_folded_width, with_single_spaces

_ATTACHED = frozenset("+<>±≤≥≠^#@&_")
"""Symbols that change the meaning of the text beside them: ``C#`` is not ``C``, and ``>5`` is not ``5``."""
_OF_UNITS = frozenset("%‰°")
"""Symbols that change the meaning of a letter (``°C``); a number with such a unit is still that number."""
_IN_NUMBERS = frozenset(".,:/٫٬")
_SIGN = "-"
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
"""Letters of scripts that put no spaces between words."""
_PARTICLE = re.compile(
    "(?:은|는|이|가|을|를|에|에서|의|도|만|로|으로|와|과|랑|이랑|입니다|이다|다|이에요|예요|요|이며|이고)(?!\\w)"
)
"""Korean particles, which follow a noun without a space."""


def contains(
    references: Sequence[Any], predictions: Sequence[Any], ignore_case: bool = False, fold_width: bool = False
) -> float:
    """Return 1 if the answer contains a reference as a separate word, number or phrase, else 0.

    The characters beside the reference decide: ``cat`` is not in ``concatenate``, ``5`` is not in ``-5``, ``15`` or
    ``5.2``, and ``C`` is not in ``C++``. Between letters of scripts without spaces, this rule does not apply. Runs of
    white space count as single spaces. Only an empty answer contains an empty reference.

    Args:
        references: The references.
        predictions: The answer.
        ignore_case: Fold letter case, as Unicode does.
        fold_width: Compare full-width and half-width characters in their usual width.
    """

    def read(value: Any) -> str:
        text = str(value)
        text = with_single_spaces(compared(with_folded_width(text) if fold_width else text))
        return with_folded_case(text) if ignore_case else text

    answer = read(one_prediction(references, predictions))
    return float(any(_is_in(read(reference), answer) for reference in references))


def _is_in(reference: str, answer: str) -> bool:
    if not reference:
        return not answer
    begin = answer.find(reference)
    while begin >= 0:
        if _is_alone(answer, begin, begin + len(reference)):
            return True
        begin = answer.find(reference, begin + 1)
    return False


def _is_alone(answer: str, begin: int, end: int) -> bool:
    """Check whether a part of an answer is neither the end nor the beginning of a longer word or number."""
    first, last = answer[begin], answer[end - 1]
    before, after = answer[max(begin - 2, 0) : begin][::-1], answer[end : end + 2]
    if _are_joined(first, before) or (before[:1] == _SIGN and first.isdecimal()):
        return False
    if first == _SIGN and before[:1].isalnum():
        return False
    return not _are_joined(last, after) or bool(_PARTICLE.match(answer, end))


def _are_joined(edge: str, beside: str) -> bool:
    """Check whether a character at the edge of a reference and the one beside it belong to one word or number.

    Args:
        edge: The character at the edge.
        beside: The two characters beside it, the nearer one first.
    """
    near, far = beside[:1], beside[1:]
    if not near:
        return False
    if near in _ATTACHED or (near in _OF_UNITS and edge.isalpha()):
        return True
    if unicodedata.category(near)[0] == "M":
        return True
    if near.isalnum():
        is_of_word = edge.isalnum() or unicodedata.category(edge)[0] == "M"
        return is_of_word and not (_UNSPACED.match(near) or _UNSPACED.match(edge))
    return near in _IN_NUMBERS and edge.isdecimal() and far.isdecimal()


CONTAINS = Metric(
    "contains",
    score=contains,
    values={"generate_until": "1 if the prediction contains a reference as words of its own"},
    bounds=(0.0, 1.0),
)
