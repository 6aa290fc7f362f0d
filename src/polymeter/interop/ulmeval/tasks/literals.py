"""Values in a syntax tree that are known without running it: literals, names bound to them, and texts, lists and
mappings that are put together from them, also in loops over known values and in functions of the file.

A scope maps names to values. Attributes are in it by their dotted name (``Class.x``), the results of methods of classes
with ``()`` after it (``Class.supported_datasets()``), and functions as they are written (``function()``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final


class NotKnown:
    """Marks a value that only running the code would give."""

    def __repr__(self) -> str:
        return "?"


NOT_KNOWN: Final = NotKnown()
_CHANGING = ("update", "setdefault", "pop", "popitem", "clear", "append", "extend", "insert", "remove")
_AS_LIST = ("list", "set", "tuple", "sorted")
_MOST_ITEMS = 10_000
"""Elements of a loop or a list that are looked at; a longer one is not a list of names."""


@dataclass(frozen=True, slots=True)
class ClassName:
    """A class, known by its name.

    Attributes:
        name: The name.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Partial:
    """``functools.partial(Class, name=value, …)``.

    Attributes:
        of: The name of the class.
        arguments: Its keyword arguments.
    """

    of: str
    arguments: Mapping[str, Any]


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
    elif isinstance(node, ast.FunctionDef):
        yield f"{node.name}()", node
    elif isinstance(node, ast.For) and (items := _items(node, known)) is not None:
        yield from _looped(node, items, known)
    elif not isinstance(node, (ast.AsyncFunctionDef, ast.ClassDef)):
        inner = (item for item in ast.walk(node) if isinstance(item, ast.stmt) and item is not node)
        yield from ((name, NOT_KNOWN) for item in inner for name in bound(item))


def _items(node: ast.For, known: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The values that each round of a loop binds to names; ``None`` if they are unknown, or a round may end early."""
    if node.orelse or any(isinstance(item, (ast.Break, ast.Continue, ast.Return)) for item in ast.walk(node)):
        return None
    return _rounds(node.target, value_of(node.iter, known))


def _rounds(target: ast.expr, values: Any) -> list[dict[str, Any]] | None:
    """The names that each value of a list is bound to, with their values; ``None`` if they are unknown."""
    values = list(values) if isinstance(values, (list, dict)) else None
    if values is None or len(values) > _MOST_ITEMS:
        return None
    if isinstance(target, ast.Name):
        return [{target.id: value} for value in values]
    names = [item.id for item in target.elts if isinstance(item, ast.Name)] if isinstance(target, ast.Tuple) else []
    if not names or not all(isinstance(value, list) and len(value) == len(names) for value in values):
        return None
    return [dict(zip(names, value, strict=True)) for value in values]


def _looped(node: ast.For, items: list[dict[str, Any]], known: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what a loop leaves of its names, and of those that its body binds or changes."""
    names = {name for statement in node.body for name in bound(statement)}
    scope = dict(known)
    for item in items:
        scope = constants(node.body, {**scope, **item})
    targets = {name for item in items[-1:] for name in item}
    yield from ((name, scope[name]) for name in (*targets, *names) if name in scope)


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
    """``name.update({…})`` changes a mapping, ``name.append(…)`` and ``name.extend([…])`` a list; what other methods
    that change things make of them is not known.
    """
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in _CHANGING:
        return
    name, method = _dotted_name(node.func.value), node.func.attr
    if name:
        old, more = known.get(name), [value_of(item, known) for item in node.args]
        value: Any = NOT_KNOWN
        if method == "update" and not node.keywords and all(isinstance(item, dict) for item in (old, *more)):
            value = {key: value for item in (old, *more) if isinstance(item, dict) for key, value in item.items()}
        elif method == "extend" and isinstance(old, list) and len(more) == 1 and isinstance(more[0], (list, dict)):
            value = [*old, *more[0]]
        elif method == "append" and isinstance(old, list) and len(more) == 1 and more[0] is not NOT_KNOWN:
            value = [*old, more[0]]
        yield name, value


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
        found = _attribute(node.value, node.attr, known)
    elif isinstance(node, ast.Dict):
        found = _mapping(node, known)
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        found = _listed(node.elts, known)
    elif isinstance(node, ast.Call):
        found = _called(node, known)
    elif isinstance(node, ast.JoinedStr):
        found = _text_of_pieces(node.values, known)
    elif isinstance(node, ast.BinOp):
        found = _joined(node, known)
    elif isinstance(node, (ast.DictComp, ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        found = _comprehended(node, known)
    else:
        found = _literal(node)
    return found


def returned(function: ast.FunctionDef, known: Mapping[str, Any]) -> Any:
    """The value that a function returns, as far as it is known: its only ``return`` is its last statement.

    Args:
        function: The function.
        known: Its scope, with its arguments.
    """
    last = function.body[-1]
    if not isinstance(last, ast.Return) or sum(isinstance(node, ast.Return) for node in ast.walk(function)) != 1:
        return NOT_KNOWN
    return value_of(last.value, constants(function.body[:-1], known))


def _literal(node: ast.expr | None) -> Any:
    try:
        return ast.literal_eval(node) if node is not None else NOT_KNOWN
    except (ValueError, TypeError, SyntaxError):
        return NOT_KNOWN


def _attribute(owner: ast.Name, name: str, known: Mapping[str, Any]) -> Any:
    """The attribute of a name, which may stand for a class."""
    value = known.get(owner.id)
    return known.get(f"{value.name if isinstance(value, ClassName) else owner.id}.{name}", NOT_KNOWN)


def _called(node: ast.Call, known: Mapping[str, Any]) -> Any:
    """``dict(name=value, …)``, ``list(…)`` and its kin, ``x.keys()``, ``partial(…)``, and functions of the file; of
    other calls nothing is known.
    """
    keywords = {str(keyword.arg): value_of(keyword.value, known) for keyword in node.keywords if keyword.arg}
    for keyword in node.keywords:
        if keyword.arg is None:
            more = value_of(keyword.value, known)
            if not isinstance(more, dict):
                return NOT_KNOWN
            keywords |= more
    if isinstance(node.func, ast.Attribute):
        return NOT_KNOWN if node.args or keywords else _of_method(node.func, known)
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    values = [value_of(item, known) for item in node.args]
    found: Any = NOT_KNOWN
    if name == "dict" and not values:
        found = keywords
    elif name in _AS_LIST and len(values) == 1 and isinstance(values[0], (list, dict)) and not keywords:
        found = list(values[0])
    elif name == "partial" and len(values) == 1:
        cls = values[0].name if isinstance(values[0], ClassName) else ""
        if isinstance(node.args[0], ast.Name) and node.args[0].id not in known:
            cls = node.args[0].id  # imported with a star
        found = Partial(cls, keywords) if cls else NOT_KNOWN
    elif isinstance(function := known.get(f"{name}()"), ast.FunctionDef):
        found = _of_function(function, values, keywords, known)
    return found


def _of_method(method: ast.Attribute, known: Mapping[str, Any]) -> Any:
    if method.attr in ("keys", "items"):
        owner = value_of(method.value, known)
        if isinstance(owner, dict):
            return list(owner) if method.attr == "keys" else [[key, value] for key, value in owner.items()]
    return _attribute(method.value, f"{method.attr}()", known) if isinstance(method.value, ast.Name) else NOT_KNOWN


def _of_function(
    function: ast.FunctionDef, values: list[Any], keywords: Mapping[str, Any], known: Mapping[str, Any]
) -> Any:
    """The value that a function of the file returns; one that calls itself gives none that is known."""
    names = [item.arg for item in function.args.args]
    defaults = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
    arguments = {name: value_of(default, known) for name, default in defaults.items()}
    arguments |= dict(zip(names, values, strict=False)) | dict(keywords)
    if len(values) > len(names) or set(arguments) != set(names) or function.args.vararg or function.args.kwarg:
        return NOT_KNOWN
    scope = {name: value for name, value in known.items() if name != f"{function.name}()"}
    return returned(function, {**scope, **arguments})


def _listed(items: list[ast.expr], known: Mapping[str, Any]) -> Any:
    found: list[Any] = []
    for item in items:
        value = value_of(item.value if isinstance(item, ast.Starred) else item, known)
        if value is NOT_KNOWN or (isinstance(item, ast.Starred) and not isinstance(value, (list, dict))):
            return NOT_KNOWN
        found.extend(value if isinstance(item, ast.Starred) else [value])
    return found


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


def _joined(node: ast.BinOp, known: Mapping[str, Any]) -> Any:
    """Two texts or two lists with ``+``, two mappings with ``|``, two numbers with ``*``."""
    left, right = value_of(node.left, known), value_of(node.right, known)
    if isinstance(node.op, ast.Add) and isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(node.op, ast.Add) and isinstance(left, list) and isinstance(right, list):
        return [*left, *right]
    if isinstance(node.op, ast.BitOr) and isinstance(left, dict) and isinstance(right, dict):
        return {**left, **right}
    if isinstance(node.op, ast.Mult) and isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left * right
    return _literal(node)


def _comprehended(node: ast.DictComp | ast.ListComp | ast.SetComp | ast.GeneratorExp, known: Mapping[str, Any]) -> Any:
    """``{f"A_{x}": … for x in ("p", "q")}``, ``[… for x in … if "p" in x]``: one loop over known values."""
    loop = node.generators[0]
    rounds = _rounds(loop.target, value_of(loop.iter, known))
    if len(node.generators) > 1 or rounds is None:
        return NOT_KNOWN
    pairs: dict[Any, Any] = {}
    items: list[Any] = []
    for item in rounds:
        scope = {**known, **item}
        conditions = [_holds(condition, scope) for condition in loop.ifs]
        if None in conditions:
            return NOT_KNOWN
        if not all(conditions):
            continue
        one = value_of(ast.Dict([node.key], [node.value]) if isinstance(node, ast.DictComp) else node.elt, scope)
        if one is NOT_KNOWN:
            return NOT_KNOWN
        if isinstance(node, ast.DictComp):
            pairs |= one
        else:
            items.append(one)
    return pairs if isinstance(node, ast.DictComp) else items


def _holds(condition: ast.expr, known: Mapping[str, Any]) -> bool | None:
    """Return whether ``"text" in x`` or ``"text" not in x`` holds; ``None`` if that is not known."""
    if not isinstance(condition, ast.Compare) or len(condition.ops) != 1:
        return None
    item, place = value_of(condition.left, known), value_of(condition.comparators[0], known)
    if not isinstance(item, str) or not isinstance(place, (str, list, dict)):
        return None
    if isinstance(condition.ops[0], ast.In):
        return item in place
    return item not in place if isinstance(condition.ops[0], ast.NotIn) else None


def _text_of_pieces(pieces: list[ast.expr], known: Mapping[str, Any]) -> Any:
    texts = []
    for piece in pieces:
        is_plain = isinstance(piece, ast.FormattedValue) and piece.conversion == -1 and piece.format_spec is None
        text = value_of(piece.value if is_plain and isinstance(piece, ast.FormattedValue) else piece, known)
        if not isinstance(text, (str, int) if is_plain else str):
            return NOT_KNOWN
        texts.append(str(text))
    return "".join(texts)
