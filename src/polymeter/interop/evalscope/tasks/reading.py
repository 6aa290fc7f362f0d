"""Reading a benchmark's file without running it: what it registers, by its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from polymeter.core.errors import DataError
from polymeter.core.names.catalog import protocol_name
from polymeter.guests.reading.sources import bytes_of, packages_needed, tree_of

UNKNOWN: Final = "?"
"""Stands for a value that only running the file would give."""
PROTOCOL: Final = "protocol"
"""The key of ``extra_params`` under which a registration states its protocol."""
_OWNER = "Benchmark"
_METHOD = "register"
_POSITIONAL = ("name", "dataset_id")
_ENUMS = ("OutputType", "EvalType", "HubType", "JudgeStrategy")
_DATASET = "dataset_id"
_ABOUT = (("subset", "subset_list"), ("configuration", "subset_list"), ("split", "eval_split"))
"""Words of an error about data, each with the argument of a registration that it is about."""
NOT_LITERAL: Final = object()
_STRIPS = frozenset({"strip", "lstrip", "rstrip"})


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
        protocol: What its ``extra_params`` state as its protocol, without values that are computed; ``None``: nothing,
            or the protocol or its name is computed.
        protocol_line: Where that stands.
    """

    name: str
    line: int
    values: Mapping[str, Any]
    written: Mapping[str, str]
    lines: Mapping[str, int]
    adapter: ast.ClassDef | None = None
    keywords: tuple[str, ...] = ()
    has_more: bool = False
    protocol: Mapping[str, Any] | None = None
    protocol_line: int = 0

    def value(self, key: str, default: Any = None) -> Any:
        """An argument, as far as it is known without running anything."""
        return self.values.get(key, default)

    def is_named(self, name: str, protocol: str = "") -> bool:
        """Return whether it is of a benchmark under a protocol; empty: without one."""
        return self.name == name and protocol_name(self.protocol) == protocol


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

    def named(self, name: str, protocol: str = "") -> list[Registration]:
        """The registrations of a benchmark under a protocol; empty: without one."""
        return [one for one in self.registrations if one.is_named(name, protocol)]


def stated_protocol(extra_params: Any) -> Mapping[str, Any] | None:
    """Return the protocol among the ``extra_params`` of a registration. A value that is no mapping is a setting of the
    adapter's own.
    """
    stated = extra_params.get(PROTOCOL) if isinstance(extra_params, Mapping) else None
    return stated if isinstance(stated, Mapping) else None


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


def line_of_data(path: Path, name: str, protocol: str, error: DataError) -> int:
    """The line of a benchmark's registration that an error about its data is about: where it names the dataset, its
    subsets or its split.
    """
    found = next(iter(read_file(path).named(name, protocol)), None)
    if found is None:  # registered under a name that only running the file gives
        return 1
    return line_in(found, error)


def line_in(registration: Registration, error: DataError) -> int:
    """The line of a registration that an error about its data is about."""
    argument = next((argument for sign, argument in _ABOUT if sign in error.what), _DATASET)
    return registration.lines.get(argument, registration.lines.get(_DATASET, registration.line))


class LiteralReader:
    """Reads values that are written in a file, as far as running it is not needed.

    Args:
        tree: The tree of a whole file.
        enums: Classes of constants that expressions may name, by name.
    """

    def __init__(self, tree: ast.Module, enums: Mapping[str, Any]) -> None:
        self.tree = tree
        self.classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self._enums = enums
        self._constants: dict[str, Any] = {}
        for node in tree.body:
            for name, value in _assigned(node):
                constant = self.literal(value)
                if constant is not NOT_LITERAL:
                    self._constants[name] = constant

    def decorated(self) -> dict[int, ast.ClassDef]:
        """The class that each decorator, by the identity of its node, stands above."""
        return {
            id(call): node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ClassDef)
            for call in node.decorator_list
        }

    def registration(
        self, positional: Sequence[str], call: ast.Call, line: int, decorated: ast.ClassDef | None
    ) -> Registration:
        """The registration that the arguments of a call describe.

        Args:
            positional: The names of the arguments in order.
            call: The call.
            line: Where the registration stands.
            decorated: The class below it.
        """
        given = dict(zip(positional, call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
        values = {key: self.value(node) for key, node in given.items()}
        name = values.get("name", UNKNOWN)
        return Registration(
            name if isinstance(name, str) else UNKNOWN,
            line,
            values,
            {key: ast.unparse(node) for key, node in given.items()},
            {key: node.lineno for key, node in given.items()},
            self.classes.get(decorated.name, decorated) if decorated is not None else None,
            tuple(keyword.arg for keyword in call.keywords if keyword.arg is not None),
            any(keyword.arg is None for keyword in call.keywords),
            *self._protocol(given.get("extra_params")),
        )

    def _protocol(self, params: ast.expr | None) -> tuple[Mapping[str, Any] | None, int]:
        """Return the mapping ``protocol`` among further parameters, as far as it is literal, and its line."""
        pairs = zip(params.keys, params.values, strict=True) if isinstance(params, ast.Dict) else ()
        node = next((value for key, value in pairs if key is not None and self.literal(key) == PROTOCOL), None)
        if node is None:
            stated = (self.literal(params) if params is not None else None) or {}
            return stated_protocol(stated), getattr(params, "lineno", 0)
        if not isinstance(node, ast.Dict):
            return stated_protocol({PROTOCOL: self.literal(node)}), node.lineno
        names = [None if key is None else self.literal(key) for key in node.keys]
        values = {name: self.literal(value) for name, value in zip(names, node.values, strict=True)}
        known = {name: value for name, value in values.items() if isinstance(name, str) and value is not NOT_LITERAL}
        return (None if "name" in values and "name" not in known else known), node.lineno

    def value(self, node: ast.expr) -> Any:
        """The value of an expression; ``?`` where only running the file would give it."""
        value = self.literal(node)
        return UNKNOWN if value is NOT_LITERAL else value

    def literal(self, node: ast.expr) -> Any:
        """The value of an expression, if it is a literal, a name bound to one, one of EvalScope's constants, or made of
        such; else ``NOT_LITERAL``.
        """
        if isinstance(node, ast.Name):
            return self._constants.get(node.id, NOT_LITERAL)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self._enums:
            return getattr(self._enums[node.value.id], node.attr, NOT_LITERAL)
        if isinstance(node, (ast.List, ast.Tuple)):
            items = [self.literal(item) for item in node.elts]
            return NOT_LITERAL if any(item is NOT_LITERAL for item in items) else items
        if isinstance(node, ast.Dict):
            return self._mapping(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.literal(node.left), self.literal(node.right)
            is_same = type(left) is type(right) and isinstance(left, (str, list))
            return left + right if is_same else NOT_LITERAL
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _STRIPS:
            text = self.literal(node.func.value)
            plain = isinstance(text, str) and not node.args and not node.keywords
            return getattr(text, node.func.attr)() if plain else NOT_LITERAL
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError):
            return NOT_LITERAL

    def _mapping(self, node: ast.Dict) -> Any:
        mapping = {}
        for key, value in zip(node.keys, node.values, strict=True):
            pair = (NOT_LITERAL if key is None else self.literal(key), self.literal(value))
            if NOT_LITERAL in pair or isinstance(pair[0], (list, dict)):
                return NOT_LITERAL
            mapping[pair[0]] = pair[1]
        return mapping


class _RegistrationReader(LiteralReader):
    """Finds registrations in one tree.

    Args:
        tree: The tree of a whole file.
    """

    def __init__(self, tree: ast.Module) -> None:
        from polymeter.interop.evalscope.tasks import constants

        super().__init__(tree, {name: getattr(constants, name) for name in _ENUMS})
        self._owners = {_OWNER, *aliases(tree, _OWNER)}

    def registrations(self) -> Iterator[Registration]:
        """In the order of the file."""
        decorates = self.decorated()
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call) and self._registers(node)]
        for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
            yield self.registration(_POSITIONAL, call, call.lineno, decorates.get(id(call)))

    def _registers(self, call: ast.Call) -> bool:
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr != _METHOD:
            return False
        owner = function.value
        name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
        return name in self._owners


def aliases(tree: ast.Module, name: str) -> set[str]:
    """The names under which a file imports an object."""
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
