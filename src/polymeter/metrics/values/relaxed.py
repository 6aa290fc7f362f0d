"""Relaxed accuracy of ChartQA: numbers within a tolerance, else equal texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from polymeter.core.metric import Metric
from polymeter.metrics.arguments import check_flag, check_number
from polymeter.metrics.references import one_prediction
from polymeter.metrics.values.numbers import number_of, tidied
from polymeter.metrics.vqa import is_near_number
from polymeter.reading.text import with_folded_case, with_single_spaces

_TOLERANCE = 0.05
_YEAR = re.compile(r"1[89]\d\d|20\d\d|2100")


def relaxed_accuracy(
    references: Sequence[Any],
    predictions: Sequence[Any],
    tolerance: float = _TOLERANCE,
    exact_years: bool = False,
    ignore_percent: bool = False,
) -> float:
    """Return 1 if the answer is within a tolerance of a numeric reference, or equals a reference as text, else 0.

    ``|answer - reference| <= tolerance · |reference|``, the relaxed accuracy of ChartQA (Masry et al. 2022, section
    5.1, after Methani et al. 2020). Thousands separators, a currency sign and a final full stop do not count, and
    ``12%`` is 0.12, as in the original. Only 0 equals a reference of 0. Texts are compared without letter case. The
    arithmetic is exact: 105 is within 5 % of 100.

    Args:
        references: The references.
        predictions: The answer.
        tolerance: The largest relative error.
        exact_years: Whether a reference that is a plain number from 1800 to 2100 must be equal.
        ignore_percent: Whether ``12%`` is 12 instead of 0.12, in references and answers alike.
    """
    answer = str(one_prediction(references, predictions))
    actual, allowed = number_of(answer, ignores_percent=ignore_percent), Fraction(str(tolerance))

    def is_right(reference: str) -> bool:
        expected = number_of(reference, ignores_percent=ignore_percent)
        if expected is None or actual is None:
            return _folded(reference) == _folded(answer)
        is_year = exact_years and _YEAR.fullmatch(tidied(reference)) is not None
        return actual == expected if is_year or not expected else is_near_number(expected, actual, allowed)

    return float(any(is_right(str(reference)) for reference in references))


def read_relaxed(prediction: Any, ignore_percent: bool = False, **others: Any) -> str:
    """Return the number or text that ``relaxed_accuracy`` with these arguments reads from an answer."""
    number = number_of(str(prediction), ignores_percent=ignore_percent)
    return _folded(str(prediction)) if number is None else str(number)


def check_relaxed(tolerance: Any = _TOLERANCE, exact_years: Any = False, ignore_percent: Any = False) -> None:
    """Check the arguments.

    Raises:
        PlanError: if one has no such value.
    """
    check_number("relaxed_accuracy", "tolerance", tolerance)
    check_flag("relaxed_accuracy", "exact_years", exact_years)
    check_flag("relaxed_accuracy", "ignore_percent", ignore_percent)


def _folded(text: str) -> str:
    return with_folded_case(with_single_spaces(tidied(text)))


RELAXED_ACCURACY = Metric(
    "relaxed_accuracy",
    score=relaxed_accuracy,
    values={"generate_until": "1 if within 5 %, or equal text"},
    bounds=(0.0, 1.0),
    check=check_relaxed,
    only_computed=True,
    extract=read_relaxed,
)
