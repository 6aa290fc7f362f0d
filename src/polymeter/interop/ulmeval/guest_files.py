"""Loading files written for ULMEvalKit or VLMEvalKit: each is imported as if it were in that package's own folder of
dataset classes, of model wrappers, or of endpoints.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

from polymeter.guests.loading.load import load_authors_file
from polymeter.guests.loading.neighbours import name_in_copy
from polymeter.guests.shims.finder import switch_on_shims
from polymeter.interop.ulmeval import SYSTEM

_SUPPLIED = {
    "ulmeval.dataset": (
        "TextBaseDataset",
        "ImageBaseDataset",
        "build_dataset",
        "build_judge",
        "DEBUG_MESSAGE",
        "DATASET_TYPE",
        "DATASET_MODALITY",
    ),
    "ulmeval.utils": ("track_progress_rich", "can_infer"),
    "ulmeval.ulm.base": ("BaseModel",),
    "ulmeval.api": ("BaseAPI", "OpenAIWrapper"),
    "ulmeval.config": ("supported_ULM",),
    "functools": ("partial",),
    "abc": ("abstractmethod",),
}
_ALL_OF = "ulmeval.smp"
PACKAGES = tuple(SYSTEM.checkouts)
"""The two packages, in the order in which they are searched."""
_TREES = tuple(tree.rstrip(".") for tree in SYSTEM.trees)


def load_wrappers(path: str) -> ModuleType:
    """The module of a file with model wrappers, for ``polymeter python --model-path``.

    Raises:
        PlanError: if it fails to load, or needs a package that is not installed.
    """
    return load_guest_file(Path(path))


def load_guest_file(file: Path) -> ModuleType:
    """The module of a file with dataset classes or model wrappers, in any folder.

    Its relative imports find its own neighbours first, then the modules of the package that it was written for.

    Raises:
        PlanError: if it fails to load, or needs a package that is not installed.
    """
    return load_authors_file(file, supplied_names, _packages(file.resolve()))


def supplied_names() -> dict[str, Any]:
    """Names that a file may use without importing them, because published listings do."""
    switch_on_shims()
    everything = importlib.import_module(_ALL_OF)
    names = {name: getattr(everything, name) for name in everything.__all__}
    for module, wanted in _SUPPLIED.items():
        source = importlib.import_module(module)
        names.update({name: getattr(source, name) for name in wanted})
    return names


def _packages(file: Path) -> tuple[str, ...]:
    """The packages that a file's folder may stand for, the likeliest first: its place in a copy of one of the two, else
    judged by the folders that contain it, then by the names in it.
    """
    folder, source = file.parent, file.read_bytes()
    place = name_in_copy(folder)
    roots = sorted(PACKAGES, key=lambda root: (root not in folder.parts, root.encode() not in source, root))
    trees = sorted(_TREES, key=lambda tree: roots.index(tree.partition(".")[0]))
    trees.sort(key=lambda tree: tree.rpartition(".")[2] != folder.name)
    exact = [place] if place.partition(".")[0] in PACKAGES else []
    return (*exact, *trees, *(f"{tree}.{folder.name}" for tree in trees))
