"""The names that a guest's code uses, found by reading it; nothing is run. Calls of a hook are followed by name: from
the hook to every function, method, class and variable of its files with a name that it uses, and so on. That is more
than it calls and never less, but for names that are made at run time.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

_MOST_PARSED = 1024


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a name that the files of a guest do not define.

    Attributes:
        name: The name, or the last part of a dotted one.
        call: The call, if the name is called there.
        where: ``file:line``.
    """

    name: str
    call: ast.Call | None
    where: str


def uses_behind(files: Iterable[Path], starts: Iterable[tuple[Path | None, str]]) -> Iterator[Use]:
    """Return the names that some functions use and their files do not define, directly or through other functions.

    Args:
        files: The source files; files that are not readable Python are skipped.
        starts: The functions: file and name. A name without a file is looked for in all of them; without a name, all
            that the file defines is meant.
    """
    sources = {file: source for file in files if file.suffix == ".py" and (source := _source_in(file)) is not None}
    waiting = []
    for start, name in starts:
        among = sources.keys() if start is None else [start] if start in sources else []
        waiting += [(file, each) for file in among for each in ([name] if name else sources[file].definitions)]
    seen = set(waiting)
    while waiting:
        file, name = waiting.pop()
        for place, node in _definitions(name, file, sources):
            aliases = sources[place].aliases
            for used, line, call in _used(node):
                meant = aliases.get(used, used)
                if not any(meant in source.definitions for source in sources.values()):
                    yield Use(meant, call, f"{place}:{line}")
                elif (place, meant) not in seen:
                    seen.add((place, meant))
                    waiting.append((place, meant))


@dataclass(slots=True)
class _ReadSource:
    """A file: what it defines, by name, and the names that it imports under others."""

    definitions: dict[str, list[ast.AST]] = field(default_factory=lambda: defaultdict(list))
    aliases: dict[str, str] = field(default_factory=dict)


def _definitions(name: str, file: Path, sources: Mapping[Path, _ReadSource]) -> Iterator[tuple[Path, ast.AST]]:
    """Return the definition of a name: in its own file if that defines it, else in any."""
    own = sources[file].definitions
    for place, source in [(file, sources[file])] if name in own else sources.items():
        yield from ((place, node) for node in source.definitions.get(name, ()))


def _source_in(file: Path) -> _ReadSource | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return _parsed_source(file, found.st_size, found.st_mtime_ns)


# The tasks of one folder share their files, so a file is parsed once for as long as it stays the same.
@lru_cache(maxsize=_MOST_PARSED)
def _parsed_source(file: Path, size: int, mtime_ns: int) -> _ReadSource | None:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    source = _ReadSource()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            source.definitions[node.name].append(node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            named = ((alias.asname, alias.name.rpartition(".")[2]) for alias in node.names)
            source.aliases.update((own, name) for own, name in named if own)
    for statement in _outside_of_functions(tree):
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    source.definitions[target.id].append(statement.value)
    return source


def _outside_of_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield child
            yield from _outside_of_functions(child)


def _used(node: ast.AST) -> Iterator[tuple[str, int, ast.Call | None]]:
    """The names that a definition uses. Of a class, only the names in code that runs when an object is made: other
    methods are found when their names are used.
    """
    calls = {id(item.func): item for item in ast.walk(node) if isinstance(item, ast.Call)}
    waiting = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, ast.Name):
            yield item.id, item.lineno, calls.get(id(item))
        elif isinstance(item, ast.Attribute):
            yield item.attr, item.lineno, calls.get(id(item))
        children: Iterable[ast.AST] = ast.iter_child_nodes(item)
        if isinstance(item, ast.ClassDef):
            children = [child for child in children if not _is_plain_method(child)]
        waiting.extend(children)


def _is_plain_method(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("__")
