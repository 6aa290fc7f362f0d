"""Cells of CSV files as text, as they are written.

``datasets`` reads a CSV with pandas, which makes numbers of a column that looks like numbers and nothing of an empty
cell or a word such as ``NA``: 007 becomes 7, 12.50 becomes 12.5, and with one empty cell 42 becomes 42.0. Code that
works with a row may count on that. An answer is compared as text, so it is what stands in the file: such a column is
read once more as text, which travels beside the values of its rows.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError
from polymeter.data.media import modality_of

if TYPE_CHECKING:
    import datasets

_FOLDER_BUILDERS = ("imagefolder", "audiofolder", "videofolder")
_METADATA = "metadata.csv"
_FILE_NAME = "file_name"
_MISSING: Any = object()

Reopen = Callable[[Mapping[str, Any]], "datasets.Dataset"]
"""Opens the same rows with other settings of the CSV reader."""


class WrittenRow(dict[str, Any]):
    """A row that knows how some of its cells are written.

    Attributes:
        texts: Column → the value that was read, and its text; ``None`` for an empty cell.
    """

    __slots__ = ("texts",)

    def __init__(self, row: Mapping[str, Any], texts: Mapping[str, tuple[Any, str | None]]) -> None:
        super().__init__(row)
        self.texts = texts

    def __reduce__(self) -> tuple[Any, ...]:
        return WrittenRow, (dict(self), self.texts)


def written_cell(row: Mapping[str, Any], column: str) -> Any:
    """A cell as it is written, if the row knows that and nobody has changed it, else its value."""
    value = row[column]
    read, text = getattr(row, "texts", {}).get(column, (_MISSING, None))
    return text if read is not _MISSING and (value is read or value == read) else value


def has_other_texts(dataset: datasets.Dataset, column: str) -> bool:
    """Whether a column was read from a CSV in which its cells may be written otherwise than they were read."""
    feature = dataset.features.get(column)
    builder = dataset.info.builder_name
    if type(feature).__name__ != "Value" or builder not in ("csv", *_FOLDER_BUILDERS):
        return False
    if "string" in feature.dtype and dataset.data.table.column(column).null_count == 0:
        return False
    return builder == "csv" or bool(_tables(dataset))


def with_written(docs: Sequence[dict[str, Any]], texts: Mapping[str, Sequence[str | None]]) -> list[dict[str, Any]]:
    """Rows that know how their cells in some columns are written."""
    return [
        WrittenRow(doc, {column: (doc[column], cells[number] or None) for column, cells in texts.items()})
        for number, doc in enumerate(docs)
    ]


def written_columns(dataset: datasets.Dataset, columns: Sequence[str], reopen: Reopen) -> datasets.Dataset:
    """Some columns of a dataset as text, row by row; ``None`` where a cell is empty.

    Args:
        dataset: The rows, read from CSV.
        columns: Names of columns.
        reopen: Opens the same rows with other settings of the CSV reader.

    Raises:
        DataError: if the text is not found.
    """
    import datasets

    if dataset.info.builder_name == "csv":
        features = datasets.Features(dict.fromkeys(dataset.features, datasets.Value("string")))
        texts = reopen({"features": features, "keep_default_na": False}).select_columns([*columns])
        if len(texts) == len(dataset):
            return texts
    else:
        found = _in_tables(dataset, columns)
        if found is not None:
            return datasets.Dataset.from_dict(
                found, datasets.Features(dict.fromkeys(columns, datasets.Value("string")))
            )
    raise DataError(f"The rows as text are others than those with numbers: {len(dataset)}.")


def _in_tables(dataset: datasets.Dataset, columns: Sequence[str]) -> dict[str, list[str | None]] | None:
    """The cells of the tables of a folder of media, in the order of its rows; ``None`` if a row is in none."""
    import pandas as pd

    medium, name_column = _naming(dataset)
    rows: dict[str, deque[dict[str, str]]] = {}
    for table in _tables(dataset):
        frame = pd.read_csv(table, dtype=str, keep_default_na=False, na_filter=False)
        if not {name_column, *columns} <= {*frame.columns}:
            return None
        for row in frame.to_dict("records"):
            rows.setdefault(os.path.normpath(table.parent / row[name_column]), deque()).append(row)
    texts: dict[str, list[str | None]] = {column: [] for column in columns}
    for path in _paths(dataset, medium):
        found = rows.get(os.path.normpath(path)) if path else None
        if not found:
            return None
        row = found.popleft() if len(found) > 1 else found[0]
        for column in columns:
            texts[column].append(row[column])
    return texts


def _tables(dataset: datasets.Dataset) -> list[Path]:
    """The CSV tables of a folder of media."""
    medium, _ = _naming(dataset)
    if not medium:
        return []
    folders = {parent for path in _paths(dataset, medium) if path for parent in _near_parents(path)}
    return sorted(file for folder in folders if (file := folder / _METADATA).is_file())


def _near_parents(path: str) -> Iterable[Path]:
    """The nearest folder above a file that has a table."""
    for parent in Path(path).parents:
        if (parent / _METADATA).is_file():
            return (parent,)
    return ()


def _naming(dataset: datasets.Dataset) -> tuple[str, str]:
    """A column of media of a folder, and the column of its table that names the files."""
    media = [name for name, feature in dataset.features.items() if modality_of(feature)]
    kind = str(dataset.info.builder_name).removesuffix("folder")
    if not media:
        return "", ""
    return media[0], _FILE_NAME if media[0] == kind else f"{media[0]}_{_FILE_NAME}"


def _paths(dataset: datasets.Dataset, medium: str) -> list[str | None]:
    column = dataset.with_format("arrow").select_columns([medium])[:].column(0)
    return [cell.get("path") if isinstance(cell, dict) else None for cell in column.to_pylist()]
