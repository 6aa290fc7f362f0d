"""Which packages a task's code needs, by its source text alone."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from polymeter.core.systems import import_roots
from polymeter.guests.places import task_file, trees

_STRINGS = re.compile(r'("""|\'\'\')[\s\S]*?\1')
_IMPORT = re.compile(
    r"^([ \t]*)(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+([^\n#]*)|import[ \t]+([^\n#;]+))", re.MULTILINE
)


@dataclass(slots=True)
class PackageScanner:
    """Finds imports at the top level of modules, following those of neighbouring files.

    For packages only unindented imports count: what stands in a ``try`` or in a function is optional by its author's
    own word; neighbours count wherever they are imported. A regular expression over text without its long strings sees
    the same as a syntax tree here, at a fraction of the cost.
    """

    _known: dict[Path, tuple[frozenset[str], frozenset[Path]]] = field(default_factory=dict)

    def packages(self, files: set[Path]) -> tuple[str, ...]:
        """Third-party packages that the files need, neighbours included, sorted."""
        found: set[str] = set()
        waiting, seen = list(files), set(files)
        while waiting:
            packages, neighbours = self._scan(waiting.pop())
            found |= packages
            fresh = neighbours - seen
            seen |= fresh
            waiting.extend(fresh)
        return tuple(sorted(found))

    def files(self, files: set[Path]) -> set[Path]:
        """The files and the neighbours that they import, directly or not."""
        waiting, seen = list(files), set(files)
        while waiting:
            fresh = self._scan(waiting.pop())[1] - seen
            seen |= fresh
            waiting.extend(fresh)
        return seen

    def _scan(self, file: Path) -> tuple[frozenset[str], frozenset[Path]]:
        known = self._known.get(file)
        if known is None:
            known = self._known[file] = _scan(file)
        return known


def _scan(file: Path) -> tuple[frozenset[str], frozenset[Path]]:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset(), frozenset()
    packages: set[str] = set()
    neighbours: set[Path] = set()
    for indent, source, names, plain in _IMPORT.findall(_STRINGS.sub("''", text)):
        if source.startswith("."):
            neighbours |= _relative(file, source, names)
            continue
        modules = [source] if source else [item.split(" as ")[0].strip() for item in plain.split(",")]
        for module in modules:
            top = module.partition(".")[0]
            if module.startswith(_task_trees()):
                neighbours |= _from_tree(file, module, names if source else "")
                continue
            sibling = file.parent / f"{top}.py"
            if top in sys.stdlib_module_names or top in _not_installed() or not top.isidentifier():
                continue
            if sibling.is_file():
                neighbours.add(sibling)
            elif not indent and not (file.parent / top).is_dir():
                packages.add(top)
    return frozenset(packages), frozenset(neighbours - {file})


@lru_cache(maxsize=1)
def _task_trees() -> tuple[str, ...]:
    """The packages of task folders. What a task takes from a tree of model wrappers is no part of it."""
    return tuple(tree.rstrip(".") for tree in trees() if tree.endswith(".tasks."))


@lru_cache(maxsize=1)
def _not_installed() -> frozenset[str]:
    """Packages that need not be installed, because Polymeter answers for them."""
    return frozenset({"polymeter", *import_roots()})


def _from_tree(file: Path, module: str, names: str) -> set[Path]:
    """Files of other task folders that are named by their place in the task tree."""
    wanted = [module]
    if names:
        wanted += [f"{module}.{name.split(' as ')[0].strip(' ()')}" for name in names.split(",")]
    found = (task_file(name, file.parent) for name in wanted)
    return {item for item in found if item is not None}


def _relative(file: Path, source: str, names: str) -> set[Path]:
    stripped = source.lstrip(".")
    base = file.parent
    for _ in range(len(source) - len(stripped) - 1):
        base = base.parent
    if stripped:
        parts = [stripped]
    else:
        parts = [name.split(" as ")[0].strip(" ()\\") for name in names.split(",")]
    found: set[Path] = set()
    for part in parts:
        target = base.joinpath(*part.split("."))
        candidates = (target.with_name(f"{target.name}.py"), target / "__init__.py")
        found.update(candidate for candidate in candidates if part and candidate.is_file())
    return found
