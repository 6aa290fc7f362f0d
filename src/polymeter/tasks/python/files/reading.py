"""The tasks of a Python file, read from its syntax tree. Nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.names.catalog import named_with_protocol
from polymeter.guests.reading.sources import bytes_of, packages_needed, tree_of
from polymeter.tasks.python.writing.records import PythonTask

_OURS = "polymeter"
_DECORATOR, _RECORD = "task", "PythonTask"
_LONGEST = 200
_KNOWN = tuple(one.name for one in fields(PythonTask) if one.init)
_BLOCKS = (ast.If, ast.Try, ast.With)
_LISTS = (ast.List, ast.Tuple)


@dataclass(frozen=True, slots=True)
class WrittenTask:
    """A task as it is written in a file.

    Attributes:
        name: Its name; empty: only running the file shows it.
        line: Its line.
        values: Its arguments: literal values, and of others the source text.
        description: The docstring of its prompt function.
        problem: A mistake in its arguments; empty if none shows.
    """

    name: str
    line: int
    values: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PythonFile:
    """A file, as far as its text shows.

    Attributes:
        path: The file.
        tasks: Its tasks, in order.
        packages: Importable modules that it needs.
    """

    path: Path
    tasks: tuple[WrittenTask, ...]
    packages: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[WrittenTask, ...]:
        """The tasks whose names are written in the file."""
        return tuple(one for one in self.tasks if one.name)

    @property
    def has_computed(self) -> bool:
        """True if only running the file shows the names of all of its tasks."""
        return any(not one.name for one in self.tasks)


def read_file(path: Path) -> PythonFile:
    """Read the tasks of a file.

    Raises:
        PlanError: if it cannot be read, or is not valid Python.
    """
    content = bytes_of(path)
    if _OURS.encode() not in content:  # most files of a folder define no task, and are not parsed
        return PythonFile(path, ())
    tree = tree_of(path, content)
    names = _Names.of(tree)
    if not names:
        return PythonFile(path, ())
    found = tuple(_tasks(tree.body, names, {}, _lengths(tree)))
    return PythonFile(path, found, tuple(sorted({name for name, _ in packages_needed(tree, path.parent)})))


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of ``polymeter``, its decorator and its record in a file."""

    modules: frozenset[str]
    own: Mapping[str, str]

    @classmethod
    def of(cls, tree: ast.Module) -> _Names:
        modules: set[str] = set()
        own: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                modules |= {alias.asname or alias.name for alias in node.names if alias.name == _OURS}
            elif isinstance(node, ast.ImportFrom) and node.module == _OURS and not node.level:
                own |= {alias.asname or alias.name: alias.name for alias in node.names}
        kept = {name: meant for name, meant in own.items() if meant in (_DECORATOR, _RECORD)}
        return cls(frozenset(modules), kept)

    def __bool__(self) -> bool:
        return bool(self.modules or self.own)

    def meant(self, node: ast.expr) -> str:
        """Return which name of ours an expression means; empty if none."""
        if isinstance(node, ast.Name):
            return self.own.get(node.id, "")
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self.modules:
            return node.attr if node.attr in (_DECORATOR, _RECORD) else ""
        return ""


def _lengths(tree: ast.Module) -> dict[str, int]:
    """Return the lengths of the lists at the top level of a module, by name."""
    written = [node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, _LISTS)]
    return {
        target.id: len(node.value.elts)  # type: ignore[attr-defined]
        for node in written
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _tasks(
    body: Sequence[ast.stmt], names: _Names, functions: dict[str, str], lengths: Mapping[str, int]
) -> Iterator[WrittenTask]:
    """Yield the tasks in the statements of a module, in order."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions[node.name] = ast.get_docstring(node) or ""
            yield from _decorated(node, names, lengths)
        elif isinstance(node, _BLOCKS):
            if not _is_main(node):
                yield from _tasks([*_statements(node)], names, functions, lengths)
        elif isinstance(node, (ast.For, ast.While, ast.ClassDef)):
            yield from (WrittenTask("", call.lineno) for call in _records(node, names))
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr)) and node.value is not None:
            yield from _assigned(node.value, names, functions, lengths)


def _statements(node: ast.stmt) -> Iterator[ast.stmt]:
    for name in ("body", "orelse", "finalbody"):
        yield from getattr(node, name, ())
    for handler in getattr(node, "handlers", ()):
        yield from handler.body


def _is_main(node: ast.stmt) -> bool:
    """Return whether a block runs only if the file is run as a script."""
    return isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)


def _decorated(
    node: ast.FunctionDef | ast.AsyncFunctionDef, names: _Names, lengths: Mapping[str, int]
) -> Iterator[WrittenTask]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and names.meant(decorator.func) == _DECORATOR:
            yield _written(decorator, node.name, ast.get_docstring(node) or "", lengths)
        elif names.meant(decorator) == _DECORATOR:
            what = "task needs the rows of the benchmark. Write @polymeter.task(rows=…)."
            yield WrittenTask(node.name, decorator.lineno, problem=what)


def _assigned(
    value: ast.expr, names: _Names, functions: Mapping[str, str], lengths: Mapping[str, int]
) -> Iterator[WrittenTask]:
    """Yield the tasks that a statement makes with the record, or with the decorator called as a function."""
    calls = [*_records(value, names)]
    computed = {id(call) for node in ast.walk(value) if isinstance(node, _COMPREHENSIONS) for call in ast.walk(node)}
    for call in calls:
        if id(call) in computed:
            yield WrittenTask("", call.lineno)
            continue
        prompt = call.args[0] if call.args else _keyword(call, "prompt")
        own = prompt.id if isinstance(prompt, ast.Name) and prompt.id in functions else ""
        yield _written(call, own, functions.get(own, ""), lengths)
    for node in ast.walk(value):
        is_made = isinstance(node, ast.Call) and isinstance(node.func, ast.Call)
        if is_made and names.meant(node.func.func) == _DECORATOR:  # type: ignore[attr-defined]
            prompt = node.args[0] if node.args else None  # type: ignore[attr-defined]
            own = prompt.id if isinstance(prompt, ast.Name) and prompt.id in functions else ""
            yield _written(node.func, own, functions.get(own, ""), lengths)  # type: ignore[attr-defined]


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)


def _records(node: ast.AST, names: _Names) -> Iterator[ast.Call]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and names.meant(inner.func) == _RECORD:
            yield inner


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((one.value for one in call.keywords if one.arg == name), None)


def _written(call: ast.Call, name: str, description: str, lengths: Mapping[str, int]) -> WrittenTask:
    values = {one.arg: _value(one.value, one.arg, lengths) for one in call.keywords if one.arg is not None}
    written = _keyword(call, "name")
    if written is not None:
        name = written.value if isinstance(written, ast.Constant) and isinstance(written.value, str) else ""
    unknown = next((one.arg for one in call.keywords if one.arg is not None and one.arg not in _KNOWN), None)
    problem = ""
    if unknown is not None:
        hint = did_you_mean(unknown, _KNOWN, n=1) or f"Its fields: {', '.join(_KNOWN[1:])}."
        problem = f"A task has no field {unknown!r}. {hint}"
    elif "rows" not in values and all(one.arg is not None for one in call.keywords):
        problem = "A task needs rows=…: dictionaries, a dataset, a path, or a function that returns one of these."
    stated = values.get("protocol")
    if stated is not None:  # one that is no literal is known when the file has run
        name = named_with_protocol(name, stated) if name and isinstance(stated, Mapping) else ""
    return WrittenTask(name, call.lineno, values, description, problem)


def _value(node: ast.expr, key: str, lengths: Mapping[str, int]) -> Any:
    """Return a literal value, the source text of any other value, or the number of rows."""
    if key == "rows" and isinstance(node, _LISTS):
        return f"{len(node.elts)} rows in the file"
    if key == "rows" and isinstance(node, ast.Name) and node.id in lengths:
        return f"{lengths[node.id]} rows in the file"
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        text = ast.unparse(node)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return value


def written_task(path: Path, name: str) -> WrittenTask | None:
    """Return a task of a file by its name; ``None`` if only running the file shows it.

    Raises:
        PlanError: if the file does not define it, defines it twice, or its arguments are wrong.
    """
    file = read_file(path)
    found = [one for one in file.named if one.name == name]
    if len(found) > 1:
        lines = " and ".join(str(one.line) for one in found)
        raise PlanError(
            f"{path.name} defines the task {name!r} {len(found)} times: lines {lines}.",
            where=f"{path}:{found[-1].line}",
            hint="Give each task a name of its own.",
        )
    if found:
        if found[0].problem:
            raise PlanError(found[0].problem, where=f"{path}:{found[0].line}")
        return found[0]
    if file.has_computed:
        return None
    near = did_you_mean(name, [one.name for one in file.named], n=1)
    raise PlanError(f"{path.name} defines no task {name!r}.", where=str(path), hint=near)
