r"""Reading of exact numbers from short texts.

Plain decimals, fractions and ``\frac`` are read here, as exact fractions, so that no rounding decides whether a number
is within a tolerance. All other notation is algebra, which ``symbolic`` computes.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

from polymeter.reading.text import compared, with_folded_width

_LONGEST = 200
_DIGITS = r"(?:\d{1,3}(?:[,\u066c]\d{3})+|\d{1,3}(?: \d{3})+|\d+)"
_DECIMAL = rf"(?:{_DIGITS}(?:\.\d*)?|\.\d+)"
_PLAIN = re.compile(rf"(?P<sign>[-+]?)\s*(?P<number>{_DECIMAL})(?:[eE](?P<power>[-+]?\d{{1,3}}))?")
_STOP = re.compile(r"(?<=[\w%)\]}$])[.。]\Z")
_PERCENT = re.compile(r"\s*(?:\\?%|\u066a)\Z")
_SIGN = re.compile(r"[-+]")
NUMBER = r"(?:(?:\d{1,3}(?:[,\u066c]\d{3})+(?!\d)|\d+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3}(?!\w))?"
"""A decimal number in running text, without its sign, as a pattern."""


def tidied(text: str) -> str:
    """Return a short text as it is read: by ``compared``, in usual width, without a final full stop."""
    return _STOP.sub("", with_folded_width(compared(text))).strip()


def is_percent(text: str) -> bool:
    """Check whether a text ends in a percent sign."""
    return _PERCENT.search(tidied(text)) is not None


def number_of(text: str, *, ignores_percent: bool = False) -> Fraction | None:
    """Return the decimal number that a text is, exactly; ``None`` if it is anything else.

    Commas or spaces between groups of three digits, a currency sign at either end, a final full stop and an exponent
    are read. ``12%`` is 0.12.

    Args:
        text: The text.
        ignores_percent: Whether ``12%`` is 12 instead.
    """
    text = tidied(text)
    if len(text) > _LONGEST:
        return None
    bare = _PERCENT.sub("", text)
    number = _plain(_without_currency(bare))
    return number / 100 if number is not None and bare != text and not ignores_percent else number


def fraction_of(text: str) -> Fraction | None:
    r"""Return the value of a decimal number or of a fraction of two: ``1/2``, ``\frac{1}{2}``; ``None`` for anything
    else.
    """
    number = number_of(text)
    if number is not None:
        return number
    text = tidied(text)
    if len(text) > _LONGEST:
        return None
    match = _LATEX_FRACTION.fullmatch(text) or _SLASH.fullmatch(text)
    if match is None:
        return None
    above, below = _plain(match["above"]), _plain(match["below"])
    if above is None or not below:
        return None
    return -(above / below) if match["sign"] == "-" else above / below


_LATEX_FRACTION = re.compile(
    r"(?P<sign>[-+]?)\s*\\[dt]?frac\s*(?:\{\s*(?P<above>[-+]?[\d.,]+)\s*\}\s*\{\s*(?P<below>[-+]?[\d.,]+)\s*\})"
)
_SLASH = re.compile(r"(?P<sign>(?![-+])|)\s*(?P<above>[-+]?[\d.,]+)\s*/\s*(?P<below>[-+]?[\d.,]+)")


def _plain(text: str) -> Fraction | None:
    match = _PLAIN.fullmatch(text.strip())
    if match is None:
        return None
    number = match["number"].replace(",", "").replace("\u066c", "").replace(" ", "")
    value = Fraction(f"{number or '0'}".rstrip(".") or "0") * Fraction(10) ** int(match["power"] or 0)
    return -value if match["sign"] == "-" else value


def _without_currency(text: str) -> str:
    """Return a text without one currency sign at its beginning, behind a sign (``-$5``), or at its end."""
    sign = text[:1] if _SIGN.match(text) else ""
    rest = text[len(sign) :].lstrip()
    for bare in (rest[1:] if _is_currency(rest[:1]) else "", rest[:-1] if _is_currency(rest[-1:]) else ""):
        if bare:
            return sign + bare.strip()
    return text


def _is_currency(character: str) -> bool:
    return bool(character) and unicodedata.category(character) == "Sc"
