"""``ulmeval.dataset`` and ``vlmeval.dataset``: datasets by name. Their classes are those that are defined in this
process, and those in the user's folders and data files.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import GUEST_PREFIX
from polymeter.guests.held import hand_over
from polymeter.interop.ulmeval.shim.ulmeval import LateNames
from polymeter.interop.ulmeval.tasks.listing.presets import ARGUMENTS, sampled_once
from polymeter.interop.ulmeval.tasks.listing.presets import PRESETS as PRESET_FILE
from polymeter.tasks.table.base import ImageBaseDataset, TextBaseDataset
from polymeter.tasks.table.files.roots import find_data_root
from polymeter.tasks.table.instances import open_dataset

if TYPE_CHECKING:
    from polymeter.core.names.catalog import Catalog, Entry

_FORMATS = ("dataset_class", "table")
_VIDEO_BASE = "polymeter.interop.ulmeval.shim.vlmeval.video.base"
IMAGE_DATASET: list[type] = []  # of the process, as in ULMEvalKit: a user's file appends to it
TEXT_DATASET: list[type] = []  # likewise
VIDEO_DATASET: list[type] = []  # likewise, as in VLMEvalKit
CUSTOM_DATASET: list[type] = []  # likewise
DATASET_COLLECTION: list[type] = []  # likewise
DATASET_CLASSES: list[type] = []
"""Classes that a file has put into these lists come before all others."""


def build_dataset(dataset_name: str, **kwargs: Any) -> Any:
    """The dataset of a name; ``None``, with a warning, if there is none.

    Args:
        dataset_name: Its name.
        **kwargs: Passed to its class. Of a preset, they replace its own arguments.
    """
    if dataset_name in PRESETS:
        return PRESETS[dataset_name](**kwargs)
    cls = _class_of(dataset_name)
    if cls is None:
        warnings.warn(f"There is no dataset {dataset_name!r}; name its file with --include-path.", stacklevel=2)
        return None
    return cls(dataset=dataset_name, **kwargs)


def DATASET_TYPE(dataset: str, *, default: str = "MCQ") -> str:
    """The type of a dataset: its class's ``TYPE``, else ``VQA`` for an open-ended one, else the default."""
    own_type = getattr(_of(dataset), "TYPE", None)
    if own_type is not None:
        return str(own_type)
    return "VQA" if "openended" in dataset.lower() else default


def DATASET_MODALITY(dataset: str | None, *, default: str = "IMAGE") -> str:
    """The modality of a dataset's prompts: ``TEXT`` or ``IMAGE``."""
    modality = getattr(_of(dataset), "MODALITY", None) if dataset is not None else None
    return default if modality is None else str(modality)


def infer_dataset_basename(dataset_name: str) -> str:
    """The name without its last part (``X_VAL`` → ``X``)."""
    return dataset_name.rpartition("_")[0]


def img_root_map(dataset: str) -> str:
    """The name of the folder for a dataset's images: the dataset's own name."""
    return dataset


def supported_datasets() -> list[str]:
    """The names of all datasets that can be built."""
    names = [name for cls in _classes() for name in _dataset_names(cls)]
    return list(dict.fromkeys([*names, *_entries()]))


def class_named(class_name: str) -> type | None:
    """The dataset class of a name: one that is defined, else one in the user's folders, whose file is run; ``None`` if
    there is none.
    """
    defined = [cls for cls in _classes() if cls.__name__ == class_name]
    best: type | None = _best(defined, lambda: _listed_class(class_name))
    return best


def _of(name: str) -> Any:
    """The dataset of a name if it is open, else its class."""
    dataset = open_dataset(name)
    return _class_of(name) if dataset is None else dataset


def _class_of(name: str) -> Any:
    return _best([cls for cls in _classes() if name in _dataset_names(cls)], lambda: _listed(name))


def _best(defined: list[type], listed: Callable[[], Any]) -> Any:
    """Of defined classes, the first in the lists or of the script itself; else the class in the user's folders; else
    the first of the other files that this process has loaded.
    """
    in_lists = {*_listed_classes()}
    own = next((cls for cls in defined if cls in in_lists or not cls.__module__.startswith(GUEST_PREFIX)), None)
    best = own or listed() or next(iter(defined), None)
    if best is not None and best.__module__.startswith(GUEST_PREFIX):
        hand_over(sys.modules.get(best.__module__))  # its class may outlive a module, but not be handed over
    return best


def _classes() -> Iterator[type]:
    """The classes in the lists, then those that have been defined, latest first."""
    yield from _listed_classes()
    bases: list[type] = [TextBaseDataset, ImageBaseDataset, *_video_bases()]
    while bases:
        subclasses: list[type] = type.__subclasses__(bases.pop())
        yield from (cls for cls in reversed(subclasses) if not cls.__module__.startswith("polymeter."))
        bases.extend(subclasses)


def _listed_classes() -> list[type]:
    """The classes in the lists, in the order in which the kits search them."""
    return [*DATASET_CLASSES, *IMAGE_DATASET, *VIDEO_DATASET, *TEXT_DATASET, *CUSTOM_DATASET, *DATASET_COLLECTION]


def _video_bases() -> Iterator[type]:
    """The base class of benchmarks over videos, if anything has used it."""
    module = sys.modules.get(_VIDEO_BASE)
    if module is not None:
        yield module.VideoBaseDataset


def _dataset_names(cls: Any) -> list[str]:
    supported = getattr(cls, "supported_datasets", None)
    return list(supported()) if callable(supported) else list(getattr(cls, "DATASET_URL", ()))


def _entries() -> list[str]:
    return [entry.benchmark for entry in _benchmarks()]


def _listed(name: str) -> Any:
    """The class of a benchmark in the user's folders. Runs its file."""
    entries = (entry for entry in _benchmarks() if name in (entry.name, entry.benchmark))
    return next(map(_loaded, entries), None)


def _listed_class(class_name: str) -> Any:
    """The class of that name in the user's folders, if a benchmark is its own. Runs its file, and no other."""
    from polymeter.interop.ulmeval.tasks.reading import read_file

    for entry in _benchmarks():
        owner = read_file(entry.file).owner_of(entry.benchmark, entry.protocol) if entry.file.suffix == ".py" else None
        if owner is not None and owner.name == class_name:
            return _loaded(entry)
    return None


def _benchmarks() -> Iterator[Entry]:
    return (entry for entry in _catalog() if entry.format in _FORMATS and entry.kind == "task")


def _loaded(entry: Entry) -> type:
    from polymeter.core.names.registries import FORMATS
    from polymeter.interop.ulmeval.tasks.loading import load_class

    return load_class(FORMATS.get(entry.format).load(entry, _catalog()).tasks[0])


def _catalog() -> Catalog:
    """The catalog of the folders in the user's settings. It is cached, because wrappers ask for a dataset's type with
    every message.
    """
    from polymeter.api.settings import read_settings

    return _catalog_of(tuple(path.absolute() for path in read_settings().include_paths), find_data_root())


# Kept for the life of the process, which runs one script: wrappers ask for a dataset's type with every message.
@lru_cache(maxsize=4)
def _catalog_of(include_paths: tuple[Path, ...], data_root: Path | None) -> Catalog:
    from polymeter.api import build_catalog

    return build_catalog()


def _named(name: str) -> object | None:
    # Computed at each access: the user's files may have been added.
    return supported_datasets() if name == "SUPPORTED_DATASETS" else class_named(name)


class _Presets(Mapping[str, Callable[..., Any]]):
    """The presets in the user's folders, as ``supported_video_datasets`` has them. One that is asked for is loaded."""

    def __getitem__(self, name: str) -> Callable[..., Any]:
        from polymeter.core.names.registries import FORMATS
        from polymeter.interop.ulmeval.tasks.loading import load_class

        entry = self._entries().get(name)
        if entry is None:
            raise KeyError(name)
        (spec,) = FORMATS.get(entry.format).load(entry, _catalog()).tasks
        cls = load_class(spec)
        return partial(cls, dataset=spec.config["dataset"], **sampled_once(cls, spec.config[ARGUMENTS]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries())

    def __len__(self) -> int:
        return len(self._entries())

    def __contains__(self, name: object) -> bool:
        return name in self._entries()

    @staticmethod
    def _entries() -> dict[str, Entry]:
        return {entry.name: entry for entry in _catalog() if entry.file.name == PRESET_FILE}


PRESETS = _Presets()
ULMEVAL = LateNames("ulmeval.dataset", _named, ["SUPPORTED_DATASETS"])
VLMEVAL = LateNames("vlmeval.dataset", _named, ["SUPPORTED_DATASETS"])
