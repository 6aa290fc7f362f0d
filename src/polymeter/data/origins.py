"""The files that a split of a dataset was read from, noted in the dataset itself: its rows stay rows of these files
through slices, and only the files know how their cells are written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import datasets

UNKNOWN: Any = object()
_START = "start"
_HUB_FILE = re.compile(r"hf://datasets/(?P<repo>[^@]+)@(?P<commit>[0-9a-f]{40})/(?P<file>.+)")


@dataclass(frozen=True, slots=True)
class SplitOrigin:
    """The places of the rows of a split.

    Attributes:
        files: Its files, in order.
        start: The number of its first row among theirs.
    """

    files: tuple[Path, ...]
    start: int = 0


def note_origins(loaded: Any, files: Mapping[Any, Any], starts: Mapping[str, int] | None = None) -> None:
    """Note in datasets which files they were read from.

    Args:
        loaded: A dataset, or several by their splits.
        files: The files of each split.
        starts: The split that a dataset is a slice of → where the slice starts; ``None``: it is whole; empty: it is
            put together of several.
    """
    named = {str(split): [str(file) for file in items] for split, items in files.items()}
    whole = loaded if isinstance(loaded, dict) else None
    if whole is not None:
        for split, dataset in whole.items():
            _note(dataset, named.get(str(split), []), 0)
        return
    starts = {str(loaded.split): 0} if starts is None else starts
    if len(starts) == 1:
        [(split, start)] = starts.items()
        _note(loaded, named.get(split, []), start)


def shift_origin(dataset: datasets.Dataset, start: int) -> None:
    """Note that a dataset is a slice of another, which starts at a row of that one."""
    noted = dataset.info.download_checksums or {}
    dataset.info.download_checksums = {
        file: {_START: entry[_START] + start} if _START in entry else entry for file, entry in noted.items()
    }


def origin_of(dataset: datasets.Dataset) -> SplitOrigin | None:
    """Return the places of the rows of a dataset; ``None`` if they are unknown, or the rows were shuffled or selected
    since.
    """
    noted = dataset.info.download_checksums or {}
    starts = {entry[_START] for entry in noted.values() if isinstance(entry, dict) and _START in entry}
    files = [_here(file) for file in noted]
    if len(starts) != 1 or chosen_rows(dataset) is not None or not all(files):
        return None
    return SplitOrigin(tuple(file for file in files if file is not None), starts.pop())


def chosen_rows(dataset: datasets.Dataset) -> Any:
    """The table of the numbers of the rows that ``select`` or ``shuffle`` has left of a dataset; ``None`` if all are
    there in their order, ``UNKNOWN`` if ``datasets`` no longer keeps it under its private name.
    """
    return getattr(dataset, "_indices", UNKNOWN)


def _note(dataset: datasets.Dataset, files: list[str], start: int) -> None:
    if files:
        dataset.info.download_checksums = {file: {_START: start} for file in files}


def _here(file: str) -> Path | None:
    """A file on this machine: a local one, or one of a hub in its cache."""
    if "://" not in file:
        path = Path(file)
        return path if path.is_file() else None
    named = _HUB_FILE.fullmatch(file)
    if named is None:
        return None
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(named["repo"], named["file"], repo_type="dataset", revision=named["commit"])
    return Path(found) if isinstance(found, str) else None
