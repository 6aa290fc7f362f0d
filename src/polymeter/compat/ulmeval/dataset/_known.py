"""Which dataset classes there are: those that somebody has defined in this process, and those that the user's folders
and data files hold.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from polymeter.dialects.tsv.base import ImageBaseDataset, TextBaseDataset

IMAGE_DATASET: list[type] = []
TEXT_DATASET: list[type] = []
DATASET_CLASSES: list[type] = []
"""Classes that a file has put into these lists are found before all others."""


def build_dataset(dataset_name: str, **kwargs: Any) -> Any:
    """The dataset of a name; ``None``, with a warning, when there is none.

    Args:
        dataset_name: Its name.
        **kwargs: Handed to its class.
    """
    found = _class_of(dataset_name)
    if found is None:
        warnings.warn(f"There is no dataset {dataset_name!r}; name its file with --include-path.", stacklevel=2)
        return None
    return found(dataset=dataset_name, **kwargs)


def DATASET_TYPE(dataset: str, *, default: str = "MCQ") -> str:
    """The type of a dataset: what its class says, else ``VQA`` for an open-ended one, else a default."""
    found = getattr(_class_of(dataset), "TYPE", None)
    if found is not None:
        return str(found)
    return "VQA" if "openended" in dataset.lower() else default


def DATASET_MODALITY(dataset: str | None, *, default: str = "IMAGE") -> str:
    """What a dataset's prompts are made of: ``TEXT`` or ``IMAGE``."""
    found = getattr(_class_of(dataset), "MODALITY", None) if dataset is not None else None
    return default if found is None else str(found)


def infer_dataset_basename(dataset_name: str) -> str:
    """The name without its last part (``X_VAL`` → ``X``)."""
    return dataset_name.rpartition("_")[0]


def supported_datasets() -> list[str]:
    """The names of all datasets that can be built."""
    names = [name for found in _classes() for name in _names(found)]
    return list(dict.fromkeys([*names, *_entries()]))


def _class_of(name: str) -> Any:
    return next((found for found in _classes() if name in _names(found)), None) or _listed(name)


def _classes() -> Iterator[type]:
    """Those in the lists, then those that have been defined, the latest first."""
    yield from [*DATASET_CLASSES, *IMAGE_DATASET, *TEXT_DATASET]
    waiting: list[type] = [TextBaseDataset, ImageBaseDataset]
    while waiting:
        below: list[type] = type.__subclasses__(waiting.pop())
        yield from (item for item in reversed(below) if not item.__module__.startswith("polymeter."))
        waiting.extend(below)


def _names(found: Any) -> list[str]:
    tell = getattr(found, "supported_datasets", None)
    return list(tell()) if callable(tell) else list(getattr(found, "DATASET_URL", ()))


def _entries() -> dict[str, Any]:
    from polymeter.api import build_catalog

    return {entry.name: entry for entry in build_catalog() if entry.dialect == "tsv" and entry.kind == "task"}


def _listed(name: str) -> Any:
    """The class behind a benchmark of the user's folders. Runs its file."""
    from polymeter.api import build_catalog
    from polymeter.core.registries import DIALECTS
    from polymeter.dialects.tsv.guest import load_class

    entry = _entries().get(name)
    if entry is None:
        return None
    return load_class(DIALECTS.get("tsv").load(entry, build_catalog()).tasks[0])
