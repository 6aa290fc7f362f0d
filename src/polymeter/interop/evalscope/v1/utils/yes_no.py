"""A verdict in a model's text: yes or no."""

from __future__ import annotations

import re

_YES = re.compile(r"\b(?:Yes|YES)\b")
_NO = re.compile(r"\b(?:No|NO)\b")
_SMALL = re.compile(r"(yes|no)[.!]?")


def extract_verdict(prediction: str, *, allow_lowercase_exact: bool = False) -> str | None:
    """``YES`` or ``NO``, if the text has one of them as a word with a capital letter, and not both; else ``None``.

    Args:
        prediction: The text.
        allow_lowercase_exact: Take a text that is nothing but ``yes`` or ``no``, too.
    """
    if allow_lowercase_exact and (small := _SMALL.fullmatch(prediction.strip())):
        return small.group(1).upper()
    has_yes, has_no = bool(_YES.search(prediction)), bool(_NO.search(prediction))
    if has_yes == has_no:
        return None
    return "YES" if has_yes else "NO"
