"""Values in a syntax tree that are known without running it: literals, names bound to them, and texts and mappings
that are put together from them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, Final


class NotKnown:
    """Marks a value that only running the code would give."""

    def __repr__(self) -> str:
        return "?"


NOT_KNOWN: Final = NotKnown()
_CHANGING = ("update", "setdefault", "pop", "popitem", "clear", "append", "extend", "insert", "remove")


def constants(body: list[ast.stmt], outer: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The names that statements bind to known values, those of an outer scope included. A name that is bound again or
    changed in a way that is not understood is not known. Attributes of names (``Class.x``) are known by their dotted
    name once they are changed.
    """
    found = dict(outer or {})
    for node in body:
        for name, value in _bindings(node, found):
            found[name] = value
    return found


def bound(node: ast.stmt) -> Iterator[str]:
    """Names that a statement binds or changes, also somewhere inside it."""
    yield from (name for name, _ in _bindings(node, {}))


def _bindings(node: ast.stmt, known: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the names that a statement binds or changes, each with its value from then on."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _assigned(target, node.value, known)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield from _assigned(node.target, node.value, known)
    elif isinstance(node, ast.AugAssign):
        name = _dotted_name(node.target)
        if name:
            left = ast.Name(name) if isinstance(node.target, ast.Name) else node.target
            yield name, value_of(ast.BinOp(left, node.op, node.value), known)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield from _called_on(node.value, known)
    elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        inner = (item for item in ast.walk(node) if isinstance(item, ast.stmt) and item is not node)
        yield from ((name, NOT_KNOWN) for item in inner for name in bound(item))


def _assigned(target: ast.expr, value: ast.expr, known: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(target, ast.Subscript):
        name = _dotted_name(target.value)
        if name:
            old, key = known.get(name), value_of(target.slice, known)
            is_known = isinstance(old, dict) and isinstance(key, str)
            yield name, {**old, key: value_of(value, known)} if is_known and old is not None else NOT_KNOWN
    elif name := _dotted_name(target):
        yield name, value_of(value, known)


def _called_on(node: ast.Call, known: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """``name.update({…})`` changes a mapping; what other methods that change things make of one is not known."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in _CHANGING:
        return
    name = _dotted_name(node.func.value)
    if name:
        old, more = known.get(name), [value_of(item, known) for item in node.args]
        is_known = node.func.attr == "update" and not node.keywords
        is_known = is_known and isinstance(old, dict) and all(isinstance(item, dict) for item in more)
        yield name, {key: value for item in (old, *more) for key, value in item.items()} if is_known else NOT_KNOWN


def _dotted_name(node: ast.expr) -> str:
    """``x`` and ``Class.x`` as they are written; of other expressions nothing."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


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
        found = _text_of_pieces(node.values, known)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        found = _text_of_pieces([node.left, node.right], known)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [value_of(side, known) for side in (node.left, node.right)]
        found = {**sides[0], **sides[1]} if all(isinstance(side, dict) for side in sides) else NOT_KNOWN
    elif isinstance(node, ast.DictComp):
        found = _comprehended(node, known)
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


def _comprehended(node: ast.DictComp, known: Mapping[str, Any]) -> Any:
    """``{f"A_{x}": … for x in ("p", "q")}``: one loop over known values, by one name."""
    loop = node.generators[0]
    items = value_of(loop.iter, known)
    if len(node.generators) > 1 or loop.ifs or not isinstance(loop.target, ast.Name) or not isinstance(items, list):
        return NOT_KNOWN
    found: dict[Any, Any] = {}
    for item in items:
        one = value_of(ast.Dict([node.key], [node.value]), {**known, loop.target.id: item})
        if not isinstance(one, dict):
            return NOT_KNOWN
        found |= one
    return found


def _text_of_pieces(pieces: list[ast.expr], known: Mapping[str, Any]) -> Any:
    texts = []
    for piece in pieces:
        is_plain = isinstance(piece, ast.FormattedValue) and piece.conversion == -1 and piece.format_spec is None
        text = value_of(piece.value if is_plain and isinstance(piece, ast.FormattedValue) else piece, known)
        if not isinstance(text, str):
            return NOT_KNOWN
        texts.append(text)
    return "".join(texts)
