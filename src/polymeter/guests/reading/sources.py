"""The files of a guest's code, found by reading its import statements; nothing is run."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from polymeter.core.errors import PlanError
from polymeter.core.names.catalog import Entry
from polymeter.core.names.systems import import_roots, systems
from polymeter.guests.loading.neighbours import (
    beside_checkout,
    is_supplied,
    lacking_in_shim,
    name_in_copy,
    package_root,
    tree_file,
)
from polymeter.guests.served.packages import SERVED_PACKAGES

_MOST_LEVELS = 8
_MOST_PARSED = 4096
_INSTALLED = ("site-packages", "dist-packages")
_OURS, _LIBRARY = "polymeter", "polymeter.library"


def files_behind(files: Iterable[Path]) -> tuple[Path, ...]:
    """Source files, and those that they import, directly or not, from their own folder or package; sorted. What is
    imported late, inside functions, is among them; installed packages are not. Nor is Polymeter itself, whose version a
    run records: only the files of its included benchmarks are. In a copy of a tool whose benchmarks lie in the tool's
    own folders, files that a shim replaces are not loaded, so they are not among them either.
    """
    files_seen: set[Path] = set()
    waiting = [file.resolve() for file in files]
    imported = _Imports()
    while waiting:
        file = waiting.pop()
        if file in files_seen:
            continue
        files_seen.add(file)
        waiting.extend(imported.of(file))
    return tuple(sorted(files_seen))


def no_yaml(entry: Entry, what: str) -> PlanError:
    """Return the error for a benchmark that consists of Python files, when it is wanted as YAML. It names the files.

    Args:
        entry: The benchmark.
        what: What it is: "Benchmark 'pope' is a Python class".
    """
    files = ", ".join(file.name for file in files_behind([entry.file])) if entry.file.is_file() else "its script"
    return PlanError(f"{what} and has no form as YAML.", where=str(entry.file), hint=f"Share its files: {files}.")


def packages_needed(tree: ast.Module, folder: Path) -> Iterator[tuple[str, int]]:
    """Return third-party packages that a file needs to load, each with the line of its import. Neighbours, the standard
    library and packages that have shims are not among them.

    Args:
        tree: The file.
        folder: Its folder.
    """
    ours = {_OURS, *import_roots(), *SERVED_PACKAGES}
    for node in tree.body:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module]
        for name in names:
            top = name.partition(".")[0]
            is_beside = (folder / f"{top}.py").is_file() or (folder / top).is_dir() or beside_checkout(top, folder)
            if top not in sys.stdlib_module_names and top not in ours and not is_beside:
                yield top, node.lineno


class _Imports:
    """The files that other files import. The disk is checked once in the life of the object, since the files of a
    package import the same modules over and over.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, tuple[Path, ...]], list[Path]] = {}
        self._in_trees: dict[tuple[str, Path], Path | None] = {}
        self._roots: dict[Path, tuple[Path, ...]] = {}
        self._names: dict[Path, frozenset[str]] = {}
        self._in_copies: dict[Path, str] = {}
        self._replaced: dict[tuple[str, Path], bool] = {}

    def of(self, file: Path) -> Iterator[Path]:
        """The files that a file imports."""
        try:
            found = file.stat()
        except OSError:
            return
        folder = file.parent
        for level, base, names in _import_statements(str(file), found.st_size, found.st_mtime_ns):
            if not level and _is_own_module(base):
                continue
            roots = tuple(list(file.parents)[level - 1 : level]) if level else self._own_roots(folder)
            inside = roots[0] if level and roots else folder
            module = ".".join(filter(None, [self._in_copy(inside) if level else "", base]))
            is_replaced = self._is_replaced(module, inside)
            wanted = lacking_in_shim(module, names, inside) if is_replaced else names
            below = [base, *(f"{base}.{name}".lstrip(".") for name in wanted)] if wanted or not is_replaced else []
            for name in below:
                if not level:
                    yield from self._in_a_tree(name, folder)
                yield from (one for one in self._below(name, roots) if not self._is_unloaded(one))

    def _in_copy(self, folder: Path) -> str:
        """The dotted name of a folder in a copy of a tool; empty if it is in none."""
        if folder not in self._in_copies:
            self._in_copies[folder] = name_in_copy(folder)
        return self._in_copies[folder]

    def _is_replaced(self, module: str, folder: Path) -> bool:
        """Return whether a shim answers for a module that a file in a copy of a tool imports."""
        key = module, folder
        if key not in self._replaced:
            is_of_copy = module.partition(".")[0] in _roots_of_checkouts()
            self._replaced[key] = is_of_copy and is_supplied(module, folder)
        return self._replaced[key]

    def _is_unloaded(self, file: Path) -> bool:
        """Return whether a file is that of a package which a shim replaces: modules below it are loaded without it."""
        return file.name == "__init__.py" and self._is_replaced(self._in_copy(file.parent), file.parent)

    def _in_a_tree(self, name: str, folder: Path) -> Iterator[Path]:
        """The file of a name of one of the systems' trees."""
        key = name, folder
        if key not in self._in_trees:
            self._in_trees[key] = tree_file(name, folder)
        file = self._in_trees[key]
        if file is not None:
            yield file

    def _own_roots(self, folder: Path) -> tuple[Path, ...]:
        """Return the folders in which an absolute import may mean a neighbour: its own, and the one around its package.
        Packages installed beside a package are not neighbours: a benchmark inside an installed tool would be made of
        all of them.
        """
        if folder not in self._roots:
            roots = [folder]
            while (roots[-1] / "__init__.py").is_file() and len(roots) < _MOST_LEVELS:
                roots.append(roots[-1].parent)
            package = package_root(folder)
            if package is not None and package.parent not in roots:
                roots.append(package.parent)
            self._roots[folder] = tuple(root for root in roots if root.name not in _INSTALLED)
        return self._roots[folder]

    def _below(self, name: str, roots: tuple[Path, ...]) -> list[Path]:
        """The file of a dotted name below the first of some folders that has it, and those of the packages around
        it.
        """
        key = name, roots
        if key not in self._found:
            parts = name.split(".") if name else []
            present = (self._present(root, parts) for root in roots)
            self._found[key] = next((files for files in present if files), [])
        return self._found[key]

    def _present(self, root: Path, parts: Sequence[str]) -> list[Path]:
        if not parts:
            return [file for file in [root / "__init__.py"] if file.is_file()]
        if not self._names_in(root) & {parts[0], f"{parts[0]}.py"}:
            return []
        paths = [root.joinpath(*parts[: depth + 1]) for depth in range(len(parts))]
        candidates = [file for path in paths for file in (path.with_name(f"{path.name}.py"), path / "__init__.py")]
        return [file for file in candidates if file.is_file()]

    def _names_in(self, folder: Path) -> frozenset[str]:
        if folder not in self._names:
            try:
                self._names[folder] = frozenset(os.listdir(folder))
            except OSError:
                self._names[folder] = frozenset()
        return self._names[folder]


def _roots_of_checkouts() -> frozenset[str]:
    return frozenset(root for system in systems() for root in system.checkouts)


def _is_own_module(module: str) -> bool:
    """Return whether an absolute name means a part of Polymeter that is not a benchmark."""
    return f"{module}.".startswith(f"{_OURS}.") and not f"{module}.".startswith(f"{_LIBRARY}.")


# The benchmarks of one checkout import each other's files, so a file is parsed once in a process, as long as its size
# and time of modification stay the same. The target of a name depends on other files and is looked up anew.
@lru_cache(maxsize=_MOST_PARSED)
def _import_statements(file: str, size: int, mtime_ns: int) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
    """The import statements of a file: level, module, and the names that are imported from it."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found: list[tuple[int, str, tuple[str, ...]]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.extend((0, alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.append((node.level, node.module or "", tuple(alias.name for alias in node.names)))
    return tuple(found)


def bytes_of(path: Path) -> bytes:
    """The content of a source file.

    Raises:
        PlanError: if it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise PlanError(f"The file cannot be read: {error.strerror}.", where=str(path)) from None


def tree_of(path: Path, content: bytes) -> ast.Module:
    """The syntax tree of a source file's content.

    Raises:
        PlanError: if it is not valid Python.
    """
    try:
        return ast.parse(content, filename=str(path))
    except SyntaxError as error:
        raise PlanError(
            f"This is not valid Python: {error.msg.rstrip('.')}{'' if error.msg.endswith('?') else '.'}",
            where=f"{path}:{error.lineno or 1}",
        ) from None
    except ValueError as error:
        raise PlanError(f"This is not valid Python: {error}.", where=f"{path}:1") from None
    except (RecursionError, MemoryError):  # the error of Python's parser on code that is nested too deeply
        raise PlanError("This Python code is nested too deeply to be read.", where=f"{path}:1") from None
