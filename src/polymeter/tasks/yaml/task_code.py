"""A task's code: its files and the packages that they need, found in their text alone; and loading it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, boundary
from polymeter.core.names.systems import import_roots
from polymeter.core.task import TaskSpec
from polymeter.guests import contained, load_file, resolve
from polymeter.guests.loading.load import FunctionRef
from polymeter.guests.loading.neighbours import tree_file, trees
from polymeter.guests.shims.finder import switch_on_shims

METRICS_FILE = "metrics.py"
"""A file of this name beside a task's YAML is loaded with it, if it registers something."""
_REGISTERS = re.compile(r"^\s*@(?:\w+\.)*register_(?:metric|aggregation|filter)\b", re.MULTILINE)

_ACTS = frozenset({"tools", "environment"})
"""The fields whose functions are called by a model."""
_STRINGS = re.compile(r'("""|\'\'\')[\s\S]*?\1')
_IMPORT = re.compile(
    r"^([ \t]*)(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+([^\n#]*)|import[ \t]+([^\n#;]+))", re.MULTILINE
)


def function_refs(value: Any) -> Iterator[FunctionRef]:
    """All function tags in a value."""
    if isinstance(value, FunctionRef):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from function_refs(item)
    elif isinstance(value, list):
        for item in value:
            yield from function_refs(item)


def load_task_code(spec: TaskSpec) -> bool:
    """Load a task's modules, and so register what they define. Returns whether there are any.

    Raises:
        PlanError: if one of them cannot be loaded, or lacks a name.
    """
    switch_on_shims()
    # What acts is loaded where it acts, and not at all where a run is scored again.
    refs = list(function_refs({key: value for key, value in spec.config.items() if key not in _ACTS}))
    for ref in refs:
        resolve(ref)
    beside = spec.file.parent / METRICS_FILE
    has_metrics = _registers(beside)
    if has_metrics:
        with contained(), boundary(PlanError, f"Loading {METRICS_FILE} of task {spec.name!r}"):
            load_file(beside)
    return bool(refs) or has_metrics


def loaded_files(spec: TaskSpec) -> set[Path]:
    """The files that ``load_task_code`` loads, apart from those that they import."""
    found = {source for ref in function_refs(dict(spec.config)) if (source := ref.source_file())}
    beside = spec.file.parent / METRICS_FILE
    return found | {beside} if _registers(beside) else found


def source_files(file: Path, values: Mapping[str, Any], scanner: PackageScanner) -> set[Path]:
    """The files of a task's code, which its hash covers: those of its functions, all Python files beside them, and the
    files that these import from other folders.

    Args:
        file: The task's YAML.
        values: Its resolved top-level keys.
        scanner: Finds imports.
    """
    named: set[Path] = set()
    code: set[Path] = set()
    for ref in function_refs(dict(values)):
        named.add(ref.file)
        source = ref.source_file()
        if source is not None:
            # The whole folder counts: a scan does not see what a module imports late, or opens by name.
            code.update(source.parent.glob("*.py"))
    beside = file.parent / METRICS_FILE
    if beside.is_file():
        code.add(beside)
    return named | scanner.files(code)


def _registers(file: Path) -> bool:
    """Return whether a file exists and its text registers metrics, aggregations or filters. A file of that name which
    does not is some other script, and running it could do anything.
    """
    return file.is_file() and _REGISTERS.search(file.read_text(encoding="utf-8", errors="replace")) is not None


@dataclass(slots=True)
class PackageScanner:
    """Finds imports at the top level of modules, following those of neighbouring files.

    For packages only unindented imports count: an author who imports in a ``try`` or in a function makes the package
    optional. Neighbours count wherever they are imported. A regular expression over text without its long strings
    finds the same imports as a syntax tree here, at a fraction of the cost.
    """

    _scanned: dict[Path, tuple[frozenset[str], frozenset[Path], frozenset[str]]] = field(default_factory=dict)
    # Import roots of systems are served by shims, without being installed.
    _ours: frozenset[str] = field(default_factory=lambda: frozenset({"polymeter", *import_roots()}))

    def packages(self, files: set[Path]) -> tuple[str, ...]:
        """Third-party packages that the files need, neighbours included, sorted."""
        packages: set[str] = set()
        for file in self.files(files):
            packages |= self._scan(file)[0]
        return tuple(sorted(packages))

    def roots(self, files: set[Path]) -> frozenset[str]:
        """The import roots of systems that the files import, neighbours included."""
        return frozenset(root for file in self.files(files) for root in self._scan(file)[2])

    def files(self, files: set[Path]) -> set[Path]:
        """The files and the neighbours that they import, directly or not."""
        waiting, seen = list(files), set(files)
        while waiting:
            fresh = self._scan(waiting.pop())[1] - seen
            seen |= fresh
            waiting.extend(fresh)
        return seen

    def _scan(self, file: Path) -> tuple[frozenset[str], frozenset[Path], frozenset[str]]:
        if file not in self._scanned:
            self._scanned[file] = _scan(file, self._ours)
        return self._scanned[file]


def _scan(file: Path, ours: frozenset[str]) -> tuple[frozenset[str], frozenset[Path], frozenset[str]]:
    """The packages that a file needs, the neighbours that it imports, and those of its import roots that are ours."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset(), frozenset(), frozenset()
    packages: set[str] = set()
    neighbours: set[Path] = set()
    roots: set[str] = set()
    for indent, source, names, plain in _IMPORT.findall(_STRINGS.sub("''", text)):
        if source.startswith("."):
            neighbours |= _relative(file, source, names)
            continue
        modules = [source] if source else [item.split(" as ")[0].strip() for item in plain.split(",")]
        for module in modules:
            top = module.partition(".")[0]
            if top in ours:
                roots.add(top)
            if module.startswith(_task_trees()):
                neighbours |= _from_tree(file, module, names if source else "")
                continue
            sibling = file.parent / f"{top}.py"
            if top in sys.stdlib_module_names or top in ours or not top.isidentifier():
                continue
            if sibling.is_file():
                neighbours.add(sibling)
            elif not indent and not (file.parent / top).is_dir():
                packages.add(top)
    return frozenset(packages), frozenset(neighbours - {file}), frozenset(roots)


def _task_trees() -> tuple[str, ...]:
    """The packages of task folders. Files from a tree of model wrappers are not part of a task."""
    return tuple(tree.rstrip(".") for tree in trees() if tree.endswith(".tasks."))


def _from_tree(file: Path, module: str, names: str) -> set[Path]:
    """Files of other task folders that are named by their place in the task tree."""
    wanted = [module]
    if names:
        wanted += [f"{module}.{name.split(' as ')[0].strip(' ()')}" for name in names.split(",")]
    files = (tree_file(name, file.parent) for name in wanted)
    return {item for item in files if item is not None}


def _relative(file: Path, source: str, names: str) -> set[Path]:
    stripped = source.lstrip(".")
    base = file.parent
    for _ in range(len(source) - len(stripped) - 1):
        base = base.parent
    if stripped:
        parts = [stripped]
    else:
        parts = [name.split(" as ")[0].strip(" ()\\") for name in names.split(",")]
    files: set[Path] = set()
    for part in parts:
        target = base.joinpath(*part.split("."))
        candidates = (target.with_name(f"{target.name}.py"), target / "__init__.py")
        files.update(candidate for candidate in candidates if part and candidate.is_file())
    return files
