"""Facts about a local data file that is not read as a dataset: its number of rows, and its media columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from polymeter.core.content import Modality

_LARGEST = 64 * 2**20
"""Bytes of a text file that are read to count its rows; a larger one is not counted."""
_MEDIA: Mapping[str, Modality] = MappingProxyType({"Image": "image", "Audio": "audio", "Video": "video"})


def count_rows(path: Path) -> int | None:
    """The number of rows of a Parquet, CSV, TSV, JSON or JSON Lines file; ``None`` if that is not known quickly."""
    count = _COUNTS.get(path.suffix.lower())
    try:
        return None if count is None else count(path)
    except (OSError, ValueError, csv.Error):  # opening it as a dataset reports the error
        return None


def media_columns(path: Path) -> dict[str, Modality]:
    """The columns of a Parquet file that hold media, as the ``datasets`` package has noted in it."""
    if path.suffix.lower() != ".parquet":
        return {}
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_schema(path).metadata or {}
        features = json.loads(metadata.get(b"huggingface", b"{}")).get("info", {}).get("features", {})
    except (OSError, ValueError):
        return {}
    kinds = {name: _MEDIA.get(feature.get("_type", "")) for name, feature in features.items() if type(feature) is dict}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _parquet_rows(path: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def _table_rows(path: Path, delimiter: str) -> int | None:
    if path.stat().st_size > _LARGEST:
        return None
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        n_rows = sum(1 for row in csv.reader(file, delimiter=delimiter) if row)
    return max(n_rows - 1, 0)


def _n_lines(path: Path) -> int | None:
    if path.stat().st_size > _LARGEST:
        return None
    with path.open("rb") as file:
        return sum(1 for line in file if line.strip())


def _json_rows(path: Path) -> int | None:
    """JSON Lines often has the suffix of JSON; one document counts if it is a list."""
    if path.stat().st_size > _LARGEST:
        return None
    with path.open(encoding="utf-8") as file:
        start = file.read(1)
    if start != "[":
        return _n_lines(path) if start == "{" else None
    rows = json.loads(path.read_text(encoding="utf-8"))
    return len(rows)


_COUNTS: Mapping[str, Callable[[Path], int | None]] = MappingProxyType(
    {
        ".parquet": _parquet_rows,
        ".csv": lambda path: _table_rows(path, ","),
        ".tsv": lambda path: _table_rows(path, "\t"),
        ".jsonl": _n_lines,
        ".json": _json_rows,
    }
)
