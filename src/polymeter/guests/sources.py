"""Which files a guest's code is made of, found by reading its import statements; nothing is run."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from polymeter.core.errors import PlanError
from polymeter.core.systems import import_roots
from polymeter.guests.neighbours import tree_file

_MOST_LEVELS = 8
_INSTALLED = ("site-packages", "dist-packages")


def files_behind(files: Iterable[Path]) -> tuple[Path, ...]:
    """Source files, and those that they import, directly or not, from their own folder or package; sorted. What is
    imported late, inside functions, is among them; installed packages are not.
    """
    files_seen: set[Path] = set()
    waiting = [file.resolve() for file in files]
    while waiting:
        file = waiting.pop()
        if file in files_seen:
            continue
        files_seen.add(file)
        waiting.extend(_imported(file))
    return tuple(sorted(files_seen))


def packages_needed(tree: ast.Module, folder: Path) -> Iterator[tuple[str, int]]:
    """Third-party packages that must be there for a file to load, each with the line of its import. Neighbours, the
    standard library and packages that have shims are not among them.

    Args:
        tree: The file.
        folder: Where it lies.
    """
    ours = {"polymeter", *import_roots()}
    for node in tree.body:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module]
        for name in names:
            top = name.partition(".")[0]
            is_beside = (folder / f"{top}.py").is_file() or (folder / top).is_dir()
            if top not in sys.stdlib_module_names and top not in ours and not is_beside:
                yield top, node.lineno


def _imported(file: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _file_in_a_tree(alias.name, file.parent)
                yield from _files_of(alias.name, _roots(file.parent))
        elif isinstance(node, ast.ImportFrom):
            roots = list(file.parents)[node.level - 1 : node.level] if node.level else _roots(file.parent)
            base = node.module or ""
            if not node.level:
                yield from _file_in_a_tree(base, file.parent)
            yield from _files_of(base, roots)
            for alias in node.names:
                if not node.level:
                    yield from _file_in_a_tree(f"{base}.{alias.name}", file.parent)
                yield from _files_of(f"{base}.{alias.name}".lstrip("."), roots)


def _file_in_a_tree(name: str, folder: Path) -> Iterator[Path]:
    """The file of a name of one of the systems' trees."""
    file = tree_file(name, folder)
    if file is not None:
        yield file


def _roots(folder: Path) -> list[Path]:
    """Where an absolute import may mean a neighbour: the folder, and what its package lies in. Packages installed beside
    a package are no neighbours: a benchmark inside an installed tool would be made of all of them.
    """
    roots = [folder]
    while (roots[-1] / "__init__.py").is_file() and len(roots) < _MOST_LEVELS:
        roots.append(roots[-1].parent)
    return [root for root in roots if root.name not in _INSTALLED]


def _files_of(name: str, roots: Iterable[Path]) -> Iterator[Path]:
    """The file of a dotted name below the first of some folders that has it, and those of the packages around it."""
    parts = name.split(".") if name else []
    for root in roots:
        paths = [root.joinpath(*parts[: depth + 1]) for depth in range(len(parts))]
        candidates = [file for path in paths for file in (path.with_name(f"{path.name}.py"), path / "__init__.py")]
        present = [file for file in candidates or [root / "__init__.py"] if file.is_file()]
        if present:
            yield from present
            return


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
        raise PlanError(f"This is not valid Python: {error.msg}.", where=f"{path}:{error.lineno or 1}") from None
    except ValueError as error:
        raise PlanError(f"This is not valid Python: {error}.", where=f"{path}:1") from None
    except (RecursionError, MemoryError):  # what Python's parser says of code that is nested too deeply
        raise PlanError("This Python code is nested too deeply to be read.", where=f"{path}:1") from None
