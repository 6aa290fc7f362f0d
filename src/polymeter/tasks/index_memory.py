"""The cache of an index: a record of each file, kept in one file under the cache folder as long as the files that it
was made of have their size and time of modification.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from polymeter.core.machine.files import replacing
from polymeter.core.media.sources import digest
from polymeter.core.names.catalog import Root

Stamp = list[Any]
"""The size of a file and its time of modification, in nanoseconds."""
Record = dict[str, Any]
"""Plain data about a file: its ``stamp``, those of the ``others`` that it was made of, and whatever the index needs."""


def stamp_of(stat: os.stat_result) -> Stamp:
    """The stamp of a file by its status."""
    return [stat.st_size, stat.st_mtime_ns]


class IndexMemory:
    """The index that earlier runs cached for the files under the same roots.

    Args:
        cache_dir: The cache folder; ``None``: nothing is kept.
        roots: The roots.
        name: The name of the index.
        version: The version of its records; those of another are not used.
    """

    def __init__(self, cache_dir: Path | None, roots: Sequence[Root], name: str, version: int) -> None:
        self._file: Path | None = None
        self._version = version
        self._old: dict[str, Record] = {}
        self._new: dict[str, Record] = {}
        self._stamps: dict[str, Stamp | None] = {}
        self._is_changed = False
        if cache_dir is None:
            return
        paths = sorted(str(root.path.absolute()) for root in roots)
        self._file = cache_dir / f"{name}-{digest(repr(paths).encode())[:12]}.json"
        if self._file.is_file():
            try:
                cached = json.loads(self._file.read_text(encoding="utf-8"))
            except (json.JSONDecodeError, UnicodeDecodeError):
                return
            if isinstance(cached, dict) and cached.get("version") == version and cached.get("cwd") == str(Path.cwd()):
                self._old = cached["files"]

    def get(self, key: str, stamp: Stamp) -> Record | None:
        """The record of a file, if neither it nor another file that it was made of has changed since."""
        record = self._old.get(key)
        if record is None or record["stamp"] != stamp:
            return None
        if any(self.stamp_at(other) != stamp for other, stamp in record.get("others", {}).items()):
            return None
        self._new[key] = record
        return record

    def put(self, key: str, record: Record) -> Record:
        """Keep the record of a file. Problems are not kept: a file that is missing now may appear later."""
        self._is_changed = True
        if not record.pop("uncached", False):
            self._new[key] = record
        return record

    def save(self) -> None:
        """Write the cache, if anything has changed."""
        if self._file is None or not (self._is_changed or len(self._new) != len(self._old)):
            return
        # Includes may be found from the working directory, so the cache is valid for that directory only.
        content = {"version": self._version, "cwd": str(Path.cwd()), "files": self._new}
        with suppress(OSError), replacing(self._file, is_synced=False) as file:  # a cache that is lost costs time only
            json.dump(content, file)

    def stamp_at(self, file: str) -> Stamp | None:
        """The stamp of a file or folder, looked up once; ``None`` if there is none."""
        if file not in self._stamps:
            try:
                self._stamps[file] = stamp_of(os.stat(file))
            except OSError:
                self._stamps[file] = None
        return self._stamps[file]
