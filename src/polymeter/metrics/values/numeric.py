"""Equality of numbers within tolerances."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from polymeter.core.errors import ScoreError
from polymeter.core.metric import Metric
from polymeter.metrics.arguments import check_choice, check_number
from polymeter.metrics.bounded import bounded, named_in_process
from polymeter.metrics.references import one_prediction
from polymeter.metrics.symbolic import value_of
from polymeter.metrics.values.numbers import NUMBER, fraction_of, tidied
from polymeter.metrics.vqa import is_near_number
from polymeter.reading.text import compared

_WHERE = ("whole", "last")
_ROUNDING = Fraction(1, 10**12)
"""The relative error that computing an expression may add."""
_LONGEST = 500
_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
_DELIMITED = re.compile(r"\A(?:\$\$(.+)\$\$|\$([^$]+)\$|\\\((.+)\\\)|\\\[(.+)\\\])\Z", re.DOTALL)
_INLINE = re.compile(r"\$([^$\n]{1,200})\$|\\\((.{1,200}?)\\\)")
_HAS_ALGEBRA = re.compile(r"[\\^/*()√π]|\bpi\b")
_WORD = re.compile(r"(?<![\\a-zA-Z])(?!(?:pi|sqrt|exp|log|ln|sin|cos|tan)\b)[^\W\d_]{2,}")
_SHORT_FRACTION = re.compile(r"\\[dt]?frac\s*(\d)\s*(\d)")
_SHORT_ROOT = re.compile(r"\\sqrt\s*(\d)")
_FRACTION = r"\\[dt]?frac\s*\{\s*[-+]?[\d.,]+\s*\}\s*\{\s*[-+]?[\d.,]+\s*\}"
_ANY_NUMBER = re.compile(
    rf"(?:(?<![\w.)\]])[-+]\s?)?(?:{_FRACTION}|(?<![\w.^]){NUMBER}(?:\s?/\s?{NUMBER})?(?:\s?\\?%)?)"
)


def numeric(
    references: Sequence[Any],
    predictions: Sequence[Any],
    tolerance: float = 0.0,
    absolute: float = 0.0,
    where: str = "whole",
) -> float:
    r"""Return 1 if the answer is a number within the tolerances of a reference, else 0.

    ``|answer - reference| <= max(absolute, tolerance · |reference|)``: the test of ``math.isclose`` (PEP 485) with the
    tolerance relative to the reference alone. Decimals (also ``1,000``, ``$5``, and ``12%`` for 0.12) and fractions
    (``1/2``, ``\frac{1}{2}``) are compared exactly. Other LaTeX and arithmetic is computed by SymPy, with the extra
    ``math``. An answer without a number is wrong.

    Args:
        references: The references.
        predictions: The answer.
        tolerance: The largest relative error.
        absolute: The largest absolute error.
        where: ``whole``: the answer is nothing but the number; ``last``: else, its last ``\boxed{…}`` or last number.

    Raises:
        ScoreError: if a reference is not a number.
        PlanError: if an expression needs SymPy, and it is not installed.
    """
    answer = str(one_prediction(references, predictions))
    expected = [_read_reference(reference) for reference in references]
    actual = _read_answer(answer, where)
    if actual is None:
        return 0.0
    return float(any(_is_near(one, actual, Fraction(str(tolerance)), Fraction(str(absolute))) for one in expected))


def read_number(prediction: Any, tolerance: float = 0.0, absolute: float = 0.0, where: str = "whole") -> str | None:
    """Return the number that ``numeric`` with these arguments reads from an answer; ``None`` if it reads none."""
    found = _read_answer(str(prediction), where)
    return None if found is None else str(found.value)


def check_numeric(tolerance: Any = 0.0, absolute: Any = 0.0, where: Any = "whole") -> None:
    """Check the arguments.

    Raises:
        PlanError: if one has no such value.
    """
    check_number("numeric", "tolerance", tolerance)
    check_number("numeric", "absolute", absolute)
    check_choice("numeric", "where", where, _WHERE)


class _Number(NamedTuple):
    """A number that was read, and whether it is a decimal or a fraction, not the rounded value of an expression."""

    value: Fraction
    is_exact: bool


def _is_near(expected: _Number, actual: _Number, tolerance: Fraction, absolute: Fraction) -> bool:
    if not (expected.is_exact and actual.is_exact):
        tolerance = max(tolerance, _ROUNDING)
    return abs(actual.value - expected.value) <= absolute or is_near_number(expected.value, actual.value, tolerance)


def _read_reference(reference: Any) -> _Number:
    value = _read(str(reference))
    if value is None:
        raise ScoreError(
            f"The reference {str(reference)[:80]!r} is not a number.",
            hint="Correct it in the row, or leave the row out.",
        )
    return value


def _read_answer(answer: str, where: str) -> _Number | None:
    """Return the number that an answer is, or with ``last`` else the last one in it."""
    found = _read(answer)
    return _last_number(answer) if found is None and where == "last" else found


def _read(text: str) -> _Number | None:
    """Return the number that a text is, without markup around it."""
    if len(text) > _LONGEST:
        return None
    text = _unwrapped(text)
    text = _SHORT_ROOT.sub(r"\\sqrt{\1}", _SHORT_FRACTION.sub(r"\\frac{\1}{\2}", text))
    plain = fraction_of(text)
    if plain is not None:
        return _Number(plain, is_exact=True)
    if _HAS_ALGEBRA.search(text) is None or _WORD.search(text) or "=" in text:
        return None
    if "\\" not in text:
        text = text.replace("^", "**").replace("π", "pi")
    value = named_in_process("computing a number by algebra", value_of, text)
    return None if value is None else _Number(Fraction(value), is_exact=False)


def _unwrapped(text: str) -> str:
    text = tidied(text).strip("*").strip()
    boxed = _BOXED.fullmatch(text)
    if boxed:
        return _unwrapped(boxed[1])
    delimited = _DELIMITED.match(text)
    if delimited:
        return _unwrapped(next(part for part in delimited.groups() if part is not None))
    return text


def _last_number(answer: str) -> _Number | None:
    """Return the number in the last box, else in the last formula if no number is behind it, else the last number."""
    boxed, formula, number = _last_parts(compared(answer))
    if boxed is not None:
        return _read(boxed)
    found = _read(formula) if formula else None
    return found or (_read(number) if number else None)


@bounded
def _last_parts(answer: str) -> tuple[str | None, str, str]:
    """Return the content of the last box, the formula that holds the last number, and that number, each as text."""
    boxed = _BOXED.findall(answer)
    if boxed:
        return boxed[-1], "", ""
    numbers = list(_ANY_NUMBER.finditer(answer))
    if not numbers:
        return None, "", ""
    begin = numbers[-1].start()
    around = [match for match in _INLINE.finditer(answer) if match.start() < begin < match.end()]
    inner = next((part for match in around for part in match.groups() if part is not None), "")
    return None, inner.rpartition("=")[2], numbers[-1][0]


NUMERIC = Metric(
    "numeric",
    score=numeric,
    values={"generate_until": "1 if equal numbers"},
    bounds=(0.0, 1.0),
    check=check_numeric,
    only_computed=True,
    extract=read_number,
)
