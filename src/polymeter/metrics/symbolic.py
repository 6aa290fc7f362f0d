"""Equality of two expressions by algebra, with SymPy.

The expressions come from a model, so they are never evaluated as Python. SymPy parses an expression only if it is
arithmetic over known functions, and only if its powers and factorials are small enough to compute.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from polymeter.core.errors import Raised, attempt
from polymeter.core.names.registry import missing_package

_TOLERANCE = 1e-4
_LONGEST = 500
_LARGEST_POWER = 10_000
_LARGEST_FACTORIAL = 1000

# Quotes, attributes and private names indicate Python; a backslash indicates LaTeX.
_NOT_ARITHMETIC = re.compile(r"[\\\"'`;@:#$?\n]|__|\.\s*[^\W\d]|\bfactorial\b")
_NAME = re.compile(r"[^\W\d]\w*")
_KNOWN_NAMES = (
    "sqrt cbrt exp log ln sin cos tan cot sec csc asin acos atan sinh cosh tanh Abs floor ceiling Min Max pi E I oo "
    "factorial Symbol Integer Float Rational Function"
)
_POWER = re.compile(r"\^|\*\*")
_FACTORIAL = re.compile(r"(\d+)\s*!|!\s*!")


def symbolic_equal(first: str, second: str, latex_first: bool = False) -> bool:
    """Check whether two expressions, in LaTeX or plain notation, are equal.

    They are equal if they are the same tree, if their difference simplifies to zero, or if they are equations with the
    same solutions, numbers that differ by less than a ten-thousandth, or matrices that agree to three decimals. An
    expression that cannot be parsed is compared as text.

    Args:
        first: An expression.
        second: Another one.
        latex_first: Whether SymPy's LaTeX parser is tried before plain notation, as in EvalScope. It ignores any text
            after an expression.

    Raises:
        PlanError: if SymPy or ``latex2sympy2_extended`` is not installed.
    """
    check_algebra()
    a, b = _expression_of(first, latex_first), _expression_of(second, latex_first)
    if isinstance(a, str) or isinstance(b, str):  # SymPy would evaluate the text
        return str(a) == str(b)
    return any(_holds(comparison, a, b) for comparison in _COMPARISONS)


def value_of(text: str) -> float | None:
    """Return the value of an expression in LaTeX or plain notation; ``None`` if it cannot be parsed, or is not one
    finite real number.

    Raises:
        PlanError: if SymPy or ``latex2sympy2_extended`` is not installed.
    """
    check_algebra()
    expression = _expression_of(text, latex_first=False)
    value = None if isinstance(expression, str) else _tried(partial(_real_number, expression))
    return value if isinstance(value, float) and math.isfinite(value) else None


def check_algebra() -> None:
    """Check that the packages for algebra are installed.

    Raises:
        PlanError: if one is missing.
    """
    from importlib.util import find_spec

    for package in ("sympy", "latex2sympy2_extended"):
        if find_spec(package) is None:
            raise missing_package(package, "the comparison of mathematical expressions", "math")


def prepare() -> None:
    """Import the packages for algebra, which takes longer than most comparisons."""
    _read_plain("1")
    _read_latex("1")


def is_computable(text: str) -> bool:
    """Check whether an expression is short and its powers and factorials are small enough to compute."""
    if len(text) > _LONGEST:
        return False
    factorials = _FACTORIAL.finditer(text)
    if any(match[1] is None or len(match[1]) > 4 or int(match[1]) > _LARGEST_FACTORIAL for match in factorials):
        return False
    size = 1
    for match in _POWER.finditer(text):
        exponent, following = _exponent(text[match.end() :])
        is_number = not re.search(r"[^\W\d]", exponent)
        # A tower of powers is always too large.
        if is_number and (_POWER.search(exponent) or _POWER.match(following.lstrip())):
            return False
        size *= math.prod(min(int(digits[:6]), 10**6) or 1 for digits in re.findall(r"\d+", exponent))
    return size <= _LARGEST_POWER


def _exponent(text: str) -> tuple[str, str]:
    """Return the exponent at the beginning of a text, a bracketed group or one number or name, and the text after
    it.
    """
    text = text.lstrip()
    if text[:1] not in ("{", "("):
        match = re.match(r"[-+]?\s*(\d+(\.\d+)?|\\?\w+)?", text)
        end = match.end() if match else 0
        return text[:end], text[end:]
    depth = 0
    for position, character in enumerate(text):
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(character, 0)
        if depth == 0:
            return text[: position + 1], text[position + 1 :]
    return text, ""


def _expression_of(text: str, latex_first: bool) -> Any:
    """Return the parsed expression, or the text if it cannot be parsed."""
    if not is_computable(text):
        return text
    readers = (_read_lenient_latex, _read_plain, _read_latex) if latex_first else (_read_plain, _read_latex)
    for reader in readers:
        for spelling in (text.replace("\\\\", "\\"), text):
            expression = _tried(partial(reader, spelling))
            if not isinstance(expression, Raised):
                return expression
    return text


def _read_plain(text: str) -> Any:
    import sympy
    from sympy.parsing.sympy_parser import parse_expr

    if _NOT_ARITHMETIC.search(text) or any(keyword.iskeyword(name) for name in _NAME.findall(text)):
        raise ValueError("This is not arithmetic.")
    names = {name: getattr(sympy, name) for name in _KNOWN_NAMES.split()}
    return parse_expr(text, global_dict={**names, "__builtins__": {}})


def _read_lenient_latex(text: str) -> Any:
    from sympy.parsing.latex import parse_latex

    return parse_latex(text)


def _read_latex(text: str) -> Any:
    from latex2sympy2_extended import latex2sympy

    return latex2sympy(text)


def _same(a: Any, b: Any) -> bool:
    return bool(str(a) == str(b) or a == b)


def _same_when_simplified(a: Any, b: Any) -> bool:
    from sympy import simplify

    return bool(a.equals(b) or simplify(a - b) == 0)


def _same_equation(a: Any, b: Any) -> bool:
    return bool(abs(a.lhs - a.rhs).equals(abs(b.lhs - b.rhs)))


def _same_number(a: Any, b: Any) -> bool:
    from sympy import N

    return math.isclose(float(N(b)), float(N(a)), rel_tol=_TOLERANCE)


def _real_number(expression: Any) -> float:
    from sympy import N

    return float(N(expression, 30))


def _same_matrix(a: Any, b: Any) -> bool:
    return bool(a.shape == b.shape and _rounded(a).equals(_rounded(b)))


def _rounded(matrix: Any) -> Any:
    return matrix.applyfunc(lambda cell: round(cell, 3))


_COMPARISONS = (_same, _same_when_simplified, _same_equation, _same_number, _same_matrix)


def _holds(comparison: Callable[[Any, Any], bool], a: Any, b: Any) -> bool:
    """Check whether a comparison holds. One that does not apply to these expressions does not hold."""
    return _tried(lambda: comparison(a, b)) is True


def _tried(function: Callable[[], Any]) -> Any:
    """Return SymPy's result, or the exception that it raised. SymPy raises exceptions of any class. Only a lack of
    memory is raised again, since it says nothing about the expressions.
    """
    result = attempt(function)
    if isinstance(result, Raised) and (
        not isinstance(result.error, Exception) or isinstance(result.error, MemoryError)
    ):
        raise result.error
    return result
