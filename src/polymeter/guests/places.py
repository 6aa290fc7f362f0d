"""Where a dotted name of a foreign tree (of tasks, of model wrappers, of benchmarks) lies on disk.

Guest code names modules of other folders by their place in the tree that it was written for (``lmms_eval.tasks.x.y``,
``lmms_eval.models.simple.z``, ``evalscope.benchmarks.x.y_adapter``, ``ulmeval.dataset.utils.x``). Here the same folders
lie under another root, so the name is looked for below each ancestor of the folder that asks, the nearest first.
"""

from __future__ import annotations

from pathlib import Path

TASKS = "lmms_eval.tasks."
BENCHMARKS = "evalscope.benchmarks."
KITS = {"ulmeval": ("dataset", "ulm", "api"), "vlmeval": ("dataset", "vlm", "api")}
"""Packages whose authors put dataset classes and model wrappers straight into their folders."""
TREES = (
    TASKS,
    "lmms_eval.models.",
    BENCHMARKS,
    *(f"{kit}.{folder}." for kit, folders in KITS.items() for folder in folders),
)
_BESIDE_ALL = {
    "evalscope.benchmarks": ("benchmark", "data_adapter", "filters", "utils"),
    "dataset": ("text_base", "image_base", "utils", "utils.judge_util"),
    "ulm": ("base",),
    "vlm": ("base",),
    "api": ("base", "gpt"),
}
_OF_THE_TREE_ITSELF = frozenset(
    [f"{BENCHMARKS}{name}" for name in _BESIDE_ALL["evalscope.benchmarks"]]
    + [f"{kit}.{folder}.{name}" for kit, folders in KITS.items() for folder in folders for name in _BESIDE_ALL[folder]]
)
"""Modules that lie beside the folders of a tree: a guest's own file of that name is another."""
_MOST_LEVELS = 8


def task_place(name: str, folder: Path) -> Path | None:
    """The folder or file (without its ending) that a name of one of the trees means; ``None`` when there is none."""
    tree = next((tree for tree in TREES if name.startswith(tree)), None)
    if tree is None or name in _OF_THE_TREE_ITSELF:
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
