"""The tables of a folder of media: which row of which table belongs to which file."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.data.media import modality_of
from polymeter.data.tables.json_rows import JsonRows

if TYPE_CHECKING:
    import datasets

FOLDER_BUILDERS = ("imagefolder", "audiofolder", "videofolder")
_CSV, _JSON = "metadata.csv", "metadata.jsonl"
_FILE_NAME = "file_name"


def tables_of(dataset: datasets.Dataset, name: str = _CSV) -> list[Path]:
    """The tables of a folder of media: those in CSV, or those of another name."""
    medium, _ = _naming(dataset)
    if not medium:
        return []
    folders = {parent for path in _media_paths(dataset, medium) if path for parent in _near_parents(path, name)}
    return sorted(file for folder in folders if (file := folder / name).is_file())


def texts_in_tables(dataset: datasets.Dataset, columns: Sequence[str]) -> dict[str, list[str | None]] | None:
    """The cells of the CSV tables of a folder of media, in the order of its rows; ``None`` if a row is in none."""
    import pandas as pd

    def read(table: Path) -> list[dict[str, Any]]:
        frame = pd.read_csv(table, dtype=str, keep_default_na=False, na_filter=False)
        return [] if not {*columns} <= {*frame.columns} else frame.to_dict("records")

    rows = _rows_in_tables(dataset, tables_of(dataset), read)
    return None if rows is None else {column: [row[column] for row in rows] for column in columns}


def objects_in_tables(dataset: datasets.Dataset) -> list[Mapping[str, Any]] | None:
    """The rows of the JSON tables of a folder of media, in the order of its rows; ``None`` if a row is in none.

    Raises:
        DataError: if an object has a key twice.
        ValueError: if a table is not JSON.
    """
    return _rows_in_tables(dataset, tables_of(dataset, _JSON), lambda table: [*JsonRows(table).all()])


def _rows_in_tables(
    dataset: datasets.Dataset, tables: Sequence[Path], read: Callable[[Path], Iterable[Mapping[str, Any]]]
) -> list[Mapping[str, Any]] | None:
    medium, name_column = _naming(dataset)
    rows: dict[str, deque[Mapping[str, Any]]] = {}
    for table in tables:
        for row in read(table):
            if not isinstance(row.get(name_column), str):
                return None
            rows.setdefault(os.path.normpath(table.parent / row[name_column]), deque()).append(row)
    found: list[Mapping[str, Any]] = []
    for path in _media_paths(dataset, medium):
        same = rows.get(os.path.normpath(path)) if path else None
        if not same:
            return None
        found.append(same.popleft() if len(same) > 1 else same[0])
    return found


def _near_parents(path: str, name: str) -> Iterable[Path]:
    """The nearest folder above a file that has a table."""
    for parent in Path(path).parents:
        if (parent / name).is_file():
            return (parent,)
    return ()


def _naming(dataset: datasets.Dataset) -> tuple[str, str]:
    """A column of media of a folder, and the column of its table that names the files."""
    media = [name for name, feature in dataset.features.items() if modality_of(feature)]
    kind = str(dataset.info.builder_name).removesuffix("folder")
    if not media:
        return "", ""
    return media[0], _FILE_NAME if media[0] == kind else f"{media[0]}_{_FILE_NAME}"


def _media_paths(dataset: datasets.Dataset, medium: str) -> list[str | None]:
    column = dataset.with_format("arrow").select_columns([medium])[:].column(0)
    return [cell.get("path") if isinstance(cell, dict) else None for cell in column.to_pylist()]
