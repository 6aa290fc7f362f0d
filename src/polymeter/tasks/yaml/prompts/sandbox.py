"""The sandbox in which templates of task files are rendered, so that a YAML file without functions is data.

A template reads columns and writes text. It reaches no attribute of Python's inside (Jinja's sandbox sees to that),
changes no value, and cannot make text, numbers, lists or steps without end: what each operation makes is counted over
one rendering, and what one could make many times as large is checked before it does. What remains possible is to be
slow: to search a long column in each of many steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from functools import wraps
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from polymeter.tasks.yaml.prompts.template_sizes import (
    MAX_MADE,
    MAX_TEXT,
    SIZED,
    check_call,
    check_length,
    check_percent,
    check_power,
    check_printed,
    check_product,
)

MAX_STEPS = 1_000_000
"""The most steps that all loops of one rendering may have together; a call is ten, for it takes as long."""
_STEPS_OF_CALL = 10
_LOOPED, _CONCATENATED, _CAPTURED = "polymeter_looped", "polymeter_concatenated", "polymeter_captured"
_MAKE_NOTHING = frozenset(
    {"abs", "attr", "count", "d", "default", "dictsort", "first", "float", "groupby", "int", "items", "last", "length"}
    | {"list", "map", "max", "min", "random", "reject", "rejectattr", "reverse", "select", "selectattr", "sort"}
    | {"unique"}
)
"""Filters that give a number, or pass on what they are given; all others make text of it, or more items."""


class _RenderCounts:
    """The number of steps of a rendering's loops, and the number of characters that its operations made."""

    __slots__ = ("made", "steps")

    def __init__(self) -> None:
        self.made = self.steps = 0


class _Context(Context):
    """A context that counts what a rendering does, together with those that scoped blocks derive from it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.counts = _RenderCounts()

    def derived(self, locals: dict[str, Any] | None = None) -> _Context:
        context = super().derived(locals)
        assert isinstance(context, _Context)
        context.counts = self.counts
        return context


def joined(pieces: Iterable[str]) -> str:
    """Return the output of a template, as one text.

    Raises:
        SecurityError: if it is too long.
    """
    kept: list[str] = []
    size = 0
    for piece in pieces:
        size += len(piece) or 1
        if size > MAX_TEXT:
            raise SecurityError(f"it writes more than {MAX_TEXT:,} characters")
        kept.append(piece)
    return "".join(kept)


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's immutable sandbox with bounds on sizes."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})
    context_class = _Context
    concat = staticmethod(joined)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.globals |= {"range": _range, "lipsum": _filler}
        plain = ImmutableSandboxedEnvironment(**options)
        for name in plain.filters:
            self.filters[name] = bounded(name, _called_by(plain, name))
        self.filters |= {_LOOPED: _looped, _CONCATENATED: _concatenated, _CAPTURED: _made}

    def compile(
        self, source: Any, name: Any = None, filename: Any = None, raw: Any = False, defer_init: bool = False
    ) -> Any:
        """Compile a template whose loops, concatenations and captured texts are counted."""
        tree = self.parse(source, name, filename) if isinstance(source, str) else source
        counted = _CountedLoop().visit(tree)
        counted.set_environment(self)
        return super().compile(counted, name, filename, raw, defer_init)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute ``left operator right``, unless the result would be huge.

        Raises:
            SecurityError: if it would.
        """
        kept = 0
        if operator == "*":
            check_product(left, right)
        elif operator == "+":
            check_length(sum(len(value) for value in (left, right) if isinstance(value, SIZED)))
            if isinstance(left, str) and isinstance(right, str):
                kept = max(len(left), len(right))
        elif operator == "**":
            check_power(left, right)
        elif isinstance(left, (str, bytes)):
            check_percent(left, right)
        return _made(context, super().call_binop(context, operator, left, right), kept)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function or a method of a value, unless its result would be huge.

        Raises:
            SecurityError: if it would.
        """
        _take(context, _STEPS_OF_CALL)
        if isinstance(obj, LoopContext):  # a recursive loop, called with what to loop over next
            args, kwargs = tuple(_looped(context, value) for value in (*args, *_named(kwargs).values())), {}
        method = getattr(obj, "__wrapped__", obj)  # Jinja wraps str.format
        owner = getattr(method, "__self__", None)
        if isinstance(owner, (str, bytes, int)):
            args = tuple(list(value) if isinstance(value, Iterator) else value for value in args)
            check_call(method.__name__, owner, args, _named(kwargs))
        return _made(context, super().call(context, obj, *args, **kwargs))


def _named(kwargs: dict[str, Any]) -> dict[str, Any]:
    """The named arguments that a template gives; Jinja adds the variables of loops and blocks."""
    return {name: value for name, value in kwargs.items() if name not in ("_loop_vars", "_block_vars")}


class _CountedLoop(NodeTransformer):
    """Puts the filters that count around what is looped over, what ``~`` joins and what ``set`` blocks capture."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        node.iter = _filtered(node.iter, _LOOPED)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), _CONCATENATED)

    def visit_AssignBlock(self, node: nodes.AssignBlock) -> nodes.Node:
        self.generic_visit(node)
        node.filter = _filtered(node.filter, _CAPTURED, node.lineno)
        return node


def _filtered(node: Any, name: str, line: int | None = None) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=line or node.lineno)


def _called_by(environment: jinja2.Environment, name: str) -> Callable[..., Any]:
    """A filter of Jinja's, which passes to its function what that is marked for (context, environment) first."""

    @wraps(environment.filters[name])
    def called(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        return environment.call_filter(name, value, args, kwargs, context)

    return called


def bounded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that makes nothing huge.

    Args:
        name: Its name.
        function: ``(context, value, …) → result``.
    """

    @jinja2.pass_context
    @wraps(function)
    def checked(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        if name in ("join", "sum") and not isinstance(value, Sized):
            value = list(value)
        if name not in _MAKE_NOTHING:
            check_printed(value)
            check_call("%" if name == "format" else name, value, args, kwargs)
        return _made(context, function(context, value, *args, **kwargs))

    return checked


@jinja2.pass_context
def _looped(context: Context, values: Any) -> Any:
    """Return the items of a loop. Its steps are counted."""
    if not hasattr(values, "__len__"):
        return _each_taken(context, values)
    _take(context, len(values))
    return values


def _each_taken(context: Context, values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        _take(context, 1)
        yield value


@jinja2.pass_context
def _concatenated(context: Context, values: list[Any]) -> Any:
    """Return the result of ``~`` for its operands."""
    check_printed(values)
    texts = [*map(str, values)]
    return _made(context, "".join(texts), max(map(len, texts)))


def _take(context: Any, steps: int) -> None:
    context.counts.steps += steps
    if context.counts.steps > MAX_STEPS:
        raise SecurityError(f"its loops have more than {MAX_STEPS:,} steps")


@jinja2.pass_context
def _made(context: Any, value: Any, kept: int = 0) -> Any:
    """Return the result of an operation. Its size is counted; if it continues a text, and mostly replaces it, a tenth
    is.
    """
    if isinstance(value, SIZED):
        counts = context.counts
        counts.made += (10 * len(value) if isinstance(value, dict) else len(value)) - kept + kept // 10
        if counts.made > MAX_MADE:
            raise SecurityError(f"it makes more than {MAX_MADE:,} characters")
    return value


def _range(*bounds: int) -> range:
    """Python's ``range``, with a bound."""
    steps = range(*bounds)
    if len(steps) > MAX_STEPS:
        raise SecurityError(f"its loops have more than {MAX_STEPS:,} steps")
    return steps


def _filler(*args: Any, **kwargs: Any) -> str:
    """Jinja's ``lipsum`` makes text of any length, and another one each time, which no prompt may be."""
    raise SecurityError("it makes random text")
