"""Dataset classes that surely need a judge to score, found by reading their code; nothing is run.

Only what its method does in every case counts: it takes the judge's name (``judge_kwargs['model']``) or makes a judge
(``build_judge``) outside of any condition. A class that decides by itself what to do without one is left to do that.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.interop.ulmeval.shim.ulmeval.judges import LOCAL
from polymeter.tasks.table.scoring import JUDGE_MODEL

_MAKES, _IS_THERE = "build_judge", "working"
_CHANGES = ("setdefault", "update")


def require_judge(benchmark: str, methods: Sequence[Callable[..., Any]]) -> None:
    """Refuse a class that surely needs a judge, for a run that has none.

    Raises:
        PlanError: if one of the methods that score it needs one.
    """
    for method in methods:
        where = surely_asks(method)
        if where:
            raise PlanError(
                f"Benchmark {benchmark!r} is scored by a judge, and the run has none.",
                where=where,
                hint="Name one: --judge openai:NAME. Or keep the answers alone, --dialect-option "
                "tsv.predict_only=true, and judge them later, polymeter score RUN --judge openai:NAME; or, with "
                "'polymeter ulmeval' and 'vlmeval', --mode infer, then --mode eval --judge NAME.",
            )


def surely_asks(method: Callable[..., Any]) -> str:
    """``file:line`` where a method needs a judge whatever it is given; empty if that is not sure."""
    code = getattr(getattr(method, "__func__", method), "__code__", None)
    if code is None:
        return ""
    function = _definition(Path(code.co_filename), code.co_name, code.co_firstlineno)
    if function is None or any(
        isinstance(node, ast.Attribute) and node.attr == _IS_THERE for node in ast.walk(function)
    ):
        return ""
    kwargs = function.args.kwarg.arg if function.args.kwarg else ""
    for node in _always(function.body):
        if _changes_kwargs(node, kwargs):
            break
        if _needs(node, kwargs):
            return f"{code.co_filename}:{getattr(node, 'lineno', function.lineno)}"
    return ""


def _definition(file: Path, name: str, line: int) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first <= line <= node.lineno:
                return node
    return None


def _always(statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """The parts of a body that are evaluated in every case, up to the first statement that may leave it."""
    for statement in statements:
        if isinstance(statement, ast.With):
            for item in statement.items:
                yield from _evaluated(item.context_expr)
            yield from _always(statement.body)
        elif isinstance(statement, (ast.If, ast.While)):
            yield from _evaluated(statement.test)
        elif isinstance(statement, ast.For):
            yield from _evaluated(statement.iter)
        elif not isinstance(statement, (ast.Try, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.Match)):
            yield from _evaluated(statement)
        if any(isinstance(node, (ast.Return, ast.Raise)) for node in ast.walk(statement)):
            return


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return
    if isinstance(node, ast.BoolOp):
        yield from _evaluated(node.values[0])
    elif isinstance(node, ast.IfExp):
        yield from _evaluated(node.test)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _evaluated(child)


def _changes_kwargs(node: ast.AST, kwargs: str) -> bool:
    """Return whether a node may put a judge's name among the arguments."""
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return _is_name(node.value, kwargs)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _CHANGES and _is_name(node.func.value, kwargs)
    return isinstance(node, ast.Name) and node.id == kwargs and isinstance(node.ctx, ast.Store)


def _needs(node: ast.AST, kwargs: str) -> bool:
    if isinstance(node, ast.Subscript):
        return _is_name(node.value, kwargs) and _is_model(node.slice)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "pop":
        return _is_name(node.func.value, kwargs) and len(node.args) == 1 and _is_model(node.args[0])
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name == _MAKES and not node.args and all(map(_is_of_run, node.keywords))


def _is_of_run(keyword: ast.keyword) -> bool:
    """Return whether an argument of ``build_judge`` leaves the judge to the run: it names none of the local models."""
    if keyword.arg is None:
        return isinstance(keyword.value, ast.Name)
    if keyword.arg != JUDGE_MODEL:
        return True
    return isinstance(keyword.value, ast.Constant) and keyword.value.value not in LOCAL


def _is_model(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == JUDGE_MODEL


def _is_name(node: ast.AST, name: str) -> bool:
    return bool(name) and isinstance(node, ast.Name) and node.id == name
