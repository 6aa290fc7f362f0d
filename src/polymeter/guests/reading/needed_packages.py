"""The packages that a guest's code needs, found by reading its import statements; nothing is run. Packages that a file
imports when it is loaded are needed, also those of files of the same task that it imports. Packages imported inside
functions, or under a condition, may be needed: only running the code shows it. So may all, if some of the files change
the search path of modules. An import in a ``try`` that handles its absence is not needed; nor are the imports of a file
whose names a shim supplies, because it is not loaded.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from polymeter.core.names.systems import import_roots
from polymeter.guests.loading.neighbours import (
    beside_checkout,
    is_supplied,
    lacking_in_shim,
    name_in_copy,
    package_root,
    tree_file,
    trees,
)
from polymeter.guests.served.packages import SERVED_PACKAGES

_MOST_PARSED = 4096
_LEVELS = 3
_CAUGHT = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_SEARCHED = re.compile(rb"\bsys\s*\.\s*(?:path|meta_path|modules)\b|\bfrom\s+sys\s+import\b|\baddsitedir\b")
"""Words of code that changes the search path of modules, or adds modules to it."""
_NAMESPACES = ("azure", "google")
"""Packages that many distributions share: their next name counts too."""


@dataclass(frozen=True, slots=True)
class NeededPackage:
    """A package that code imports.

    Attributes:
        module: Its importable name.
        where: ``file:line`` of the import.
        is_certain: Whether the code cannot be loaded without it.
    """

    module: str
    where: str
    is_certain: bool


def packages_behind(files: Iterable[Path]) -> tuple[NeededPackage, ...]:
    """The packages that some files and their neighbours import, each once, by name. Python's own, Polymeter, and
    packages that have shims are not among them.

    Args:
        files: The files that are loaded first.
    """
    found: dict[str, NeededPackage] = {}
    seen: dict[Path, bool] = {}
    is_search_changed = False
    waiting = [(file, True) for file in files]
    while waiting:
        file, is_certain = waiting.pop()
        if seen.get(file) or (file in seen and not is_certain):
            continue
        seen[file] = is_certain
        own = _code_in(file)
        is_search_changed = is_search_changed or own.changes_search
        for statement in own.statements:
            is_needed = is_certain and statement.is_certain
            neighbours = [*_neighbours(file, statement)]
            waiting += [(neighbour, is_needed) for neighbour in neighbours]
            module = "" if neighbours else _package(file, statement)
            if module and (module not in found or (is_needed and not found[module].is_certain)):
                found[module] = NeededPackage(module, f"{file}:{statement.line}", is_needed)
    needed = (found[module] for module in sorted(found))
    return tuple(replace(one, is_certain=False) if is_search_changed else one for one in needed)


def is_installed(module: str) -> bool:
    """Return whether a package can be imported, found without importing it."""
    if module in sys.modules:
        return True
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # a package around it is missing, or is a module that was made by hand
        return False


@dataclass(frozen=True, slots=True)
class _Statement:
    """An import statement.

    Attributes:
        level: The number of dots of a relative one.
        module: The name after them, or the module that is imported.
        names: The names imported from it.
        line: Its line.
        is_certain: Whether it runs whenever its file is loaded.
    """

    level: int
    module: str
    names: tuple[str, ...]
    line: int
    is_certain: bool


@dataclass(frozen=True, slots=True)
class _Code:
    """The imports of a file.

    Attributes:
        statements: Its import statements, without those whose failure it expects.
        changes_search: Whether it may change the search path of modules.
    """

    statements: tuple[_Statement, ...] = ()
    changes_search: bool = False


def _code_in(file: Path) -> _Code:
    try:
        found = os.stat(file)
    except OSError:
        return _Code()
    return _parsed_code(str(file), found.st_size, found.st_mtime_ns)


# Kept for the life of the process: the file's state is part of the key, so a changed file is read again.
@lru_cache(maxsize=_MOST_PARSED)
def _parsed_code(file: str, size: int, mtime_ns: int) -> _Code:
    """The imports of a file in its present state."""
    import warnings

    try:
        text = Path(file).read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the author's texts, at every listing
            tree = ast.parse(text)
        return _Code(tuple(_within(tree.body, is_certain=True)), _SEARCHED.search(text) is not None)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return _Code()  # loading the task reports it


def _within(nodes: Iterable[ast.AST], *, is_certain: bool) -> Iterator[_Statement]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield _Statement(0, alias.name, (), node.lineno, is_certain)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            yield _Statement(node.level, node.module or "", names, node.lineno, is_certain)
        elif isinstance(node, ast.Try):
            if not any(map(_catches_absence, node.handlers)):
                yield from _within(node.body, is_certain=is_certain)
            rest = [*node.orelse, *node.finalbody, *(item for handler in node.handlers for item in handler.body)]
            yield from _within(rest, is_certain=False)
        elif isinstance(node, (ast.With, ast.ClassDef)):
            yield from _within(node.body, is_certain=is_certain)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _within(node.orelse, is_certain=is_certain)
        elif not isinstance(node, ast.expr):  # which holds no statement
            yield from _within(ast.iter_child_nodes(node), is_certain=False)


def _catches_absence(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(ast.unparse(kind).rpartition(".")[2] in _CAUGHT for kind in kinds)


def _neighbours(file: Path, statement: _Statement) -> Iterator[Path]:
    """The files of the task's own that a statement loads."""
    inside = file.parents[min(max(statement.level, 1), len(file.parents)) - 1]
    package = name_in_copy(inside) if statement.level else ""
    module = ".".join(filter(None, [package, statement.module]))
    if (package or not statement.level) and is_supplied(module, inside):
        yield from _beside_the_shim(module, statement, inside)
        return
    below = [statement.module, *(f"{statement.module}.{name}".lstrip(".") for name in statement.names)]
    if statement.level:
        yield from (found for name in below if name and (found := _module_in(inside, name)))
    elif f"{statement.module}.".startswith(trees()):
        yield from (found for name in below if (found := tree_file(name, file.parent)))
    else:
        # Code that changes the search path looks in folders above the file's own.
        folders = file.parents[: 1 if is_installed(statement.module.partition(".")[0]) else _LEVELS]
        beside = next((found for folder in folders if (found := _module_in(folder, statement.module))), None)
        if beside is not None and beside != file:
            yield beside


def _beside_the_shim(module: str, statement: _Statement, inside: Path) -> Iterator[Path]:
    """The files of a copy of a system's package that a statement loads although a shim supplies the module: those with
    names that the shim does not have.
    """
    root = package_root(inside)
    lacking = lacking_in_shim(module, statement.names, inside)
    if root is not None and lacking:
        names = [module, *(f"{module}.{name}" for name in lacking)]
        yield from (found for name in names if (found := _module_in(root.parent, name)))


def _module_in(folder: Path, name: str) -> Path | None:
    path = folder.joinpath(*name.split("."))
    return next((each for each in (path.with_name(f"{path.name}.py"), path / "__init__.py") if each.is_file()), None)


def _package(file: Path, statement: _Statement) -> str:
    """The package that a statement needs; empty if it is unknown, or always installed."""
    top, _, below = statement.module.partition(".")
    if statement.level or top in sys.stdlib_module_names or top == "polymeter" or top in import_roots():
        return ""
    if top in SERVED_PACKAGES or (file.parent / top).is_dir() or beside_checkout(top, file.parent):
        return ""
    if top in _NAMESPACES:
        return ".".join([top, *(below.split(".")[:1] if below else statement.names[:1])])
    return top
