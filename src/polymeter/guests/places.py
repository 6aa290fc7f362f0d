"""Where a dotted name of a foreign tree (of tasks, of model wrappers, of benchmarks) lies on disk.

Guest code names modules of other folders by their place in the tree that it was written for: ``tool.tasks.x.y``,
``tool.models.z``. Here the same folders lie under another root, so the name is looked for below each ancestor of the
folder that asks, the nearest first. Which trees there are, the systems say.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from polymeter.core.systems import systems

_MOST_LEVELS = 8


@lru_cache(maxsize=1)
def trees() -> tuple[str, ...]:
    """Prefixes of the dotted names that are looked for on disk."""
    return tuple(tree for system in systems() for tree in system.trees)


def task_place(name: str, folder: Path) -> Path | None:
    """The folder or file (without its ending) that a name of one of the trees means; ``None`` when there is none."""
    tree = next((tree for tree in trees() if name.startswith(tree)), None)
    if tree is None or name in _modules_of_tools():
        return None
    parts = name.removeprefix(tree).split(".")
    for ancestor in [folder, *folder.parents][:_MOST_LEVELS]:
        place = ancestor.joinpath(*parts)
        if place.with_name(f"{place.name}.py").is_file() or place.is_dir():
            return place
    return None


def task_file(name: str, folder: Path) -> Path | None:
    """The source file that a module of one of the trees means; ``None`` when there is none."""
    place = task_place(name, folder)
    if place is None:
        return None
    for candidate in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


@lru_cache(maxsize=1)
def _modules_of_tools() -> frozenset[str]:
    """Modules that lie beside the folders of a tree and are the tool's own: a guest's file of that name is another."""
    return frozenset(
        f"{tree}{module}" for system in systems() for tree, modules in system.trees.items() for module in modules
    )
