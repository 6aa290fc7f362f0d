"""Loading files that were written for ULMEvalKit or VLMEvalKit: each is imported as if it stood in that package's own
folder of dataset classes, of model wrappers, or of endpoints.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from polymeter.guests.authors import load_authors_file
from polymeter.guests.places import KITS
from polymeter.guests.shims import switch_on_shims

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
_SIGNS = (b"ulmeval", b"vlmeval", b"supported_ULM", b"supported_VLM", b"generate_inner", b"batch_generation_inner")


def load_kit_file(file: Path, supplied: Mapping[str, Any] | None = None) -> ModuleType:
    """The module of a file with dataset classes or model wrappers, wherever it lies.

    Its relative imports find its own neighbours first, then what the package has that it was written for.

    Args:
        file: The file.
        supplied: Names that it may use without importing them; default: ``supplied_names``.

    Raises:
        PlanError: It fails to load, or needs a package that is not installed.
    """
    names = supplied_names if supplied is None else lambda: supplied
    return load_authors_file(file, names, _places(file.resolve()))


def is_kit_file(file: Path) -> bool:
    """Whether a file was written for one of these packages, told by the words in it."""
    source = file.read_bytes()
    return any(sign in source for sign in _SIGNS)


def supplied_names() -> dict[str, Any]:
    """Names that a file may use without importing them, because published listings do."""
    switch_on_shims()
    everything = importlib.import_module(_ALL_OF)
    names = {name: getattr(everything, name) for name in everything.__all__}
    for module, wanted in _SUPPLIED.items():
        source = importlib.import_module(module)
        names.update({name: getattr(source, name) for name in wanted})
    return names


def _places(file: Path) -> tuple[str, ...]:
    """The packages that a file's folder may stand for, the likeliest first: told by the folders that it lies in, then
    by what it names.
    """
    folder, source = file.parent, file.read_bytes()
    kits = sorted(KITS, key=lambda kit: (kit not in folder.parts, kit.encode() not in source, kit))
    trees = [f"{kit}.{part}" for kit in kits for part in KITS[kit]]
    trees.sort(key=lambda tree: tree.rpartition(".")[2] != folder.name)
    return (*trees, *(f"{tree}.{folder.name}" for tree in trees))
