"""Mathematical answers: the cases of ``cases/math_*.json``, and what must not happen with text from a model."""

import builtins
import importlib.util
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.core.errors import PlanError
from polymeter.metrics.maths import extract_answer, math_equal, strip_answer_string
from polymeter.metrics.number_words import number_in_words
from polymeter.metrics.symbolic import is_computable, symbolic_equal

HAS_ALGEBRA = all(importlib.util.find_spec(name) for name in ("sympy", "latex2sympy2_extended"))
needs_algebra = pytest.mark.skipif(not HAS_ALGEBRA, reason="needs the extra [math]")


def test_extract(extract_case: dict[str, Any]) -> None:
    assert extract_answer(extract_case["text"]) == extract_case["expected"], extract_case["why"]


def test_strip(strip_case: dict[str, Any]) -> None:
    assert strip_answer_string(strip_case["text"]) == strip_case["expected"], strip_case["why"]


@needs_algebra
def test_equal(equal_case: dict[str, Any]) -> None:
    assert math_equal(equal_case["prediction"], equal_case["reference"]) is equal_case["expected"], equal_case["why"]


def test_the_last_number_counts_only_if_asked() -> None:
    assert extract_answer("five or 6", use_last_number=False) == ""


def test_how_strict_a_comparison_is() -> None:
    assert math_equal("0.5", "50")
    assert not math_equal("0.5", "50", include_percentage=False)
    assert math_equal("1.00001", "1")
    assert not math_equal("1.00001", "1", is_close=False)
    assert not math_equal(None, "1")


@given(st.text(max_size=40))
def test_any_text_is_evened_out_and_equals_itself(text: str) -> None:
    assert math_equal(strip_answer_string(text), strip_answer_string(text))
    extract_answer(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("two hundred and five", 205),
        ("three point one four", 3.14),
        ("one million two thousand", 1_002_000),
        ("twenty-one", 21),
        ("seven", 7),
        ("12", 12),
        ("no number", None),
        ("thousand million", None),
        ("point point one", None),
    ],
)
def test_number_words(text: str, number: float | None) -> None:
    assert number_in_words(text) == number


def test_numbers_and_text_need_no_algebra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert math_equal("1,000", "1000")
    assert not math_equal("7", "8")
    assert math_equal("(A)", "A")
    assert math_equal("(x, y)", "(x,y)") is True
    with pytest.raises(PlanError, match=r"'sympy', needed by the comparison .*\[math\]"):
        math_equal("x+1", "1+x")


@needs_algebra
@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "open('made', 'w')",
        "open(1)",
        "eval(1)",
        "().__class__.__bases__",
        "[print(x) for x in [1]]",
        "print(1) or 1",
        "print(1) + 7",
    ],
)
def test_an_answer_is_never_run(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    symbolic_equal("1+x", "x+1")  # whatever algebra imports is imported
    called: list[str] = []
    for name in ("open", "print", "eval"):
        original = getattr(builtins, name)
        monkeypatch.setattr(builtins, name, _watched(name, original, called))
    assert not symbolic_equal(text, "8")
    monkeypatch.undo()
    assert called == []


def _watched(name: str, original: Any, called: list[str]) -> Any:
    """Notes calls whose first argument came from an answer; SymPy itself evaluates code objects."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if args and args[0] in ("made", 1):
            called.append(name)
        return original(*args, **kwargs)

    return call


@pytest.mark.parametrize(
    "text", ["9**9**9**9", "9^{9^{9^9}}", "99999999!", "5!!!", "10**(9*9*9*9*9*9)", "(10**9999)**9999", "x" * 501]
)
def test_what_is_too_large_is_not_computed(text: str) -> None:
    assert not is_computable(text)


@pytest.mark.parametrize("text", ["2^{2010}", "x^{x^2}", "e^{x^2}", "10!", "2^10 + 3^4", "x**(1/2)", "10^{-3}"])
def test_what_is_of_common_size_is(text: str) -> None:
    assert is_computable(text)


def test_both_readers_of_latex_work_with_the_antlr_that_is_installed() -> None:
    """Task code reads LaTeX with sympy, Polymeter with latex2sympy2_extended, and both with one antlr."""
    pinned = "antlr4-python3-runtime==4.11.0"
    home = Path(__file__).parents[2]
    assert pinned in (home / "pyproject.toml").read_text()
    assert pinned in (home / "constraints.txt").read_text().split()
    if not HAS_ALGEBRA or version("antlr4-python3-runtime") != pinned.partition("==")[2]:
        pytest.skip("needs the extra [math] as constraints.txt has it")
    parse_latex = importlib.import_module("sympy.parsing.latex").parse_latex
    latex2sympy = importlib.import_module("latex2sympy2_extended").latex2sympy
    text = r"\frac{1}{2} + x"
    assert str(parse_latex(text)) == str(latex2sympy(text)) == "x + 1/2"
