"""Answers compared as mathematics by the package ``math-verify``, which the extra ``math`` installs.

Every step runs in a process that can be stopped: reading LaTeX may never end. A step that was stopped gives its sample
no score. A reference that is no mathematics raises ``InvalidMathReference``.
"""

from __future__ import annotations

import importlib.util
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, InvalidOperation, localcontext
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from polymeter.core.errors import PolymeterError
from polymeter.core.names.registry import missing_package
from polymeter.interop.evalscope.v1.scoring.metric_base import MetricUnavailableError
from polymeter.metrics.bounded import in_process

Mode = Literal["output", "fragment"]
"""A model's whole text, in which the answer is looked for, or an answer alone."""
R = TypeVar("R")

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_SCIENTIFIC = re.compile(rf"{_NUMBER}[eE][+-]?[0-9]+")
_SMALL_E = re.compile(rf"{_NUMBER}e[+-]?[0-9]+")
_DELIMITED = ("$", r"\(", r"\[", r"\boxed", r"\fbox")
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_NEEDED = ("math-verify", "comparing answers as mathematics", "math")
_DIGITS = 50
"""Digits in which tolerances are computed: 1.01 is within 0.01 of 1."""


class MathResult(BaseModel):
    """The outcome of a comparison.

    Attributes:
        extracted: The prediction as it was read.
        matched: Whether it equals the reference.
        prediction_valid: Whether it is mathematics.
        reference_valid: Whether the reference is.
        reason: A word for the outcome.
    """

    model_config = ConfigDict(extra="forbid")

    extracted: str = ""
    matched: bool = False
    prediction_valid: bool = False
    reference_valid: bool = False
    reason: str = ""


class MathEvaluationError(MetricUnavailableError):
    """Two answers could not be compared. That says nothing about the prediction."""


class InvalidMathReference(MathEvaluationError):
    """A reference is no mathematics, or not of the kind that the benchmark needs."""


def require_math_verify() -> None:
    """Refuse to start what needs ``math-verify`` where it is not installed.

    Raises:
        PlanError: if it is not.
    """
    if importlib.util.find_spec("math_verify") is None:
        raise missing_package(*_NEEDED)


def compare_answers(  # noqa: PLR0913  (the signature that adapters are written against)
    prediction: str,
    reference: str,
    *,
    prediction_mode: Mode = "fragment",
    absolute_tolerance: Sequence[float] | None = None,
    relative_tolerance: float | None = None,
    multiple_answers: bool = False,
    integer_only: bool = False,
    numeric_reference: bool = False,
    validate_reference: bool = True,
) -> MathResult:
    """Compare a prediction with a reference.

    Args:
        prediction: The prediction.
        reference: The reference, an answer alone.
        prediction_mode: ``output`` for a model's whole text.
        absolute_tolerance: Allowed differences of numbers: one, or one for each answer of the reference.
        relative_tolerance: Allowed difference as a share of the reference.
        multiple_answers: The reference lists several answers, all of which must be given, in any order.
        integer_only: Both must be whole numbers.
        numeric_reference: The reference must be a finite real number.
        validate_reference: Raise an error for a reference that is not valid.

    Raises:
        InvalidMathReference: if the reference is not valid.
        MathEvaluationError: if they cannot be compared.
        PlanError: if ``math-verify`` is not installed.
        UnscoredError: if it takes longer than scoring a sample may take.
    """
    absolute = None if absolute_tolerance is None else [float(value) for value in absolute_tolerance]
    relative = None if relative_tolerance is None else float(relative_tolerance)
    if prediction_mode not in ("output", "fragment"):
        raise MathEvaluationError(f"prediction_mode is output or fragment, not {prediction_mode!r}.")
    bounds = [*(absolute or []), *([] if relative is None else [relative])]
    if absolute == [] or any(value < 0 or not math.isfinite(value) for value in bounds):
        raise MathEvaluationError("A tolerance is a finite number, and not negative.")
    kinds = (multiple_answers, integer_only, numeric_reference)
    result = _apart(_compared, prediction, reference, prediction_mode, absolute, relative, *kinds)
    if validate_reference and not result.reference_valid:
        raise InvalidMathReference(f"The reference {reference!r} cannot be compared ({result.reason}).")
    return result


def extract_answer(pred_str: str, use_last_number: bool = True) -> str:
    """The final answer in a model's text, as it is written there.

    Args:
        pred_str: The text.
        use_last_number: Has no effect any more.
    """
    if not use_last_number:
        _warn("use_last_number")
    return _apart(_display, pred_str, "output")


def strip_answer_string(string: str) -> str:
    """An answer in normalised form."""
    return _apart(_display, string, "fragment")


def math_equal(
    prediction: Any,
    reference: Any,
    include_percentage: bool = True,
    is_close: bool = True,
    timeout: bool = False,
) -> bool:
    """Return whether two answers are the same mathematics. The last three arguments have no effect any more."""
    if not include_percentage or not is_close or timeout:
        _warn("include_percentage, is_close and timeout")
    first, second = ("" if value is None else str(value) for value in (prediction, reference))
    return compare_answers(first, second, validate_reference=False).matched


def extract_boxed_answers(text: str) -> list[str]:
    r"""The contents of all outermost ``\boxed{…}``, in their order."""
    return _apart(_boxes, text)[0]


def extract_boxed_answer_text(text: str) -> str:
    r"""The content of the last ``\boxed{…}`` with the rest of its line; empty if that box does not end."""
    return _apart(_boxes, text)[1]


def parse_digits(num: Any, *, prediction_mode: Mode = "fragment") -> float | None:
    """The finite real number that a text is, or ``None``."""
    return _apart(_as_number, str(num), prediction_mode)


def is_digit(num: Any) -> bool:
    """Return whether a text is a finite real number."""
    return parse_digits(num) is not None


def numeric_equal(prediction: float, reference: float) -> bool:
    """``math_equal`` of two numbers."""
    return math_equal(prediction, reference)


def symbolic_equal(a: Any, b: Any) -> bool:
    """``math_equal`` of two expressions."""
    return math_equal(a, b)


def convert_word_number(text: str) -> str:
    """A number as it is written, or the text itself. Number words are not read any more."""
    _warn("convert_word_number")
    return _apart(_number_or_text, text)


def str_to_pmatrix(input_str: str) -> str:
    """A text as LaTeX."""
    _warn("str_to_pmatrix")
    return _apart(_latex, input_str)


def choice_answer_clean(pred: str) -> str:
    """The last of the letters A to E that stands alone; else the text without full stops around it."""
    text = pred.strip("\n").rstrip(".").rstrip("/").strip(" ").lstrip(":")
    letters = re.findall(r"\b([A-E])\b", text.upper())
    return (letters[-1] if letters else text.strip().strip(".")).rstrip(".").rstrip("/")


def _warn(name: str) -> None:
    warnings.warn(f"{name}: math-verify decides, and this has no effect.", DeprecationWarning, stacklevel=3)


def _apart(function: Callable[..., R], *args: Any) -> R:
    """Call a function in a process of its own. Errors of the packages become ``MathEvaluationError``."""
    try:
        return in_process(function, *args)
    except (MathEvaluationError, PolymeterError):
        raise
    except Exception as error:
        if isinstance(error, ModuleNotFoundError):
            raise missing_package(*_NEEDED) from error
        raise MathEvaluationError(f"{type(error).__name__}: {error}") from error


def _read(text: str, mode: str) -> tuple[list[Any], str]:
    """Return the expressions that a text is read as, and the part of it that they stand for."""
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse
    from math_verify.grader import get_pct_val

    def expressions(source: str, *kinds: Any) -> tuple[list[Any], str]:
        once: Any = {"fallback_mode": "first_match", "extraction_mode": "first_match", "parsing_timeout": None}
        found = parse(source, extraction_config=list(kinds), **once)
        return [item for item in found if not isinstance(item, str)], next(
            (item for item in found if isinstance(item, str)), ""
        )

    written = text.strip()
    if not written:
        return [], ""
    _complete_parser()
    # A small e is Euler's number to the reader of LaTeX, and a capital one an exponent of ten.
    is_scientific = bool(_SCIENTIFIC.fullmatch(written))
    source = f"${written.replace('e', 'E')}$" if is_scientific else written
    if mode == "fragment" and not source.startswith(_DELIMITED):
        source = f"${source}$"
    objects, display = expressions(source, LatexExtractionConfig(boxed_match_priority=0), ExprExtractionConfig())
    if objects and _SMALL_E.fullmatch(display):
        objects = expressions(f"${display.replace('e', 'E')}$", LatexExtractionConfig())[0]
    if is_scientific:
        display = written
    if len(objects) == 1 and "%" not in display and get_pct_val(objects[0]) is not None:
        display += "%"
    return objects, display


def _complete_parser() -> None:
    """Let the reader of LaTeX read percentages with antlr 4.11, too: the parser that it brings for that version was
    made before its grammar had the function Γ, and the reader asks every such atom for it.
    """
    from latex2sympy2_extended.antlr_parser import PSParser

    atom = PSParser.AtomContext
    if not hasattr(atom, "FUNC_GAMMA"):
        atom.FUNC_GAMMA = lambda self: None


def _display(text: str, mode: str) -> str:
    return _read(text, mode)[1]


def _as_number(text: str, mode: str) -> float | None:
    objects = _read(text, mode)[0]
    if len(objects) != 1 or not getattr(objects[0], "is_number", False) or not objects[0].is_real:
        return None
    value = float(objects[0])
    return value if math.isfinite(value) else None


def _number_or_text(text: str) -> str:
    return text if _as_number(text, "fragment") is None else _display(text, "fragment")


def _latex(text: str) -> str:
    objects, display = _read(text, "fragment")
    if len(objects) != 1:
        return display
    from sympy import latex

    return str(latex(objects[0]))


def _boxes(text: str) -> tuple[list[str], str]:
    """Return the contents of all boxes, and the last with the rest of its line. A box that does not end ends the list:
    one inside of it is no answer of its own.
    """
    from latex2sympy2_extended.math_normalization import extract_boxed_content

    contents: list[str] = []
    last, end = "", 0
    for found in _BOX.finditer(text):
        if found.start() < end:
            continue
        stop = _end_of_box(text, found.end())
        if stop is None:
            return contents, ""
        contents.append(extract_boxed_content(text[found.start() : stop], mode="all"))
        last, end = text[found.end() : stop - 1] + text[stop:].split("\n", 1)[0], stop
    return contents, last


def _end_of_box(text: str, start: int) -> int | None:
    depth = 1
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return None


def _compared(  # noqa: C901  (one condition after the other, each with its word)
    prediction: str,
    reference: str,
    mode: str,
    absolute: list[float] | None,
    relative: float | None,
    is_list: bool,
    is_integer: bool,
    is_number: bool,
) -> MathResult:
    given, display = _read(prediction, mode)
    gold, gold_display = _read(reference, "fragment")
    result = MathResult(extracted=display, prediction_valid=bool(given), reference_valid=bool(gold))

    def outcome(reason: str, *, is_valid: bool = True) -> MathResult:
        result.reason, result.reference_valid = reason, result.reference_valid and is_valid
        return result

    if not gold:
        return outcome("invalid_reference")
    if is_number and not (len(gold) == 1 and gold[0].is_number and gold[0].is_real and gold[0].is_finite):
        return outcome("invalid_numeric_reference", is_valid=False)
    if is_integer and not _is_integer(gold_display):
        return outcome("invalid_integer_reference", is_valid=False)
    if not given:
        return outcome("prediction_not_parsed")
    if is_integer and not _is_integer(display):
        return outcome("integer_literal_required")
    if is_list:
        gold, given = _components(gold, reference), _components(given, prediction)
        if not gold:
            return outcome("invalid_reference", is_valid=False)
        if len(gold) != len(given):
            return outcome("answer_count_mismatch")
    if absolute is not None and len(absolute) not in (1, len(gold)):
        raise ValueError("There is one tolerance, or one for each answer of the reference.")

    def fits(at: int, answer: Any) -> bool:
        return _equal(gold[at], answer, absolute[min(at, len(absolute) - 1)] if absolute else None, relative)

    def all_fit(at: int, left: list[Any]) -> bool:
        return at == len(gold) or any(
            fits(at, answer) and all_fit(at + 1, left[:n] + left[n + 1 :]) for n, answer in enumerate(left)
        )

    if is_list:
        result.matched = all_fit(0, given)
    else:
        result.matched = any(fits(at, answer) for at in range(len(gold)) for answer in given)
    return outcome("matched" if result.matched else "not_equivalent")


def _equal(gold: Any, answer: Any, absolute: float | None, relative: float | None) -> bool:
    """Return whether two expressions are the same: numbers within a tolerance, if there is one."""
    if absolute is None and relative is None:
        return _same(gold, answer)
    from sympy import Equality

    both = (gold, answer)
    if all(isinstance(side, Equality) and side.rhs.is_number for side in both) and _same(gold.lhs, answer.lhs):
        both = (gold.rhs, answer.rhs)  # x = 1.01 is near x = 1
    if all(getattr(side, "is_number", False) for side in both) and all(side.is_real for side in both):
        with localcontext() as context:
            context.prec = _DIGITS
            expected, found = map(_decimal, both)
            allowed = max(Decimal(str(absolute or 0)), Decimal(str(relative or 0)) * abs(expected))
            return abs(found - expected) <= allowed
    return _same(*both)


def _same(gold: Any, answer: Any) -> bool:
    from math_verify import verify

    return bool(
        verify(
            [gold],
            [answer],
            strict=True,
            float_rounding=6,
            numeric_precision=15,
            allow_set_relation_comp=False,
            timeout_seconds=None,
            raise_on_error=True,
        )
    )


def _decimal(number: Any) -> Decimal:
    try:
        return Decimal(str(number))
    except InvalidOperation:
        return Decimal(str(number.evalf(15)))


def _is_integer(text: str) -> bool:
    try:
        value = Decimal(text.replace(",", "").strip())
    except InvalidOperation:
        return False
    return value.is_finite() and value == value.to_integral_value()


def _components(objects: list[Any], source: str) -> list[Any]:
    """Return the answers of a list. Each is read on its own, because a set keeps one of two equal ones; none if one of
    them is not read as one answer.
    """
    from latex2sympy2_extended.math_normalization import NormalizationConfig, normalize_latex
    from sympy import FiniteSet, Tuple

    parts = [*_split_at_commas(normalize_latex(source, NormalizationConfig(boxed="last")))]
    if len(parts) > 1:
        read = [_read(part, "fragment")[0] for part in parts]
        return [answers[0] for answers in read] if all(len(answers) == 1 for answers in read) else []
    if len(objects) == 1 and isinstance(objects[0], (FiniteSet, Tuple)):
        return list(getattr(objects[0], "_unsorted_args", objects[0].args))  # in the order in which they are written
    return objects


def _split_at_commas(text: str) -> Iterator[str]:
    r"""The parts between commas that no bracket encloses; ``\,`` is a space."""
    depth = start = 0
    for at, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0 and text[max(at - 1, 0)] != "\\":
            yield text[start:at]
            start = at + 1
    yield text[start:]
