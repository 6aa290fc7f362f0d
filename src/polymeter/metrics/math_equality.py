"""Whether two mathematical answers are equal: as text, as numbers, part by part, and by algebra.

The steps and their order are those of Qwen2.5-Math's evaluation. Algebra is ``symbolic``'s; it is asked last.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

from polymeter.metrics.symbolic import symbolic_equal

_TOLERANCE = 1e-4
_LETTERS = ("A", "B", "C", "D", "E")
_BRACKETED = re.compile(r"(\(|\[).+(\)|\])")
_MATRIX = re.compile(r"\\begin\{[pb]matrix\}(.*)\\end\{[pb]matrix\}", re.DOTALL)


def math_equal(
    prediction: str | None,
    reference: str | None,
    include_percentage: bool = True,
    is_close: bool = True,
    timeout: bool = False,
) -> bool:
    """Whether an answer equals the reference, both evened out by ``strip_answer_string``.

    Args:
        prediction: The answer; ``None`` equals nothing.
        reference: The gold.
        include_percentage: Whether a number also equals the reference a hundred times as large or as small.
        is_close: Whether numbers may differ by a ten-thousandth of the reference.
        timeout: Taken because EvalScope's function has it; expressions too large to compute are not computed.

    Raises:
        PlanError: Only algebra can tell, and the packages for it are not installed.
    """
    if prediction is None or reference is None:
        return False
    if prediction.strip().lower() == reference.strip().lower():
        return True
    if reference in _LETTERS and _choice(prediction) == reference:
        return True
    rule = _Rule(include_percentage, is_close)
    number, gold = as_number(prediction), as_number(reference)
    if number is not None and gold is not None:
        return rule.numbers_equal(number, gold)
    return bool(prediction) and _expressions_equal(prediction.strip(), reference.strip(), rule)


def as_number(text: str) -> float | None:
    """A decimal number, commas between its digits or not; with a percent sign its hundredth."""
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
    """How strict a comparison is; handed on to the comparison of parts."""

    include_percentage: bool
    is_close: bool

    def numbers_equal(self, number: float, gold: float) -> bool:
        golds = [gold / 100, gold, gold * 100] if self.include_percentage else [gold]
        return any(math.isclose(g, number, rel_tol=_TOLERANCE) if self.is_close else g == number for g in golds)

    def equal(self, prediction: str, reference: str) -> bool:
        return math_equal(prediction, reference, *self)


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
    said, gold = ([line.strip() for line in m[1].split("\\\\") if line.strip()] for m in matrices if m)
    return len(said) == len(gold) and all(
        _all_equal(row.split("&"), golden.split("&"), rule) for row, golden in zip(said, gold, strict=True)
    )


def _equal_by_algebra(prediction: str, reference: str, rule: _Rule) -> bool:
    left, right = prediction.count("="), reference.count("=")
    if left == right == 1:
        said, gold = (_difference(text) for text in (prediction, reference))
        if symbolic_equal(said, gold) or symbolic_equal(f"-({said})", gold):
            return True
    elif left == 1 and right == 0 and _is_short_name(prediction):
        if rule.equal(prediction.split("=")[1], reference):
            return True
    elif right == 1 and left == 0 and _is_short_name(reference) and rule.equal(prediction, reference.split("=")[1]):
        return True
    return symbolic_equal(prediction, reference)


def _all_equal(said: list[str], gold: list[str], rule: _Rule) -> bool:
    return len(said) == len(gold) and all(rule.equal(a, b) for a, b in zip(said, gold, strict=True))


def _difference(equation: str) -> str:
    left, right = equation.split("=")
    return f"{left.strip()} - ({right.strip()})"


def _is_short_name(equation: str) -> bool:
    return len(equation.partition("=")[0].strip()) <= 2


def _choice(text: str) -> str:
    """The last letter from A to E that stands alone in an answer, else the answer."""
    text = text.strip("\n").rstrip(".").rstrip("/").strip(" ").lstrip(":")
    letters = re.findall(r"\b(A|B|C|D|E)\b", text.upper())
    return str(letters[-1]) if letters else text.strip().strip(".").rstrip(".").rstrip("/")


def _sets_as_matrices(text: str) -> str:
    found = [match.strip("{}") for match in re.findall(r"\{.*,.*\}", text.strip())]
    return ", ".join(rf"\begin{{pmatrix}}{items.replace(',', chr(92))}\end{{pmatrix}}" for items in found)
