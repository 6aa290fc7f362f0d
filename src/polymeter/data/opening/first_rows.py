"""The beginning of a table: the names of its columns and its first rows, read without ``datasets``.

Cells of CSV and Excel files are text; those of JSON and Parquet files have their types.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from polymeter.core.content import Modality
from polymeter.core.errors import DataError, boundary
from polymeter.data.opening.counting import media_columns
from polymeter.data.opening.explaining import (
    ROWS_BELOW,
    broken_json_line,
    file_problem,
    in_other_encoding,
    refuse_equal_names,
)
from polymeter.data.opening.spreadsheets import first_rows_of_sheet
from polymeter.data.tables.json_rows import JsonRows

_N = 50
_LONGEST_HEADER = 1 << 20
_SEPARATORS = (";", "\t", "|")
_JSON_OF_ROWS = '{"question": …, "answer": …}'
_NO_ROWS = "has column names and no rows"


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The beginning of a table.

    Attributes:
        columns: The names of its columns.
        rows: Its first rows.
        media: The columns that hold media by their own type.
        separator: The sign between two cells of a CSV.
    """

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    media: Mapping[str, Modality] = field(default_factory=dict)
    separator: str = ","

    def cells(self, column: str) -> list[Any]:
        """Return the cells of a column that are not empty."""
        return [cell for row in self.rows if (cell := row.get(column)) is not None and cell != ""]


def read_first_rows(file: Path, n: int = _N) -> FirstRows:
    """Read the beginning of a table.

    Args:
        file: A file with one of the ``SUFFIXES``.
        n: The largest number of rows.

    Raises:
        DataError: if it is empty or cannot be read.
        PlanError: if the package that reads Excel files is not installed.
    """
    if not file.stat().st_size:
        raise DataError(f"The file {file.name} is empty (0 bytes).", where=str(file), hint=ROWS_BELOW)
    try:
        with boundary(DataError, f"Reading {file.name}"):
            found = _READERS[file.suffix.lower()](file, n)
    except DataError as error:
        raise DataError(error.what, where=f"{file}:1", hint=error.hint) from error
    if not found.rows:
        raise DataError(f"The file {file.name} {_NO_ROWS}.", where=f"{file}:1", hint=ROWS_BELOW)
    return found


def _read_csv(file: Path, n: int) -> FirstRows:
    separator = "\t" if file.suffix.lower() == ".tsv" else ","
    try:
        header = _header(file, separator)
        if len(header) == 1 and file.suffix.lower() != ".tsv":
            separator = next((sign for sign in _SEPARATORS if sign in header[0]), separator)
            header = _header(file, separator)
        refuse_equal_names(header, file)
        return FirstRows(tuple(header), tuple(_csv_rows(file, header, separator, n)), separator=separator)
    except UnicodeDecodeError as error:
        raise in_other_encoding(file) or file_problem("csv", file) or error from None


def _header(file: Path, separator: str) -> list[str]:
    with file.open(encoding="utf-8-sig", newline="") as opened:
        # A large file without line breaks is not a table, and is not read into memory.
        lines = iter(lambda: opened.readline(_LONGEST_HEADER), "")
        return next(csv.reader(lines, delimiter=separator), [])


def _csv_rows(file: Path, header: list[str], separator: str, n: int) -> Iterable[dict[str, str]]:
    with file.open(encoding="utf-8-sig", newline="") as opened:
        rows = csv.reader(opened, delimiter=separator)
        next(rows, None)
        try:
            for cells in islice(filter(None, rows), n):
                yield dict(zip(header, cells, strict=False))
        except csv.Error:  # a cell is too long for this reader, such as an image as text
            yield {}


def _read_excel(file: Path, n: int) -> FirstRows:
    header, rows = first_rows_of_sheet(file, n)
    names = [name for name in header if name]
    refuse_equal_names(names, file, has_lines=False)
    found = [{name: cell for name, cell in zip(header, row, strict=True) if name} for row in rows]
    return FirstRows(tuple(names), tuple(found))


def _read_json(file: Path, n: int) -> FirstRows:
    try:
        return _of_objects(JsonRows(file).rows(0, n))
    except (ValueError, LookupError) as error:
        what = f"The file {file.name} holds no list of rows: {error}."
        raise file_problem("json", file) or DataError(
            what, hint="Write a list of objects, or one object per line."
        ) from error


def _read_json_lines(file: Path, n: int) -> FirstRows:
    with file.open(encoding="utf-8-sig", errors="surrogateescape") as lines:
        try:
            rows = [json.loads(line) for line in islice(filter(str.strip, lines), n)]
        except ValueError:
            rows = []
    if not rows or not all(isinstance(row, dict) for row in rows):
        what, hint = broken_json_line(file, file.name, _JSON_OF_ROWS) or (
            f"The file {file.name} holds a line that is not an object.",
            f"Each line holds a row: {_JSON_OF_ROWS}",
        )
        raise DataError(what, hint=hint)
    return _of_objects(rows)


def _of_objects(rows: Iterable[Mapping[str, Any]]) -> FirstRows:
    found = tuple(rows)
    return FirstRows(tuple(dict.fromkeys(name for row in found for name in row)), found)


def _read_parquet(file: Path, n: int) -> FirstRows:
    from pyarrow.parquet import ParquetFile

    media = media_columns(file)
    with ParquetFile(file, pre_buffer=False) as content:
        names = tuple(content.schema_arrow.names)
        refuse_equal_names(names, file, has_lines=False)
        if not content.metadata.num_rows:
            return FirstRows(names, ())
        plain = [name for name in names if name not in media]
        batch = next(content.iter_batches(batch_size=n, columns=plain), None) if plain else None
    rows = batch.to_pylist() if batch is not None else [{}]
    return FirstRows(names, tuple(rows), media)


_READERS: Mapping[str, Callable[[Path, int], FirstRows]] = MappingProxyType(
    {
        ".csv": _read_csv,
        ".tsv": _read_csv,
        ".xlsx": _read_excel,
        ".jsonl": _read_json_lines,
        ".json": _read_json,
        ".parquet": _read_parquet,
    }
)
SUFFIXES = tuple(_READERS)
"""Endings of tables."""
