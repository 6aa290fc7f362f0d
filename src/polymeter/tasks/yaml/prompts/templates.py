"""Prompt templates: Jinja, compiled once, with a shortcut for the common ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.exceptions import SecurityError
from jinja2.visitor import NodeTransformer

from polymeter.core.errors import DataError, PlanError, did_you_mean
from polymeter.core.text.written_numbers import plain_number
from polymeter.metrics.patterns import applied, replaced
from polymeter.tasks.yaml.prompts.sandbox import Sandbox, bounded, joined
from polymeter.tasks.yaml.prompts.template_sizes import check_printed

Render = Callable[[Mapping[str, Any]], str]
_LONGEST_SHOWN = 120
_MORE = "A template is data and cannot do this; a !function can."


# Kept for the life of the process: it has filters and options, and no state of a rendering.
@lru_cache(maxsize=4)
def _environment(keeps_newline: bool = False, has_blanks: bool = False) -> jinja2.Environment:
    environment = Sandbox(
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        keep_trailing_newline=keeps_newline,
        finalize=_blank_or_printed if has_blanks else _printed,
    )
    environment.filters["regex_replace"] = bounded("regex_replace", _regex_replace)
    # No class can derive from bool, so these tests would not know a truth value that keeps its text.
    environment.tests["true"] = lambda value: plain_number(value) is True
    environment.tests["false"] = lambda value: plain_number(value) is False
    environment.tests["boolean"] = lambda value: isinstance(plain_number(value), bool)
    return environment


def _printed(value: Any) -> Any:
    check_printed(value)
    return value


def _blank_or_printed(value: Any) -> Any:
    """A cell as it is written, which is nothing for an empty one."""
    return "" if value is None else _printed(value)


def _regex_replace(context: Any, text: Any, pattern: str, repl: str, count: int = 0) -> str:
    return applied(replaced, re.compile(pattern), str(text), repl, count)


def compile_template(
    text: str,
    columns: Iterable[str] | None,
    *,
    field: str,
    where: str,
    keeps_newline: bool = False,
    has_blanks: bool = False,
) -> Render:
    """A function from a row to the rendered text, which runs in a sandbox.

    Args:
        text: The template.
        columns: Columns that a row has; ``None``: rows may have different ones, and each is checked as it is rendered.
        field: Name of the field that holds it, for messages.
        where: Its ``file:line``, for messages.
        keeps_newline: Whether a line break at its very end counts.
        has_blanks: Whether an empty cell is written as nothing, and not as ``None``.

    Raises:
        PlanError: if it is not a valid template.
        DataError: if it uses a column that does not exist; so does the function that is returned.
    """
    environment = _environment(keeps_newline, has_blanks)
    tree = check_syntax(text, field, where, keeps_newline=keeps_newline)
    template = environment.from_string(text)
    if columns is not None:
        _check_columns(text, tree, tuple(columns), field, where)
    simple = _simple(tree, has_blanks=has_blanks)
    if simple is not None:
        return simple if columns is not None else _with_column_error(simple, field, where)
    return _rendered(template, text, field, where)


def _check_columns(text: str, tree: nodes.Template, names: tuple[str, ...], field: str, where: str) -> None:
    """Refuse a template that uses a column that no row has."""
    environment = _environment()
    # Parsed again: the visitor changes the tree, and the shortcut below needs it unchanged.
    reached = _Reached(names).visit(environment.parse(text))
    missing = meta.find_undeclared_variables(reached) - set(names) - set(environment.globals) - _guarded(tree)
    if missing:
        near = one_column_hint(names) or " ".join(
            filter(None, (did_you_mean(name, names, n=1) for name in sorted(missing)))
        )
        raise DataError(
            f"The template of {field} uses {', '.join(map(repr, sorted(missing)))}, which the dataset does not have.",
            where=where,
            hint=f"{near} It has the columns: {', '.join(names) or 'none that hold text'}.".strip(),
        )


def _with_column_error(render: Render, field: str, where: str) -> Render:
    def checked(doc: Mapping[str, Any]) -> str:
        try:
            return render(doc)
        except KeyError as error:
            raise DataError(
                f"The template of {field} uses {error}, which the row does not have.",
                where=where,
                hint=f"It has the columns: {', '.join(map(str, doc)) or 'none'}.",
            ) from error

    return checked


def _rendered(template: jinja2.Template, text: str, field: str, where: str) -> Render:
    def rendered(doc: Mapping[str, Any]) -> str:
        try:
            return joined(template.generate(doc))
        except SecurityError as error:
            what = f"The template of {field} is not allowed: {str(error).rstrip('.')} in {_shown(text)}."
            raise DataError(what, where=where, hint=_MORE) from error
        except jinja2.UndefinedError as error:
            raise DataError(f"The template of {field} failed: {error.message}.", where=where) from error
        except (
            jinja2.TemplateError,
            TypeError,
            ValueError,
            LookupError,
            ArithmeticError,
            AttributeError,
            RecursionError,
            MemoryError,
        ) as error:
            raise DataError(f"The template of {field} failed: {type(error).__name__}: {error}.", where=where) from error

    return rendered


def check_syntax(text: str, field: str, where: str, *, keeps_newline: bool = False) -> nodes.Template:
    """The syntax tree of a template. Arguments as for ``compile_template``.

    Raises:
        PlanError: if it is not a valid template, or reaches for the inside of Python, as ``x.__class__`` does.
    """
    try:
        tree = _environment(keeps_newline).parse(text)
    except jinja2.TemplateSyntaxError as error:
        message = f"The template of {field} is not valid: {error.message} (line {error.lineno} of it)."
        raise PlanError(message, where=where) from error
    except RecursionError as error:
        raise PlanError(f"The template of {field} is nested too deeply.", where=where) from error
    inside = next(_insides(tree), None)
    if inside is not None:
        name, line = inside
        message = f"The template of {field} is not allowed: it uses {name!r} (line {line} of it) in {_shown(text)}."
        raise PlanError(message, where=where, hint=_MORE)
    return tree


def _insides(tree: nodes.Template) -> Iterator[tuple[str, int]]:
    """The names of Python's inside that a template writes out, each with its line. What it puts together at run time is
    refused when it is rendered.
    """
    for node in tree.find_all((nodes.Getattr, nodes.Getitem, nodes.Filter)):
        if isinstance(node, nodes.Getattr):
            name: Any = node.attr
        elif isinstance(node, nodes.Getitem):
            name = node.arg.value if isinstance(node.arg, nodes.Const) else ""
        else:
            assert isinstance(node, nodes.Filter)
            first = node.args[0] if node.name == "attr" and node.args else None
            name = first.value if isinstance(first, nodes.Const) else ""
        if isinstance(name, str) and name.startswith("__") and name.endswith("__"):
            yield name, node.lineno


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= _LONGEST_SHOWN else f"{line[: _LONGEST_SHOWN - 1]}…")


def _guarded(tree: nodes.Template) -> set[str]:
    """Names that the template itself allows to be missing: ``x is defined``, ``x | default(...)``."""
    names = set()
    for test in tree.find_all(nodes.Test):
        if test.name in ("defined", "undefined") and isinstance(test.node, nodes.Name):
            names.add(test.node.name)
    for use in tree.find_all(nodes.Filter):
        if use.name in ("default", "d") and isinstance(use.node, nodes.Name):
            names.add(use.node.name)
    return names


class _Reached(NodeTransformer):
    """Removes branches that no row reaches: in ``a if a is defined else b``, ``b`` if there is a column ``a``."""

    def __init__(self, columns: Iterable[str]) -> None:
        self._columns = frozenset(columns)

    def visit_CondExpr(self, node: nodes.CondExpr) -> nodes.Node:
        self.generic_visit(node)
        verdict = self._verdict(node.test)
        if verdict is None:
            return node
        return node.expr1 if verdict else node.expr2 or nodes.Const(None)

    def visit_If(self, node: nodes.If) -> nodes.Node:
        self.generic_visit(node)
        verdict = self._verdict(node.test)
        if verdict:
            node.elif_, node.else_ = [], []
        elif verdict is False:
            node.body = []
        return node

    def _verdict(self, test: nodes.Node) -> bool | None:
        """The value of ``x is defined`` for every row; ``None`` for any other test."""
        if isinstance(test, nodes.Not):
            verdict = self._verdict(test.node)
            return None if verdict is None else not verdict
        if isinstance(test, nodes.Test) and test.name in ("defined", "undefined") and isinstance(test.node, nodes.Name):
            return (test.node.name in self._columns) == (test.name == "defined")
        return None


def inserted_columns(text: str) -> tuple[str, ...]:
    """The names that a template inserts into text if it does nothing else; none otherwise."""
    try:
        pieces = _pieces(_environment().parse(text))
    except (jinja2.TemplateSyntaxError, RecursionError):  # its compilation reports it
        return ()
    return tuple(dict.fromkeys(piece for piece, is_name in pieces or () if is_name))


def _pieces(tree: nodes.Template) -> list[tuple[str, bool]] | None:
    """The texts and names of a template that only inserts names into text; ``None`` for any other."""
    pieces: list[tuple[str, bool]] = []
    for output in tree.body:
        if not isinstance(output, nodes.Output):
            return None
        for node in output.nodes:
            if isinstance(node, nodes.TemplateData):
                pieces.append((node.data, False))
            elif isinstance(node, nodes.Name):
                pieces.append((node.name, True))
            else:
                return None
    return pieces


def _simple(tree: nodes.Template, *, has_blanks: bool) -> Render | None:
    """A fast function for templates that only insert columns into text, as most do."""
    pieces = _pieces(tree)
    if pieces is None:
        return None
    if not any(is_name for _, is_name in pieces):
        constant = "".join(piece for piece, _ in pieces)
        return lambda doc: constant
    if any(name in _environment().globals for name, is_name in pieces if is_name):
        return None
    layout = "".join("%s" if is_name else piece.replace("%", "%%") for piece, is_name in pieces)
    names = tuple(piece for piece, is_name in pieces if is_name)
    if has_blanks:
        return lambda doc: layout % tuple(["" if (cell := doc[name]) is None else cell for name in names])
    if len(names) == 1:  # by far the most common case, and the general one below takes twice as long
        name = names[0]
        return lambda doc: layout % (doc[name],)
    return lambda doc: layout % tuple([doc[name] for name in names])


def one_column_hint(columns: Sequence[str]) -> str:
    """Return the hint for a table whose column names all stand in one, because a sign other than a comma separates
    them.
    """
    sign = next((sign for sign in ";\t|" if sign in columns[0]), "") if len(columns) == 1 else ""
    if not sign:
        return ""
    shown = "\\t" if sign == "\t" else sign
    return f'The columns are separated by {sign!r} and not by commas: add sep: "{shown}" to dataset_kwargs.'
