"""The sandbox in which templates of task files are rendered, so that a YAML file without functions is data.

A template reads columns and writes text. It reaches no attribute of Python's inside (Jinja's sandbox sees to that),
changes no value, and cannot ask for text, numbers or loops of any size. What remains possible is to be slow: loops over
long columns may be nested.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

import jinja2
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_TEXT = 10_000_000
"""The longest text that a template may make, in characters."""
MAX_STEPS = 1_000_000
"""The most steps that all ranges of one rendering may have together."""
_MAX_BITS = 100_000
_WIDE = re.compile(r"%[^a-zA-Z%]*?(?:\d{6,}|\*)")
_WIDE_FIELD = re.compile(r"\{[^}]*:[^}]*\d{6,}")
_STEPS = "polymeter_steps"
_SIZED_FILTERS = ("batch", "center", "indent", "replace", "slice")


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's immutable sandbox with bounds on sizes."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.globals["range"] = _range
        for name in _SIZED_FILTERS:
            self.filters[name] = _bounded(self.filters[name])
        self.filters["format"] = _format

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute ``left operator right``, unless the result would be huge.

        Raises:
            SecurityError: if it would.
        """
        if operator == "*":
            _check_product(left, right)
        elif operator == "**":
            if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > _MAX_BITS:
                raise SecurityError("it computes a number with too many digits")
        elif isinstance(left, str):
            _check_widths(left)
        return super().call_binop(context, operator, left, right)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function or a method of a value, unless its result would be huge.

        Raises:
            SecurityError: if it would.
        """
        method = getattr(obj, "__wrapped__", obj)  # Jinja wraps str.format
        owner = getattr(method, "__self__", None)
        if isinstance(owner, str) and method.__name__ in ("format", "format_map") and _WIDE_FIELD.search(owner):
            raise SecurityError("it asks for very wide fields")
        if isinstance(owner, (str, bytes)) or obj is self.globals.get("lipsum"):
            _check_sizes(owner, args, kwargs)
        return super().call(context, obj, *args, **kwargs)


@jinja2.pass_context
def _range(context: Context, *bounds: int) -> range:
    """Python's ``range``, whose steps are counted over one rendering."""
    steps = range(*bounds)
    taken = getattr(context, _STEPS, 0) + len(steps)
    if taken > MAX_STEPS:
        raise SecurityError(f"its ranges have more than {MAX_STEPS:,} steps")
    setattr(context, _STEPS, taken)
    return steps


def _bounded(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        # Jinja passes what a filter asks for (its context, the environment) before the value.
        begin = next((place for place, value in enumerate(args) if not _is_machinery(value)), 0)
        _check_sizes(args[begin] if args else "", args[begin + 1 :], kwargs)
        return function(*args, **kwargs)

    return bounded


def _is_machinery(value: Any) -> bool:
    return isinstance(value, (jinja2.Environment, Context, jinja2.nodes.EvalContext))


def _format(value: Any, *args: Any, **kwargs: Any) -> Any:
    _check_widths(str(value))
    return jinja2.filters.do_format(value, *args, **kwargs)


def _check_sizes(owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse sizes beyond the longest text, and texts that are put into a text many times."""
    values = (*args, *kwargs.values())
    if any(isinstance(value, int) and abs(value) > MAX_TEXT for value in values):
        raise SecurityError(f"it asks for more than {MAX_TEXT:,} characters")
    length = len(owner) if isinstance(owner, (str, bytes)) else 1
    longest = max((len(value) for value in values if isinstance(value, (str, bytes))), default=0)
    if length * longest > 10 * MAX_TEXT:
        raise SecurityError(f"it could make more than {MAX_TEXT:,} characters")


def _check_product(left: Any, right: Any) -> None:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, (str, bytes, list, tuple)) and isinstance(other, int) and len(one) * other > MAX_TEXT:
            raise SecurityError(f"it asks for more than {MAX_TEXT:,} characters")
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > _MAX_BITS:
        raise SecurityError("it computes a number with too many digits")


def _check_widths(layout: str) -> None:
    if _WIDE.search(layout):
        raise SecurityError("it asks for very wide fields")
