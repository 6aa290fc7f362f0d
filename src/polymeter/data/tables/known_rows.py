"""Rows that know how their cells are written: which files show it, and which cells were read as something else.

Nothing changes for rows with cells that were read as written: their values and fingerprints are those of
``datasets``.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from polymeter.core.machine.opened_files import not_noting
from polymeter.core.text.written_numbers import number_of
from polymeter.data.digest import dataset_fingerprint, files_digest
from polymeter.data.opening.explaining import refuse_equal_names
from polymeter.data.opening.folder_tables import FOLDER_BUILDERS, objects_in_tables
from polymeter.data.opening.plain import PlainRows, single_files
from polymeter.data.opening.spreadsheets import csv_text, is_excel
from polymeter.data.origins import origin_of
from polymeter.data.rows import DatasetRows, ListRows, Rows, make_rows
from polymeter.data.source import Source, open_splits
from polymeter.data.tables.json_rows import JoinedRows, as_written, is_exact
from polymeter.data.tables.written import CSV, JSON, CsvCells, ObjectCells, has_other_texts, written_columns

if TYPE_CHECKING:
    import datasets

_AT_ONCE = 1024
_OWN_HEADER = ("names", "column_names", "header", "skiprows")
"""Settings of the CSV reader by which the first line need not be the names of the columns."""


class _Objects(Protocol):
    """Rows as they are written."""

    def rows(self, start: int, stop: int, *, is_checked: bool = False) -> Sequence[Mapping[str, Any]]: ...


@dataclass(frozen=True, slots=True)
class Opening:
    """The way in which the rows of a split were opened.

    Attributes:
        source: The dataset.
        split: The split, optionally with a slice.
        overrides: Local files that replace ids.
        cache_dir: Where prepared copies and digests are kept.
    """

    source: Source
    split: str
    overrides: Mapping[str, str]
    cache_dir: Path | None


def know_written(
    rows: Rows,
    dataset: datasets.Dataset | None,
    opening: Opening,
    *,
    columns: Sequence[str] | None = None,
    in_place: bool = True,
) -> None:
    """Let rows know how their cells are written, if their files show it and any was read as something else.

    Args:
        rows: The rows.
        dataset: The dataset that they are of; ``None``: they were read without ``datasets``.
        opening: How they were opened.
        columns: The columns of interest; ``None``: all that hold no media.
        in_place: Whether the cells take the place of those that were read.

    Raises:
        DataError: if two columns or two keys of an object have one name, or the text of a CSV is not found.
    """
    wanted = [name for name in (rows.columns if columns is None else columns) if name not in rows.media]
    with not_noting():  # rows have a fingerprint of their own
        if isinstance(rows, PlainRows):
            if rows.is_json and any(is_exact(rows.kinds[name]) is None for name in wanted):
                _know_objects(rows, JoinedRows([rows.file]), [rows.file], rows.kinds, wanted, opening, 0, in_place)
        elif isinstance(rows, DatasetRows) and dataset is not None:
            _know_dataset(rows, dataset, wanted, opening, in_place)


def _know_dataset(
    rows: DatasetRows, dataset: datasets.Dataset, wanted: Sequence[str], opening: Opening, in_place: bool
) -> None:
    builder = dataset.info.builder_name
    if builder == JSON:
        origin = origin_of(dataset)
        if origin is None:
            return
        try:
            objects = JoinedRows(origin.files, opening.source.kwargs.get("field"))
        except (ValueError, LookupError, TypeError, OSError):  # a kind of JSON that only ``datasets`` reads
            return
        if len(objects) >= origin.start + len(rows):
            kinds = _kinds_of(dataset)
            _know_objects(rows, objects, origin.files, kinds, wanted, opening, origin.start, in_place)
        return
    if in_place and builder == CSV:
        _refuse_equal_names(dataset, opening.source.kwargs)
    texts = [name for name in wanted if has_other_texts(dataset, name)]
    if texts:
        found = written_columns(dataset, texts, lambda reading: _reopened(opening, reading))
        rows.know(CsvCells(found, dataset_fingerprint(found, opening.cache_dir), in_place=in_place))
    elif builder in FOLDER_BUILDERS:
        try:
            held = objects_in_tables(dataset)
        except (ValueError, OSError):
            return
        if held is not None:
            _know_objects(rows, _HeldRows(held), (), _kinds_of(dataset), wanted, opening, 0, in_place)


def _reopened(opening: Opening, reading: Mapping[str, Any]) -> datasets.Dataset:
    source = replace(opening.source, reading=reading)
    opened = open_splits(source, [opening.split], overrides=opening.overrides, cache_dir=opening.cache_dir)
    return opened[opening.split]


def _kinds_of(dataset: datasets.Dataset) -> dict[str, str]:
    return {field.name: str(field.type) for field in dataset.data.table.schema}


class _HeldRows:
    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = rows

    def rows(self, start: int, stop: int, *, is_checked: bool = False) -> Sequence[Mapping[str, Any]]:
        return self._rows[start:stop]


# --- JSON


def _know_objects(
    rows: DatasetRows | PlainRows,
    objects: _Objects,
    files: Sequence[Path],
    kinds: Mapping[str, str],
    wanted: Sequence[str],
    opening: Opening,
    first: int,
    in_place: bool,
) -> None:
    """Let rows know their cells in JSON, if any was read as something else."""

    def compute() -> str:
        return json.dumps(_differing(rows, objects, first, {name: kinds[name] for name in wanted if name in kinds}))

    settings = (sorted(kinds.items()), sorted(wanted), first, len(rows), opening.source.kwargs.get("field"))
    try:
        columns, fingerprint = json.loads(files_digest("written", files, settings, compute, opening.cache_dir))
    except (ValueError, RecursionError):  # a row that only ``datasets`` reads
        return
    if columns:
        rows.know(
            ObjectCells(
                lambda start, stop: objects.rows(first + start, first + stop), columns, fingerprint, in_place=in_place
            )
        )


def _differing(rows: Rows, objects: _Objects, first: int, kinds: Mapping[str, str]) -> tuple[list[str], str]:
    """The columns of which some cell was read as something else than what is written, and a digest of these cells."""
    # A split takes the types of the first one that is prepared, so a text may be what a date was turned into.
    exact = {
        name: check for name, kind in kinds.items() if "string" not in kind and (check := is_exact(kind)) is not None
    }
    others = [name for name in kinds if name not in exact]
    found: set[str] = set()
    state = hashlib.blake2b(digest_size=16)
    for start in range(0, len(rows), _AT_ONCE):
        stop = min(start + _AT_ONCE, len(rows))
        written = objects.rows(first + start, first + stop, is_checked=True)
        read: Iterable[Mapping[str, Any]] = rows.docs(start, stop) if others else ({} for _ in written)
        for number, (row, doc) in enumerate(zip(written, read, strict=True), start):
            differing = [
                name for name, is_same in exact.items() if (cell := row.get(name)) is not None and not is_same(cell)
            ]
            differing += [name for name in others if name in row and _is_other(doc[name], row[name])]
            for name in differing:
                found.add(name)
                state.update(f"{number}\0{name}\0{row[name]!r}\1".encode(errors="surrogatepass"))
    return sorted(found), state.hexdigest()


def _is_other(read: Any, written: Any) -> bool:
    return as_written(read, written) is not read


# --- CSV


def _refuse_equal_names(dataset: datasets.Dataset, settings: Mapping[str, Any]) -> None:
    """Refuse a CSV with two columns of one name, of which pandas renames one."""
    origin = origin_of(dataset)
    if origin is None or any(name in settings for name in _OWN_HEADER):
        return
    for file in origin.files:
        separator = settings.get("sep") or settings.get("delimiter") or ("\t" if file.suffix == ".tsv" else ",")
        if len(str(separator)) == 1:
            with file.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
                refuse_equal_names(next(csv.reader(lines, delimiter=str(separator)), []), file)


# --- files that ``datasets`` cannot read


def rows_from_files(source: Source, splits: Sequence[str], overrides: Mapping[str, str]) -> dict[str, Rows] | None:
    """Return the rows of local JSON and CSV files that ``datasets`` cannot read, because it needs one type in each
    column; ``None`` if they are not such files.

    Args:
        source: The dataset.
        splits: Names of splits.
        overrides: Local files that replace ids.

    Raises:
        DataError: if two columns or two keys of an object have one name.
    """
    named = source.kwargs.get("data_files")
    if isinstance(named, str):
        source = replace(source, kwargs={**source.kwargs, "data_files": {"train": named}})
    files = single_files(source, splits, overrides)
    if files is None:
        return None
    with not_noting():
        rows = {split: _rows_from(file) for split, file in files.items()}
    return {split: found for split, found in rows.items() if found is not None} if all(rows.values()) else None


def _rows_from(file: Path) -> Rows | None:
    if not file.stat().st_size:  # an empty file has an error of its own
        return None
    try:
        if file.suffix in (".json", ".jsonl"):
            return make_rows(_rows_of_objects(file), what=file.name)
        if file.suffix in (".csv", ".tsv") or is_excel(file.name):
            rows = ListRows(_rows_of_table(file), base_fingerprint="")
            rows.has_blanks = True
            return rows
    except (ValueError, OSError, RecursionError):
        pass  # ``datasets`` has said what is wrong
    return None


def _rows_of_objects(file: Path) -> list[dict[str, Any]]:
    rows = [*JoinedRows([file]).all()]
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in columns} for row in rows]


def _rows_of_table(file: Path) -> list[dict[str, Any]]:
    import pandas as pd

    separator = "\t" if file.suffix == ".tsv" else ","
    content: Path | StringIO = file
    if is_excel(file.name):
        content = StringIO(csv_text(file))
    else:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            refuse_equal_names(next(csv.reader(lines, delimiter=separator), []), file)
    frame = pd.read_csv(content, sep=separator, dtype=str, keep_default_na=False, na_filter=False)
    columns = {str(name): _cells_of(cells.tolist()) for name, cells in frame.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _cells_of(texts: list[str]) -> list[Any]:
    """The cells of a column: numbers if all that are not empty are such."""
    values = [number_of(text) if text else None for text in texts]
    is_number = all(value is not None for value, text in zip(values, texts, strict=True) if text)
    return values if is_number else [text or None for text in texts]
