"""``ulmeval.dataset`` and ``vlmeval.dataset``: datasets by name. Their classes are those that somebody has defined in
this process, and those that the user's folders and data files hold.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.formats.table.base import ImageBaseDataset, TextBaseDataset
from polymeter.formats.table.instances import open_dataset
from polymeter.formats.table.roots import find_data_root
from polymeter.guests.imports import PREFIX
from polymeter.interop.ulmeval.shim.ulmeval import LateNames

if TYPE_CHECKING:
    from polymeter.core.catalog import Catalog
    from polymeter.core.task import TaskSpec

_FORMATS = ("dataset_class", "table")
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
    found = getattr(_of(dataset), "TYPE", None)
    if found is not None:
        return str(found)
    return "VQA" if "openended" in dataset.lower() else default


def DATASET_MODALITY(dataset: str | None, *, default: str = "IMAGE") -> str:
    """What a dataset's prompts are made of: ``TEXT`` or ``IMAGE``."""
    found = getattr(_of(dataset), "MODALITY", None) if dataset is not None else None
    return default if found is None else str(found)


def infer_dataset_basename(dataset_name: str) -> str:
    """The name without its last part (``X_VAL`` → ``X``)."""
    return dataset_name.rpartition("_")[0]


def img_root_map(dataset: str) -> str:
    """Name of the folder that holds a dataset's images: its own."""
    return dataset


def supported_datasets() -> list[str]:
    """The names of all datasets that can be built."""
    names = [name for found in _classes() for name in _names(found)]
    return list(dict.fromkeys([*names, *_entries()]))


def class_named(class_name: str) -> type | None:
    """The dataset class of a name, which configuration files use: one that is defined, else one of the user's folders,
    whose file is run. ``None`` when there is none.
    """
    defined = [found for found in _classes() if found.__name__ == class_name]
    found: type | None = _best(defined, lambda: _listed_where(lambda spec: spec.config.get("class") == class_name))
    return found


def _of(name: str) -> Any:
    """The dataset of a name if it is open, else its class."""
    dataset = open_dataset(name)
    return _class_of(name) if dataset is None else dataset


def _class_of(name: str) -> Any:
    return _best([found for found in _classes() if name in _names(found)], lambda: _listed(name))


def _best(defined: list[type], listed: Callable[[], Any]) -> Any:
    """Of classes that somebody has defined those in the lists or of the script itself come first, then the one of the
    user's folders, then those of other files that this process has loaded.
    """
    told = {*DATASET_CLASSES, *IMAGE_DATASET, *TEXT_DATASET}
    own = next((found for found in defined if found in told or not found.__module__.startswith(PREFIX)), None)
    return own or listed() or next(iter(defined), None)


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


def _entries() -> list[str]:
    return [entry.name for entry in _catalog() if entry.format in _FORMATS and entry.kind == "task"]


def _listed(name: str) -> Any:
    """The class behind a benchmark of the user's folders. Runs its file."""
    return _listed_where(lambda spec: True, name)


def _listed_where(fits: Callable[[TaskSpec], bool], name: str | None = None) -> Any:
    from polymeter.core.registries import FORMATS
    from polymeter.interop.ulmeval.tasks.loading import load_class

    catalog = _catalog()
    for entry in catalog:
        if entry.format in _FORMATS and entry.kind == "task" and name in (None, entry.name):
            spec = FORMATS.get(entry.format).load(entry, catalog).tasks[0]
            if fits(spec):
                return load_class(spec)
    return None


def _catalog() -> Catalog:
    """Of the folders that the user's settings name; read once, as wrappers ask for a type with every message."""
    from polymeter.api.settings import read_settings

    return _catalog_of(tuple(place.absolute() for place in read_settings().include_paths), find_data_root())


@lru_cache(maxsize=4)
def _catalog_of(places: tuple[Path, ...], tables: Path | None) -> Catalog:
    from polymeter.api import build_catalog

    return build_catalog()


def _named(name: str) -> object | None:
    # Asked for anew each time: files of the user's may have come.
    return supported_datasets() if name == "SUPPORTED_DATASETS" else class_named(name)


ULMEVAL = LateNames("ulmeval.dataset", _named, ["SUPPORTED_DATASETS"])
VLMEVAL = LateNames("vlmeval.dataset", _named, ["SUPPORTED_DATASETS"])
