"""Files of dataset classes as the index reads them: a file is read once, and remembered while it is unchanged."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.names.catalog import Root
from polymeter.guests.loading.neighbours import package_root
from polymeter.interop.ulmeval.tasks.literals import NOT_KNOWN
from polymeter.interop.ulmeval.tasks.reading import DatasetClass, DatasetFile, ranked, read_file
from polymeter.tasks.index_memory import IndexMemory, Record, stamp_of

_NAME, _VERSION = "dataset_class_index", 1
_UNKNOWN = {"": "?"}
"""A value that is not known, in a record: no attribute of a class has a mapping with an empty key."""


class FileReader:
    """Reads files of dataset classes.

    Args:
        cache_dir: Where records of them are kept; ``None``: they are not.
        roots: The roots of the index.
    """

    def __init__(self, cache_dir: Path | None, roots: Sequence[Root]) -> None:
        self._memory = IndexMemory(cache_dir, roots, _NAME, _VERSION)

    def read(self, path: Path, *, is_named: bool) -> DatasetFile:
        """The classes of a file; arguments and errors as for ``read_file``."""
        key = f"{path}|named" if is_named else str(path)
        try:
            stamp = stamp_of(os.stat(path))
        except OSError:
            return read_file(path, is_named=is_named)
        record = self._memory.get(key, stamp)
        if record is not None:
            return ranked(_from_record(path, record))
        file = read_file(path, is_named=is_named)
        # Which imported names are neighbours and no packages depends on the folders.
        around = [path.parent, *(root.parent for root in [package_root(path.parent)] if root is not None)]
        others = {str(folder): self._memory.stamp_at(str(folder)) for folder in around} if file.packages else {}
        self._memory.put(key, {"stamp": stamp, "others": others, **_as_record(file)})
        return file

    def save(self) -> None:
        """Keep what was read."""
        self._memory.save()


def _as_record(file: DatasetFile) -> Record:
    """A file as plain data; one that has values of other types is not kept."""
    values = [_plain(dict(item.values)) for item in file.classes]
    classes = [
        {
            "name": item.name,
            "line": item.line,
            "datasets": item.datasets,
            "values": value,
            "methods": sorted(item.methods),
            "ancestors": item.ancestors,
            "bases": item.bases,
        }
        for item, value in zip(file.classes, values, strict=True)
    ]
    return {"classes": classes, "packages": file.packages, "uncached": any(value is None for value in values)}


def _from_record(path: Path, record: Mapping[str, Any]) -> DatasetFile:
    classes = tuple(
        DatasetClass(
            item["name"],
            item["line"],
            item["datasets"],
            {name: _restored(value) for name, value in item["values"].items()},
            frozenset(item["methods"]),
            tuple(item["ancestors"]),
            tuple(item["bases"]),
        )
        for item in record["classes"]
    )
    return DatasetFile(path, classes, record["packages"])


def _plain(value: Any) -> Any:
    """A value as JSON holds it and gives it back. ``None`` within mappings and lists stays; alone it stands for a value
    that JSON would change.
    """
    if value is NOT_KNOWN:
        return _UNKNOWN
    if isinstance(value, dict):
        found = {key: _plain(item) for key, item in value.items()}
        is_whole = all(isinstance(key, str) and key for key in value)
        return found if is_whole and not _lost(value.values(), found.values()) else None
    if isinstance(value, (list, tuple)):
        items = [_plain(item) for item in value]
        return None if isinstance(value, tuple) or _lost(value, items) else items
    return value if isinstance(value, (str, int, float, bool)) else None


def _lost(before: Any, after: Any) -> bool:
    return any(new is None and old is not None for old, new in zip(before, after, strict=True))


def _restored(value: Any) -> Any:
    if value == _UNKNOWN:
        return NOT_KNOWN
    if isinstance(value, dict):
        return {key: _restored(item) for key, item in value.items()}
    return [_restored(item) for item in value] if isinstance(value, list) else value
