"""Numbers that keep the text in which they were written: ``007``, ``1.50``, ``1e5``, ``true``.

They count as numbers and are shown as they were written. Only numbers that Python writes otherwise need this; all
others are plain.
"""

from __future__ import annotations

from typing import Any

_TRUTHS = {"true": True, "false": False}


class WrittenNumber:
    """The part that all written numbers share.

    Attributes:
        written: The text.
    """

    written: str

    def __new__(cls, value: Any, written: str) -> Any:
        """A number and its text."""
        made = super().__new__(cls, value)  # type: ignore[call-arg]  # the number that stands beside it in a base list
        made.written = written
        return made

    def __str__(self) -> str:
        return self.written

    def __repr__(self) -> str:
        return self.written if _is_literal(self.written) else repr(self.written)

    def __format__(self, spec: str) -> str:
        return format(plain_number(self), spec) if spec else self.written

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (plain_number(self), self.written)


class WrittenInt(WrittenNumber, int):
    """A whole number that is written unusually."""


class WrittenFloat(WrittenNumber, float):
    """A number with a fraction, or beyond whole numbers, that is written unusually."""


class WrittenTruth(WrittenNumber, int):
    """A truth value that is not written as Python writes it. No class can derive from ``bool``."""


def plain_number(value: Any) -> Any:
    """Return a number without its text; any other value unchanged."""
    if isinstance(value, WrittenTruth):
        return bool(value)
    if isinstance(value, WrittenNumber):
        return float(value) if isinstance(value, float) else int(value)  # type: ignore[call-overload]
    return value


def whole_number(text: str) -> Any:
    """The whole number that a text of digits is."""
    try:
        value = int(text)
    except ValueError:  # Python refuses thousands of digits
        return WrittenFloat(float(text), text)
    return value if str(value) == text else WrittenInt(value, text)


def fraction(text: str) -> float:
    """The number that a text is, which may have a fraction or an exponent, or be NaN or infinite."""
    value = float(text)
    return value if repr(value) == text else WrittenFloat(value, text)


def number_of(text: str) -> Any:
    """The number or truth value that a cell of a table is; ``None`` if it is none."""
    truth = _TRUTHS.get(text.strip().lower())
    if truth is not None:
        return truth if str(truth) == text else WrittenTruth(truth, text)
    if "_" in text or not text.isascii():  # Python reads 1_000 and digits of other scripts; tables do not mean that
        return None
    try:
        return whole_number(text) if text.strip().lstrip("+-").isdigit() else fraction(text)
    except ValueError:
        return None


def _is_literal(text: str) -> bool:
    """Return whether Python reads a text as the number that it is."""
    digits = text.lstrip("-")
    if not digits[:1].isdigit() or not digits.isascii():
        return False
    is_octal = digits[0] == "0" and digits[1:2].isdigit() and digits.isdigit()
    return not is_octal and all(sign in "0123456789.eE+-" for sign in digits)
