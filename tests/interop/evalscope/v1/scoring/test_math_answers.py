"""Answers compared as mathematics, with outcomes seen from the wheel 1.14.1 and antlr 4.13.2."""

from typing import Any

import pytest

from polymeter.interop.evalscope.v1.registries import get_metric
from polymeter.interop.evalscope.v1.scoring.math_answers import (
    InvalidMathReference,
    MathEvaluationError,
    choice_answer_clean,
    compare_answers,
    extract_answer,
    extract_boxed_answer_text,
    extract_boxed_answers,
    math_equal,
    parse_digits,
)

pytest.importorskip("math_verify")

LOOSE = {"validate_reference": False}


@pytest.mark.parametrize(
    ("prediction", "reference", "settings", "reason", "extracted"),
    [
        ("0.5", r"\frac{1}{2}", {}, "matched", r"\frac{1}{2}"),
        (r"The answer is \boxed{50%}.", "0.5", {"prediction_mode": "output"}, "matched", "50%"),
        ("10", "10%", {}, "matched", "10"),
        ("1e-3", "0.001", {}, "matched", "1e-3"),
        ("1, 2", "2, 1", {"multiple_answers": True}, "matched", "1, 2"),
        ("1,1", "1", {"multiple_answers": True}, "answer_count_mismatch", "1,1"),
        ("x=1.01", "x=1", {"absolute_tolerance": [0.01]}, "matched", "x=1.01"),
        ("3.0", "3", {"integer_only": True}, "matched", "3.0"),
        ("3.5", "3", {"integer_only": True}, "integer_literal_required", "3.5"),
        ("nothing", "3", {}, "not_equivalent", "nothing"),
        ("3", "", LOOSE, "invalid_reference", "3"),
    ],
)
def test_two_answers_are_compared(
    prediction: str, reference: str, settings: dict[str, Any], reason: str, extracted: str
) -> None:
    result = compare_answers(prediction, reference, **settings)
    assert (result.reason, result.extracted, result.matched) == (reason, extracted, reason == "matched")


def test_a_reference_that_is_no_mathematics_is_an_error() -> None:
    with pytest.raises(InvalidMathReference, match="invalid_reference"):
        compare_answers("3", "")
    with pytest.raises(InvalidMathReference, match="invalid_numeric_reference"):
        compare_answers("3", "x", numeric_reference=True)
    for settings in ({"absolute_tolerance": [-1]}, {"absolute_tolerance": []}, {"relative_tolerance": float("nan")}):
        with pytest.raises(MathEvaluationError):
            compare_answers("3", "3", **settings)


def test_answers_are_found_in_a_text() -> None:
    assert extract_answer(r"so \boxed{\frac12} and more") == r"\frac{1}{2}"
    assert extract_boxed_answers(r"\boxed{1} \fbox{2} \boxed{3") == ["1", "2"]
    assert extract_boxed_answer_text("a \\boxed{3} cm\nb") == "3 cm"
    assert extract_boxed_answer_text(r"\boxed{1} \boxed{2") == ""
    assert parse_digits("1/2") == 0.5
    assert parse_digits("x") is None
    assert choice_answer_clean("It is (B).") == "B"


def test_metrics_and_short_forms_compare_alike() -> None:
    assert get_metric("acc")(numeric=True)("0.50", r"\frac12") == 1.0
    assert get_metric("math_acc")()(r"Thus \boxed{7}", "7.0") == 1.0
    assert math_equal(None, "") is False
    with pytest.warns(DeprecationWarning, match="no effect"):
        assert math_equal("1", "1.0", is_close=False)
