"""What a published task reads of its rows: columns, and what its code does with each.

Columns come from the templates of the YAML and from the syntax tree of its Python; nothing is imported or run. A value
is followed through assignments, loops, comprehensions and calls of functions in the same folder.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

_HOOKS = ("doc_to_text", "doc_to_visual", "doc_to_target", "doc_to_choice", "doc_to_messages", "process_results")
_DEPTH = 6


@dataclass(frozen=True)
class FunctionName:
    """A ``!function module.name`` of a YAML, with the file that it names."""

    file: Path
    name: str


class _Loader(yaml.SafeLoader):
    folder: Path


def _function(loader: _Loader, node: yaml.Node) -> FunctionName:
    module, _, name = str(loader.construct_scalar(node)).rpartition(".")
    return FunctionName(loader.folder.joinpath(*module.split(".")).with_suffix(".py"), name)


_Loader.add_constructor("!function", _function)


def read_yaml(file: Path) -> dict[str, Any]:
    """A task's configuration with its includes merged; functions are `FunctionName`."""
    return dict(_read_yaml(file.resolve()))


@cache
def _read_yaml(file: Path) -> Mapping[str, Any]:
    loader = _Loader(file.read_text(encoding="utf-8"))
    loader.folder = file.parent
    try:
        config = loader.get_single_data()
    finally:
        loader.dispose()
    if not isinstance(config, dict):
        return {}
    merged: dict[str, Any] = {}
    includes = config.pop("include", [])
    for name in reversed([includes] if isinstance(includes, str) else includes or []):
        merged.update(_read_yaml((file.parent / name).resolve()))
    return {**merged, **config}


@dataclass
class Use:
    """What code does with one value.

    Attributes:
        calls: Functions and methods that it is given to or has: ``len``, ``json.loads``, ``.convert``, …
        literals: What it is compared with.
        keys: What is read of it by name.
        item: What is read of it by position, or in a loop.
        guarded: Names that are tested first, or read with a default.
        least: How many items are read by position.
    """

    calls: set[str] = field(default_factory=set)
    literals: list[Any] = field(default_factory=list)
    keys: dict[str, Use] = field(default_factory=dict)
    guarded: set[str] = field(default_factory=set)
    least: int = 0
    _item: Use | None = None

    @property
    def has_items(self) -> bool:
        return self._item is not None

    @property
    def item(self) -> Use:
        if self._item is None:
            self._item = Use()
        return self._item

    def key(self, name: str) -> Use:
        return self.keys.setdefault(name, Use())

    def compare(self, value: Any) -> None:
        if isinstance(value, (str, int, float, bool)) and value not in self.literals:
            self.literals.append(value)


def columns_of(
    config: Mapping[str, Any],
    hooks: Sequence[str] = _HOOKS,
    read_template: Callable[[str, Use], None] | None = None,
) -> Use:
    """How a task uses its rows: the columns are the keys of the result.

    Args:
        config: Its configuration.
        hooks: The fields that hold a template, a column or a function of a row.
        read_template: What reads a template, if it is to be read more closely than names and what stands beside them.
    """
    row = Use()
    for hook in hooks:
        value = config.get(hook)
        if isinstance(value, str) and read_template is not None and "{" in value:
            read_template(value, row)
        elif isinstance(value, str):
            _read_template(value, row, hook)
        elif isinstance(value, FunctionName):
            _Reader(value.file).call(value.name, [row], _DEPTH)
    if isinstance(made := config.get("process_docs"), FunctionName):
        rows = Use()
        reader = _Reader(made.file)
        reader.call(made.name, [rows], _DEPTH)
        _merge(row, rows.item)
    return row


def _merge(into: Use, other: Use, depth: int = 0) -> None:
    if depth > _DEPTH:  # a loop that takes a value apart makes it a part of itself
        return
    into.calls |= other.calls
    into.guarded |= other.guarded
    for value in other.literals:
        into.compare(value)
    for name, use in other.keys.items():
        _merge(into.key(name), use, depth + 1)
    if other.has_items:
        _merge(into.item, other.item, depth + 1)


_NAME = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)((?:\.\w+|\[['\"][^'\"]+['\"]\]|\[\d+\])*)")
_WORDS = re.compile(r"\{[{%](.*?)[%}]\}", re.S)


def _read_template(text: str, row: Use, hook: str) -> None:
    if "{{" not in text and "{%" not in text:
        if re.fullmatch(r"[A-Za-z_]\w*", text):
            use = row.key(text)
            if hook == "doc_to_visual":
                use.calls.add(".convert")
            if hook == "doc_to_choice":
                use.item.calls.add(".strip")
        return
    import jinja2
    from jinja2 import meta, nodes

    try:
        tree = jinja2.Environment(autoescape=True).parse(text)
    except jinja2.TemplateSyntaxError:
        return
    for name in meta.find_undeclared_variables(tree):
        row.key(name)
    for found in tree.find_all((nodes.Getattr, nodes.Getitem, nodes.Call)):
        _template_use(found, row, nodes)


def _template_use(found: Any, row: Use, nodes: Any) -> None:
    base = getattr(found, "node", None)
    if not isinstance(base, nodes.Name) or base.name not in row.keys:
        return
    use = row.key(base.name)
    if isinstance(found, nodes.Getattr):
        if found.attr in {"strip", "split", "lower", "upper", "replace", "rstrip", "lstrip", "format"}:
            use.calls.add(f".{found.attr}")
        elif found.attr in {"index"}:
            use.item.calls.add(".strip")
        else:
            use.key(found.attr)
    elif isinstance(found, nodes.Getitem):
        if isinstance(found.arg, nodes.Const) and isinstance(found.arg.value, str):
            use.key(found.arg.value)
        else:
            use.item.calls.add(".strip")


class _Reader:
    """Follows values through the functions of one file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.functions, self.imported, self.constants = _parse(file)

    def call(
        self, name: str, arguments: list[Use | None], depth: int, keywords: Mapping[str, Use] | None = None
    ) -> Use | None:
        """Follow arguments into a function; what it returns, where that is one of them."""
        if depth == 0:
            return None
        if name not in self.functions:
            if name in self.imported:
                file, there = self.imported[name]
                return _Reader(file).call(there, arguments, depth - 1, keywords)
            return None
        function = self.functions[name]
        parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
        known = {name: use for name, use in zip(parameters, arguments, strict=False) if use is not None}
        known.update(keywords or {})
        if not known:
            return None
        return _Follower(self, known, depth).run(function)


@cache
def _parse(
    file: Path,
) -> tuple[dict[str, ast.FunctionDef], dict[str, tuple[Path, str]], dict[str, list[Any]]]:
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return {}, {}, {}
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    imported: dict[str, tuple[Path, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (place := _place(file, node)) is not None:
            for alias in node.names:
                imported[alias.asname or alias.name] = (place, alias.name)
    return functions, imported, dict(_constants(tree))


def _constants(tree: ast.Module) -> Iterator[tuple[str, list[Any]]]:
    """Collections of plain values at the top of a file, by name: of a mapping, the keys."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            items = node.value.keys if isinstance(node.value, ast.Dict) else getattr(node.value, "elts", [])
            values = [one.value for one in items if isinstance(one, ast.Constant)]
            if values:
                yield node.targets[0].id, values


def _place(file: Path, node: ast.ImportFrom) -> Path | None:
    parts = (node.module or "").split(".")
    if node.level:
        base = file.parents[node.level - 1]
    elif parts[1:2] == ["tasks"] and parts[0] in {"lmms_eval", "lm_eval"}:
        root = next((one for one in file.parents if one.name == "tasks" and one.parent.name == parts[0]), None)
        if root is None:
            return None
        base, parts = root, parts[2:]
    else:
        base = file.parent
    place = base.joinpath(*parts).with_suffix(".py") if parts != [""] else base / "__init__.py"
    return place if place.is_file() else None


class _Follower(ast.NodeVisitor):
    """Follows known values through the body of one function."""

    def __init__(self, reader: _Reader, known: dict[str, Use], depth: int) -> None:
        self.reader = reader
        self.known = known
        self.depth = depth
        self.returned: Use | None = None

    def run(self, function: ast.FunctionDef) -> Use | None:
        for statement in function.body:
            self.visit(statement)
        return self.returned

    # --- what an expression stands for ---

    def use_of(self, node: ast.AST) -> Use | None:
        if isinstance(node, ast.Name):
            return self.known.get(node.id)
        if isinstance(node, ast.Subscript):
            base = self.use_of(node.value)
            if base is None:
                return None
            index = node.slice
            if isinstance(index, ast.Constant) and isinstance(index.value, str):
                return base.key(index.value)
            if isinstance(index, ast.Slice):
                base.calls.add("[:]")
                return base
            if isinstance(index, (ast.Constant, ast.UnaryOp)) or self._is_position(index):
                return base.item
            return base.item if base.has_items else None
        if isinstance(node, ast.Call):
            return self._use_of_call(node)
        if isinstance(node, (ast.IfExp,)):
            return self.use_of(node.body) or self.use_of(node.orelse)
        if isinstance(node, ast.BoolOp):
            return next((use for one in node.values if (use := self.use_of(one)) is not None), None)
        if isinstance(node, ast.NamedExpr):
            return self.use_of(node.value)
        return None

    def _is_position(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name) and node.id in self.known:
            self.known[node.id].calls.add("position")
            return True
        if isinstance(node, ast.Subscript) and (use := self.use_of(node)) is not None:
            use.calls.add("position")
            return True
        return isinstance(node, ast.BinOp) or (isinstance(node, ast.Name) and len(node.id) <= 3)

    def _use_of_call(self, node: ast.Call) -> Use | None:
        function = node.func
        if isinstance(function, ast.Attribute):
            base = self.use_of(function.value)
            if base is not None:
                return self._method(base, function.attr, node)
        name = ast.unparse(function)
        first = self.use_of(node.args[0]) if node.args else None
        if first is not None:
            first.calls.add(name)
            if name in {"json.loads", "ast.literal_eval", "eval", "literal_eval"}:
                return first.key("<parsed>")
            if name in {"str", "list", "sorted", "copy.deepcopy", "deepcopy", "tuple", "reversed", "dict", "set"}:
                return first
        if isinstance(function, ast.Name):
            arguments = [self.use_of(one) for one in node.args]
            keywords = {
                one.arg: use for one in node.keywords if one.arg and (use := self.use_of(one.value)) is not None
            }
            if any(one is not None for one in arguments) or keywords:
                return self.reader.call(function.id, arguments, self.depth - 1, keywords)
        return None

    def _method(self, base: Use, name: str, node: ast.Call) -> Use | None:
        argument = node.args[0] if node.args else None
        if name in {"get", "pop"} and isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            base.guarded.add(argument.value)
            return base.key(argument.value)
        if name in {"filter", "map"} and argument is not None:
            self._apply(argument, base.item)
            return base
        if name in {
            "select",
            "shuffle",
            "sort",
            "copy",
            "flatten_indices",
            "remove_columns",
            "cast_column",
            "rename_column",
        }:
            return base
        base.calls.add(f".{name}")
        if name in {"strip", "lower", "upper", "replace", "rstrip", "lstrip", "convert", "format"}:
            return base
        if name == "values":
            return Use()
        return None

    def _apply(self, function: ast.AST, row: Use) -> None:
        if isinstance(function, ast.Lambda) and function.args.args:
            inner = _Follower(self.reader, {**self.known, function.args.args[0].arg: row}, self.depth)
            inner.visit(function.body)
        elif isinstance(function, ast.Name):
            self.reader.call(function.id, [row], self.depth - 1)

    # --- statements ---

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        use = self.use_of(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                if use is not None:
                    self.known[target.id] = use
                else:
                    self.known.pop(target.id, None)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.visit(node.value)
            self.returned = self.returned or self.use_of(node.value)

    def visit_For(self, node: ast.For) -> None:
        self._loop(node.target, node.iter)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._loop(node.target, node.iter)
        for test in node.ifs:
            self.visit(test)

    def _comprehension(self, node: Any) -> None:
        for one in node.generators:
            self.visit(one)
        for name in ("elt", "key", "value"):
            if (part := getattr(node, name, None)) is not None:
                self.visit(part)

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension

    def _loop(self, target: ast.AST, over: ast.AST) -> None:
        self.visit(over)
        position = None
        if isinstance(over, ast.Call) and ast.unparse(over.func) == "enumerate" and over.args:
            over = over.args[0]
            if isinstance(target, ast.Tuple):
                position, target = target.elts[0], target.elts[1]
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr == "items":
            if (use := self.use_of(over.func.value)) is not None:
                use.calls.add(".items")
            return
        if isinstance(over, ast.Call) and ast.unparse(over.func) == "zip" and isinstance(target, ast.Tuple):
            for one, name in zip(over.args, target.elts, strict=False):
                self._loop(name, one)
            return
        use = self.use_of(over)
        if use is not None and isinstance(target, ast.Name):
            self.known[target.id] = use.item
        elif use is not None and isinstance(target, ast.Tuple):
            for number, name in enumerate(target.elts):
                if isinstance(name, ast.Name):
                    self.known[name.id] = use.item.key(f"<{number}>")
        if isinstance(position, ast.Name):
            self.known.pop(position.id, None)

    # --- expressions that tell something ---

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.use_of(node)
        if isinstance(node.value, ast.Name) and (use := self.use_of(node.slice)) is not None:
            self._literals(use, node.value)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.use_of(node)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        use = self.use_of(node.value)
        if use is not None and node.attr in {"size", "mode", "width", "height", "shape", "column_names", "features"}:
            use.calls.add(f".{node.attr}")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for (one, other), operator in zip(pairwise(sides), node.ops, strict=False):
            if isinstance(operator, (ast.In, ast.NotIn)):
                if (use := self.use_of(other)) is not None and isinstance(one, ast.Constant):
                    if isinstance(one.value, str):
                        use.guarded.add(one.value)
                elif (use := self.use_of(one)) is not None:
                    self._literals(use, other)
                continue
            for left, right in ((one, other), (other, one)):
                if (use := self.use_of(left)) is not None:
                    self._literals(use, right)
        self.generic_visit(node)

    def _literals(self, use: Use, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            for value in self.reader.constants.get(node.id, ())[:8]:
                use.compare(value)
            return
        values = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else [node]
        for one in values:
            if isinstance(one, ast.Constant) and one.value is not None:
                use.compare(one.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        for one, other in ((node.left, node.right), (node.right, node.left)):
            use = self.use_of(one)
            if use is None or not isinstance(node.op, ast.Add):
                continue
            text = isinstance(other, ast.JoinedStr) or (
                isinstance(other, ast.Constant) and isinstance(other.value, str)
            )
            use.calls.add("+text" if text else "+number" if isinstance(other, ast.Constant) else "+")
            if isinstance(other, ast.Call) and ast.unparse(other.func) == "ord":
                use.calls.add("+number")
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Nested functions are followed where they are called or mapped."""

    visit_Lambda = visit_FunctionDef  # type: ignore[assignment]
