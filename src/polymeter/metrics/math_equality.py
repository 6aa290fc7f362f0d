"""Equality of two mathematical answers: as text, as numbers, part by part, or by algebra.

The steps and their order are those of Qwen2.5-Math's evaluation. Algebra, in ``symbolic``, comes last.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

from polymeter.metrics.bounded import bounded, named_in_process
from polymeter.metrics.symbolic import check_algebra, symbolic_equal

_TOLERANCE = 1e-4
_LETTERS = ("A", "B", "C", "D", "E")
_BRACKETED = re.compile(r"(\(|\[).+(\)|\])")
_MATRIX = re.compile(r"\\begin\{[pb]matrix\}(.*)\\end\{[pb]matrix\}", re.DOTALL)


@bounded
def math_equal(
    prediction: str | None,
    reference: str | None,
    include_percentage: bool = True,
    is_close: bool = True,
    timeout: bool = False,
    latex_first: bool = False,
) -> bool:
    """Check whether an answer equals the reference, both normalised by ``strip_answer_string``.

    Args:
        prediction: The answer; ``None`` equals nothing.
        reference: The reference.
        include_percentage: Whether a number also equals a reference a hundred times as large or as small.
        is_close: Whether numbers may differ by a ten-thousandth of the reference.
        timeout: Ignored; EvalScope's function has it. Expressions that are too large are never computed, and algebra
            has the time limit of the run.
        latex_first: See ``symbolic_equal``.

    Raises:
        PlanError: if algebra is needed and its packages are not installed.
        UnscoredError: if algebra exceeds the time or memory that scoring a sample may take.
    """
    if prediction is None or reference is None:
        return False
    if prediction.strip().lower() == reference.strip().lower():
        return True
    if reference in _LETTERS and _choice(prediction) == reference:
        return True
    rule = _Rule(include_percentage, is_close, latex_first)
    number, expected = as_number(prediction), as_number(reference)
    if number is not None and expected is not None:
        return rule.numbers_equal(number, expected)
    return bool(prediction) and _expressions_equal(prediction.strip(), reference.strip(), rule)


def as_number(text: str) -> float | None:
    """Return the value of a decimal number, with or without commas between its digits. A percentage is divided by
    100.
    """
    text = text.replace(",", "")
    try:
        return float(text)
    except ValueError:
        pass
    if not text.endswith("%"):
        return None
    try:
        return float(text.removesuffix("%").removesuffix("\\")) / 100
    except ValueError:
        return None


class _Rule(NamedTuple):
    """The strictness of a comparison, which also holds for the comparison of parts."""

    include_percentage: bool
    is_close: bool
    latex_first: bool

    def numbers_equal(self, number: float, reference: float) -> bool:
        allowed = [reference / 100, reference, reference * 100] if self.include_percentage else [reference]
        return any(math.isclose(r, number, rel_tol=_TOLERANCE) if self.is_close else r == number for r in allowed)

    def equal(self, prediction: str, reference: str) -> bool:
        return math_equal(prediction, reference, **self._asdict())


def _expressions_equal(prediction: str, reference: str, rule: _Rule) -> bool:
    if "pmatrix" in prediction and "pmatrix" not in reference:
        reference = _sets_as_matrices(reference)
    steps: tuple[Callable[[str, str, _Rule], bool], ...] = (
        _equal_without_brackets,
        _equal_item_by_item,
        _equal_cell_by_cell,
        _equal_by_algebra,
    )
    return any(step(prediction, reference, rule) for step in steps)


def _equal_without_brackets(prediction: str, reference: str, _: _Rule) -> bool:
    is_square = prediction.startswith("[") and prediction.endswith("]") and not reference.startswith("(")
    is_round = prediction.startswith("(") and prediction.endswith(")") and not reference.startswith("[")
    texts = [prediction, reference]
    if is_square or is_round:
        texts = [text.strip("[]()") for text in texts]
    bare = [re.sub(r"[{}()]", "", text).lower() for text in texts]
    return bare[0] == bare[1]


def _equal_item_by_item(prediction: str, reference: str, rule: _Rule) -> bool:
    if not (_BRACKETED.match(prediction) and _BRACKETED.match(reference)):
        return False
    return _all_equal(prediction[1:-1].split(","), reference[1:-1].split(","), rule)


def _equal_cell_by_cell(prediction: str, reference: str, rule: _Rule) -> bool:
    matrices = [_MATRIX.fullmatch(text) for text in (prediction, reference)]
    if matrices[0] is None or matrices[1] is None:
        return False
    rows, expected = ([line.strip() for line in m[1].split("\\\\") if line.strip()] for m in matrices if m)
    return len(rows) == len(expected) and all(
        _all_equal(row.split("&"), other.split("&"), rule) for row, other in zip(rows, expected, strict=True)
    )


def _equal_by_algebra(prediction: str, reference: str, rule: _Rule) -> bool:
    left, right = prediction.count("="), reference.count("=")
    if left == right == 1:
        difference, expected = (_difference(text) for text in (prediction, reference))
        if any(_equal_as_expressions(text, expected, rule) for text in (difference, f"-({difference})")):
            return True
    elif left == 1 and right == 0 and _is_short_name(prediction):
        if rule.equal(prediction.split("=")[1], reference):
            return True
    elif right == 1 and left == 0 and _is_short_name(reference) and rule.equal(prediction, reference.split("=")[1]):
        return True
    return _equal_as_expressions(prediction, reference, rule)


def _equal_as_expressions(first: str, second: str, rule: _Rule) -> bool:
    check_algebra()
    return named_in_process("comparing two expressions by algebra", symbolic_equal, first, second, rule.latex_first)


def _all_equal(items: list[str], expected: list[str], rule: _Rule) -> bool:
    return len(items) == len(expected) and all(rule.equal(a, b) for a, b in zip(items, expected, strict=True))


def _difference(equation: str) -> str:
    left, right = equation.split("=")
    return f"{left.strip()} - ({right.strip()})"


def _is_short_name(equation: str) -> bool:
    return len(equation.partition("=")[0].strip()) <= 2


def _choice(text: str) -> str:
    """Return the last letter from A to E that is a word of the answer, else the answer."""
    text = text.strip("\n").rstrip(".").rstrip("/").strip(" ").lstrip(":")
    letters = re.findall(r"\b(A|B|C|D|E)\b", text.upper())
    return str(letters[-1]) if letters else text.strip().strip(".").rstrip(".").rstrip("/")


def _sets_as_matrices(text: str) -> str:
    sets = [match.strip("{}") for match in re.findall(r"\{.*,.*\}", text.strip())]
    return ", ".join(rf"\begin{{pmatrix}}{items.replace(',', chr(92))}\end{{pmatrix}}" for items in sets)
