"""Tables that a run names (``--data``) for classes that load their data themselves.

A class may fetch a snapshot of a hub, unpack it, and make its table of it. None of that is wanted for a table of the
user's, so the table stands for what ``load_data`` and ``prepare_tsv`` return. A method that only adds to what the base
class reads keeps its part.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from polymeter.core.task import TaskSpec
from polymeter.guests.own_classes import definer, is_own_class
from polymeter.tasks.table.base import ImageBaseDataset
from polymeter.tasks.table.instances import dataset_named

_LOADING = ("load_data", "prepare_tsv")
_FETCHES = re.compile(
    r"\b(?:get_cache_path|snapshot_download|hf_hub_download|dataset_snapshot_download|download_file|load_dataset"
    r"|LMUDataRoot|HFCacheRoot)\b"
)
_OWN_CALL = re.compile(r"\b(?:self|cls)\.(\w+)\(")
_OTHER_ADDRESS = re.compile(r"\bDATASET_URL")
_BASE_READS = re.compile(r"\bsuper\(.*?\)\.(?:load_data|prepare_tsv)\(|\bself\.prepare_tsv\(")


def reading_named_table(cls: type, spec: TaskSpec, data: Mapping[str, str]) -> tuple[type, str]:
    """Return a dataset class that reads the table that the run names for it.

    Args:
        cls: The class.
        spec: The benchmark.
        data: Dataset → the table that the run names in its place.

    Returns:
        The class unchanged, if it reads such tables or none is named, else one that derives from it; and a note for the
        user, empty if it is unchanged.
    """
    if dataset_named(spec) not in data or not issubclass(cls, ImageBaseDataset.__mro__[1]):
        return cls, ""
    replaced = [name for name in _LOADING if _loads_by_itself(cls, name)]
    if not replaced:
        return cls, ""
    methods: dict[str, Any] = {name: getattr(ImageBaseDataset, name) for name in replaced}
    make: Any = type(cls)
    derived: type = make(cls.__name__, (cls,), {"__module__": cls.__module__, "__doc__": cls.__doc__, **methods})
    names = " and ".join(replaced)
    return (
        derived,
        f"The table that --data names for {dataset_named(spec)!r} is read in place of {names} of {cls.__name__}.",
    )


def _loads_by_itself(cls: type, name: str) -> bool:
    """Return whether a method of a guest's fetches data, or takes no notice of what the base class reads."""
    source = _source(cls, name)
    if not source:
        return source is None
    if _fetches(cls, name, set()):
        return True
    return not _BASE_READS.search(source) if name == _LOADING[0] else bool(_OTHER_ADDRESS.search(source))


def _fetches(cls: type, name: str, seen: set[str]) -> bool:
    """Return whether a method of a guest's fetches data, itself or by other methods of its class that it calls."""
    seen.add(name)
    source = _source(cls, name) or ""
    called = [other for other in _OWN_CALL.findall(source) if other not in seen]
    return bool(_FETCHES.search(source)) or any(_fetches(cls, other, seen) for other in called)


def _source(cls: type, name: str) -> str | None:
    """The source of a method of a guest's; empty if the class has ours or none, ``None`` if it cannot be read."""
    owner = definer(cls, name)
    if owner is None or is_own_class(owner):
        return ""
    try:
        return inspect.getsource(vars(owner)[name])
    except (OSError, TypeError):
        return None
