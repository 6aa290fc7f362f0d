"""The order in which a copy of a tool looks for the class of a dataset: that of ``DATASET_CLASSES`` in the
``__init__.py`` of its folder of datasets, read and not run. The first class that has a name owns it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from polymeter.core.errors import PlanError
from polymeter.guests.reading.sources import bytes_of, tree_of
from polymeter.interop.ulmeval.tasks.literals import ClassName, constants

CLASSES = "DATASET_CLASSES"
_INIT = "__init__.py"
_MOST_LEVELS = 3
_BEFORE_OTHERS = ("ScreenSpot", "RefSpatialDataset", "ERQADataset")
"""Classes of VLMEvalKit that share a name with a class of another file and come first in its list (commit e8e78f0), for
copies without that list.
"""


@dataclass(frozen=True, slots=True)
class Registry:
    """The classes of a copy of a tool.

    Attributes:
        folder: The folder of datasets; ``None``: there is no list.
        order: The classes in the list, the first first.
        modules: The file of each class, relative to the folder and without its ending.
    """

    folder: Path | None = None
    order: Mapping[str, int] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)

    def ranks(self, file: Path) -> dict[str, int]:
        """The places of the classes of one file in the list."""
        if self.folder is None:
            return {name: place - len(_BEFORE_OTHERS) for place, name in enumerate(_BEFORE_OTHERS)}
        module = file.relative_to(self.folder).with_suffix("")
        places = (module.as_posix(), module.parent.as_posix())  # a class may be imported from the package around it
        return {name: place for name, place in self.order.items() if self.modules.get(name) in places}

    def file_of(self, name: str) -> Path | None:
        """The file of a class in the list; ``None`` if this copy does not have it."""
        if self.folder is None or name not in self.modules:
            return None
        path = self.folder / self.modules[name]
        candidates = (path.with_name(f"{path.name}.py"), path / _INIT)
        return next((file for file in candidates if file.is_file()), None)


def registry_of(file: Path) -> Registry:
    """The registry of the copy that a file is in; one without a list if there is none."""
    for folder in list(file.parents)[:_MOST_LEVELS]:
        registry = registry_in(folder)
        if registry.folder is not None:
            return registry
    return Registry()


def registry_in(folder: Path) -> Registry:
    """The registry that a folder has; one without a list if there is none."""
    init = folder / _INIT
    try:
        found = init.stat()
    except OSError:
        return Registry()
    return _read(init, found.st_size, found.st_mtime_ns)


# Each file of a tree asks for it, so it is kept in a process as long as the file stays the same.
@lru_cache(maxsize=64)
def _read(init: Path, size: int, mtime_ns: int) -> Registry:
    try:
        content = bytes_of(init)
        if CLASSES.encode() not in content:
            return Registry()
        tree = tree_of(init, content)
    except PlanError:
        return Registry()
    modules = dict(_modules(tree))
    found = constants(tree.body, {name: ClassName(name) for name in modules}).get(CLASSES)
    if not isinstance(found, list):
        return Registry()
    names = dict.fromkeys(item.name for item in found if isinstance(item, ClassName))
    return Registry(init.parent, {name: place for place, name in enumerate(names)}, modules)


def _modules(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The classes that are imported from modules of the folder, or defined there, with the path of each module."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            yield from ((alias.name, node.module.replace(".", "/")) for alias in node.names)
        elif isinstance(node, ast.ClassDef):
            yield node.name, Path(_INIT).stem
