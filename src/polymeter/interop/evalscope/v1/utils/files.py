"""Reading and writing files of records. What is as in 0.17 is 0.17's."""

from __future__ import annotations

import csv
import json
import os
import re
import string
import unicodedata
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from polymeter.data import Source, open_splits
from polymeter.interop.evalscope.shim.evalscope.io_utils import csv_to_list, jsonl_to_list
from polymeter.interop.evalscope.v1.data.media_columns import undecode_media

__all__ = [
    "JsonlWriter",
    "are_paths_same",
    "convert_normal_types",
    "csv_to_list",
    "current_time",
    "jsonl_to_list",
    "parquet_to_list",
    "safe_filename",
    "tsv_to_list",
]

_ONLY_SPLIT = "train"
_SAFE = frozenset(string.ascii_letters + string.digits + ".-_")


def tsv_to_list(tsv_file: str | Path) -> list[dict[str, Any]]:
    """The rows of a file whose columns tabulators separate, with the names in its first line as keys."""
    with Path(tsv_file).open(encoding="utf-8-sig") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def parquet_to_list(parquet_file: str | Path) -> list[dict[str, Any]]:
    """The rows of a Parquet file; media are ``{'bytes': …, 'path': …}``.

    Raises:
        DataError: if the file cannot be read.
    """
    opened = open_splits(Source(str(parquet_file)), [_ONLY_SPLIT])[_ONLY_SPLIT]
    rows: list[dict[str, Any]] = undecode_media(opened).to_list()
    return rows


class JsonlWriter:
    """Appends records to a file, one a line, each at once.

    Args:
        path: The file; its folder is made.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._file: IO[str] | None = None

    def write(self, record: Any) -> None:
        """Append a record."""
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("a", encoding="utf-8")
        self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._file is not None:
            self._file.close()
            self._file = None


def current_time() -> datetime:
    """The local time."""
    return datetime.now()  # noqa: DTZ005  (as there, without a zone)


def are_paths_same(path1: str, path2: str) -> bool:
    """Return whether two paths are the same place."""
    first, second = (Path(path).expanduser().resolve() for path in (path1, path2))
    return first == second


def safe_filename(s: str, max_length: int = 255) -> str:
    """A text as a name of a file: ASCII letters and digits, ``.``, ``-`` and ``_``; never empty.

    Args:
        s: The text.
        max_length: The longest name; the ending is kept.
    """
    plain = unicodedata.normalize("NFKD", s).encode("ascii", "ignore").decode("ascii")
    name = re.sub("_+", "_", "".join(char if char in _SAFE else "_" for char in plain)).strip("._") or "untitled"
    if len(name) <= max_length:
        return name
    stem, ending = os.path.splitext(name)
    return stem[: max_length - len(ending)] + ending if ending else name[:max_length]


def convert_normal_types(obj: Any) -> Any:
    """A value, and all that is in it, as what JSON can hold: of NumPy, times and paths."""
    if isinstance(obj, datetime):
        return obj.isoformat()
    if isinstance(obj, os.PathLike):
        return str(obj)
    if isinstance(obj, dict):
        return {key: convert_normal_types(value) for key, value in obj.items()}
    if isinstance(obj, (list, tuple)):
        return type(obj)(convert_normal_types(value) for value in obj)
    return obj.tolist() if type(obj).__module__ == "numpy" else obj
