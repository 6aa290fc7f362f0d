"""Choices that refer to other choices by their places or letters, such as "None of the above" or "Both A and B". In
another order they would mean something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_ABOVE = re.compile(
    r"\b(?:all|none|both|either|neither|any|some|two|one|each|more than one)\b[^.]*\b(?:above|below|preceding|previous"
    r"|(?:these|those|the|other|listed|given) (?:options?|choices?|answers?|alternatives?))\b"
    r"|^\W*(?:all|none|both|neither|either|any) of (?:these|them|those)\W*$"
    r"|\bthe (?:above|(?:first|second|third|fourth|last|previous|preceding|next|other) (?:option|choice|answer)s?)\b"
    r"|以上|上述|前述|全部(?:都)?(?:是|对|正确)|(?:都|皆)(?:不|非|是|对|正确)|[A-H]\s*[和与及或、]\s*[A-H]",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"\W*(?:(?:both|only|neither|either|options?|choices?|answers?)\s+)*\(?[A-Z]\)?"
    r"(?:\s*(?:,|&|/|\band\b|\bor\b|\bnor\b|, and\b|, or\b)\s*\(?[A-Z]\)?)+"
    r"(?:\s+(?:only|are (?:correct|true|right)))?\W*",
    re.IGNORECASE,
)
_NAMES = r"(?:options?|choices?|answers?)"
_ONE = re.compile(
    rf"\W*(?:only\s+(?:{_NAMES}\s+)?|(?:same as\s+|not\s+)?{_NAMES}\s+)\(?[A-Z1-9]\)?(?:\s+only)?\W*", re.IGNORECASE
)


def refer_to_places(texts: Sequence[str]) -> bool:
    """Return whether one of the choices of a question refers to others by their places.

    If all choices have letters only ("A and B", "B and C"), these are the content of the question, such as the points
    of a figure.
    """
    if any(_ABOVE.search(text) for text in texts):
        return True
    named = [bool(_SEVERAL.fullmatch(text) or _ONE.fullmatch(text)) for text in texts]
    return any(named) and not all(named)
