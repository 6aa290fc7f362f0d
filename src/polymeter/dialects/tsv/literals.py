"""Values in a syntax tree that are known without running it: literals, names bound to them, and texts and mappings
that are put together from them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, Final


class NotKnown:
    """Marks a value that only running the code would tell."""

    def __repr__(self) -> str:
        return "?"


NOT_KNOWN: Final = NotKnown()


def constants(body: list[ast.stmt], outer: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The names that statements bind to known values, those of an outer scope included. A name that is bound again to
    something else is not known.
    """
    found = dict(outer or {})
    for node in body:
        for name, expression in assigned(node):
            found[name] = value_of(expression, found)
    return found


def assigned(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Names that a statement binds, each with the expression."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id, node.value


def value_of(node: ast.expr | None, known: Mapping[str, Any]) -> Any:
    """The value of an expression, as far as it is known. A mapping whose keys are known is known, whatever its values
    are.

    Args:
        node: The expression.
        known: Values by name; those of attributes by their dotted name.
    """
    if isinstance(node, ast.Name):
        found: Any = known.get(node.id, NOT_KNOWN)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        found = known.get(f"{node.value.id}.{node.attr}", NOT_KNOWN)
    elif isinstance(node, ast.Dict):
        found = _mapping(node, known)
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        items = [value_of(item, known) for item in node.elts]
        found = NOT_KNOWN if any(item is NOT_KNOWN for item in items) else items
    elif isinstance(node, ast.Call):
        found = _called(node, known)
    elif isinstance(node, ast.JoinedStr):
        found = _joined(node.values, known)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        found = _joined([node.left, node.right], known)
    else:
        found = _literal(node)
    return found


def _literal(node: ast.expr | None) -> Any:
    try:
        return ast.literal_eval(node) if node is not None else NOT_KNOWN
    except (ValueError, TypeError, SyntaxError):
        return NOT_KNOWN


def _called(node: ast.Call, known: Mapping[str, Any]) -> Any:
    """``dict(name=value, …)``; of other calls nothing is known."""
    is_dict = isinstance(node.func, ast.Name) and node.func.id == "dict" and not node.args
    if not is_dict or any(keyword.arg is None for keyword in node.keywords):
        return NOT_KNOWN
    return {str(keyword.arg): value_of(keyword.value, known) for keyword in node.keywords}


def _mapping(node: ast.Dict, known: Mapping[str, Any]) -> Any:
    found: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            inner = value_of(value, known)
            if not isinstance(inner, dict):
                return NOT_KNOWN
            found |= inner
            continue
        name = value_of(key, known)
        if not isinstance(name, (str, int, float, bool)):
            return NOT_KNOWN
        found[name] = value_of(value, known)
    return found


def _joined(pieces: list[ast.expr], known: Mapping[str, Any]) -> Any:
    texts = []
    for piece in pieces:
        is_plain = isinstance(piece, ast.FormattedValue) and piece.conversion == -1 and piece.format_spec is None
        text = value_of(piece.value if is_plain and isinstance(piece, ast.FormattedValue) else piece, known)
        if not isinstance(text, str):
            return NOT_KNOWN
        texts.append(text)
    return "".join(texts)
