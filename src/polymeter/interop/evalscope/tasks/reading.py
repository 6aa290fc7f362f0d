"""Reading a benchmark's file without running it: what it registers, by its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from polymeter.core.errors import DataError
from polymeter.guests.reading.sources import bytes_of, packages_needed, tree_of

UNKNOWN: Final = "?"
"""Stands for a value that only running the file would give."""
_OWNER = "Benchmark"
_METHOD = "register"
_POSITIONAL = ("name", "dataset_id")
_ENUMS = ("OutputType", "EvalType", "HubType", "JudgeStrategy")
_DATASET = "dataset_id"
_ABOUT = (("subset", "subset_list"), ("configuration", "subset_list"), ("split", "eval_split"))
"""Words of an error about data, each with the argument of a registration that it is about."""
_NOT_LITERAL: Final = object()


@dataclass(frozen=True, slots=True)
class Registration:
    """One registration, as it is written.

    Attributes:
        name: The benchmark's name; ``?`` when it is not a literal.
        line: Where it stands.
        values: Its arguments: plain values, or ``?``.
        written: The source text of each argument.
        lines: Where each argument stands.
        adapter: The class that it decorates, the last of that name in the file; ``None`` when it decorates none.
        keywords: Names of the keyword arguments in order.
        has_more: Whether it takes further arguments from a mapping (``**kwargs``).
    """

    name: str
    line: int
    values: Mapping[str, Any]
    written: Mapping[str, str]
    lines: Mapping[str, int]
    adapter: ast.ClassDef | None = None
    keywords: tuple[str, ...] = ()
    has_more: bool = False

    def value(self, key: str, default: Any = None) -> Any:
        """An argument, as far as it is known without running anything."""
        return self.values.get(key, default)


@dataclass(frozen=True, slots=True)
class BenchmarkFile:
    """The content of a file, by its syntax tree.

    Attributes:
        path: The file.
        registrations: What it registers.
        packages: Third-party packages that it imports at its top, each with its line.
    """

    path: Path
    registrations: tuple[Registration, ...] = ()
    packages: Mapping[str, int] = field(default_factory=dict)


def read_file(path: Path) -> BenchmarkFile:
    """Read the registrations in a file. A file that does not mention ``Benchmark`` is not even parsed.

    Raises:
        PlanError: if it is not valid Python.
    """
    content = bytes_of(path)
    if _OWNER.encode() not in content:
        return BenchmarkFile(path)
    tree = tree_of(path, content)
    reader = _RegistrationReader(tree)
    return BenchmarkFile(path, tuple(reader.registrations()), dict(packages_needed(tree, path.parent)))


def line_of_data(path: Path, name: str, error: DataError) -> int:
    """The line of a benchmark's registration that an error about its data is about: where it names the dataset, its
    subsets or its split.
    """
    found = next((item for item in read_file(path).registrations if item.name == name), None)
    if found is None:  # registered under a name that only running the file gives
        return 1
    argument = next((argument for sign, argument in _ABOUT if sign in error.what), _DATASET)
    return found.lines.get(argument, found.lines.get(_DATASET, found.line))


class _RegistrationReader:
    """Finds registrations in one tree.

    Args:
        tree: The tree of a whole file.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._owners = {_OWNER, *_aliases(tree, _OWNER)}
        self._classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self._constants: dict[str, Any] = {}
        for node in tree.body:
            for name, value in _assigned(node):
                constant = self._literal(value)
                if constant is not _NOT_LITERAL:
                    self._constants[name] = constant

    def registrations(self) -> Iterator[Registration]:
        """In the order of the file."""
        decorates = {
            id(call): node
            for node in ast.walk(self._tree)
            if isinstance(node, ast.ClassDef)
            for call in node.decorator_list
        }
        calls = [node for node in ast.walk(self._tree) if isinstance(node, ast.Call) and self._registers(node)]
        for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
            yield self._read(call, decorates.get(id(call)))

    def _registers(self, call: ast.Call) -> bool:
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr != _METHOD:
            return False
        owner = function.value
        name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
        return name in self._owners

    def _read(self, call: ast.Call, decorated: ast.ClassDef | None) -> Registration:
        given = dict(zip(_POSITIONAL, call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
        values = {key: self._value(node) for key, node in given.items()}
        name = values.get("name", UNKNOWN)
        return Registration(
            name if isinstance(name, str) else UNKNOWN,
            call.lineno,
            values,
            {key: ast.unparse(node) for key, node in given.items()},
            {key: node.lineno for key, node in given.items()},
            self._classes.get(decorated.name, decorated) if decorated is not None else None,
            tuple(keyword.arg for keyword in call.keywords if keyword.arg is not None),
            any(keyword.arg is None for keyword in call.keywords),
        )

    def _value(self, node: ast.expr) -> Any:
        value = self._literal(node)
        return UNKNOWN if value is _NOT_LITERAL else value

    def _literal(self, node: ast.expr) -> Any:
        """The value of an expression, if it is a literal, a name bound to one, or one of EvalScope's constants."""
        if isinstance(node, ast.Name):
            return self._constants.get(node.id, _NOT_LITERAL)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in _ENUMS:
            from polymeter.interop.evalscope.tasks import constants

            return getattr(getattr(constants, node.value.id), node.attr, _NOT_LITERAL)
        if isinstance(node, (ast.List, ast.Tuple)):
            items = [self._literal(item) for item in node.elts]
            return _NOT_LITERAL if any(item is _NOT_LITERAL for item in items) else items
        if isinstance(node, ast.Dict):
            return self._mapping(node)
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError):
            return _NOT_LITERAL

    def _mapping(self, node: ast.Dict) -> Any:
        mapping = {}
        for key, value in zip(node.keys, node.values, strict=True):
            pair = (_NOT_LITERAL if key is None else self._literal(key), self._literal(value))
            if _NOT_LITERAL in pair or isinstance(pair[0], (list, dict)):
                return _NOT_LITERAL
            mapping[pair[0]] = pair[1]
        return mapping


def _aliases(tree: ast.Module, name: str) -> set[str]:
    return {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == name and alias.asname
    }


def _assigned(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id, node.value
