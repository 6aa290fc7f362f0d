"""Cells of CSV and JSON files as they are written.

``datasets`` reads a CSV with pandas, which makes numbers of a column that looks like numbers and nothing of an empty
cell or a word such as ``NA``: 007 becomes 7, 12.50 becomes 12.5, and with one empty cell 42 becomes 42.0. Of JSON it
makes columns of one type (see ``json_rows``). Code that works with a row may count on that. What is asked and compared
is what stands in the file: such a file is read once more, and its cells take the place of those that were read, or
travel beside them where code gets the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from polymeter.core.errors import DataError
from polymeter.core.text.written_numbers import WrittenFloat, WrittenInt, WrittenTruth, number_of
from polymeter.data.opening.folder_tables import FOLDER_BUILDERS, tables_of, texts_in_tables
from polymeter.data.tables.json_rows import as_written

if TYPE_CHECKING:
    import datasets

CSV, JSON = "csv", "json"
_MISSING: Any = object()

Reopen = Callable[[Mapping[str, Any]], "datasets.Dataset"]
"""Opens the same rows with other settings of the CSV reader."""


class WrittenCells(Protocol):
    """Some cells of rows as they are written.

    Attributes:
        columns: Their columns.
        fingerprint: Digest of them.
        has_blanks: Whether an empty cell is an empty text, as in a CSV, and not the ``null`` of JSON.
    """

    columns: frozenset[str]
    fingerprint: str
    has_blanks: bool

    def applied(self, docs: list[dict[str, Any]], start: int) -> list[dict[str, Any]]:
        """Rows from a number on, with these cells in their places or beside them."""
        ...


class WrittenRow(dict[str, Any]):
    """A row that knows how some of its cells are written.

    Attributes:
        texts: Column → the value that was read, and what is written; ``None`` for an empty cell.
    """

    __slots__ = ("texts",)

    def __init__(self, row: Mapping[str, Any], texts: Mapping[str, tuple[Any, Any]]) -> None:
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
    """Return whether a column was read from a CSV in which its cells may be written otherwise than they were read."""
    feature = dataset.features.get(column)
    builder = dataset.info.builder_name
    if type(feature).__name__ != "Value" or builder not in (CSV, *FOLDER_BUILDERS):
        return False
    if "string" in feature.dtype and dataset.data.table.column(column).null_count == 0:
        return False
    return builder == CSV or bool(tables_of(dataset))


class CsvCells:
    """Cells of CSV files.

    Args:
        texts: They as text, row by row.
        fingerprint: Digest of them.
        in_place: Whether they take the place of the cells that were read.
    """

    def __init__(self, texts: datasets.Dataset, fingerprint: str, *, in_place: bool) -> None:
        self.columns = frozenset(texts.column_names)
        self.fingerprint = fingerprint
        self.has_blanks = in_place
        self._texts = texts.with_format("arrow")
        self._in_place = in_place

    def applied(self, docs: list[dict[str, Any]], start: int) -> list[dict[str, Any]]:
        """See ``WrittenCells``."""
        texts: dict[str, list[str | None]] = self._texts[start : start + len(docs)].to_pydict()
        if not self._in_place:
            return [
                WrittenRow(doc, {column: (doc[column], cells[number] or None) for column, cells in texts.items()})
                for number, doc in enumerate(docs)
            ]
        return [
            {**doc, **{column: cell_of_text(cells[number], doc[column]) for column, cells in texts.items()}}
            for number, doc in enumerate(docs)
        ]


class ObjectCells:
    """Cells of JSON files.

    Args:
        read: First row and the row after the last → the rows as written.
        columns: The columns whose cells are others than those that were read.
        fingerprint: Digest of these cells.
        in_place: Whether they take the place of the cells that were read.
    """

    has_blanks = False

    def __init__(
        self,
        read: Callable[[int, int], Sequence[Mapping[str, Any]]],
        columns: Iterable[str],
        fingerprint: str,
        *,
        in_place: bool,
    ) -> None:
        self.columns = frozenset(columns)
        self.fingerprint = fingerprint
        self._read = read
        self._in_place = in_place

    def applied(self, docs: list[dict[str, Any]], start: int) -> list[dict[str, Any]]:
        """See ``WrittenCells``."""
        made: list[dict[str, Any]] = []
        for doc, row in zip(docs, self._read(start, start + len(docs)), strict=True):
            cells = {
                column: as_written(doc[column], row[column])
                for column in self.columns
                if column in row and column in doc
            }
            if self._in_place:
                made.append({**doc, **cells})
            else:
                made.append(WrittenRow(doc, {column: (doc[column], cell) for column, cell in cells.items()}))
        return made


def cell_of_text(text: str | None, read: Any) -> Any:
    """The value of a cell of a CSV, whose text is what is written there.

    Args:
        text: The text.
        read: What pandas made of it. A column of texts stays one; dates are read only where a task asks for that.
    """
    if not text:
        return None
    if read is None or isinstance(read, str):
        return text
    if not isinstance(read, (bool, int, float)):
        return read
    if str(read) == text:
        return read
    value = number_of(text)
    if value is not None:
        return value
    # The task says how its numbers are written, such as with a comma before the fraction.
    kind = WrittenTruth if isinstance(read, bool) else WrittenInt if isinstance(read, int) else WrittenFloat
    return kind(read, text)


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

    if dataset.info.builder_name == CSV:
        features = datasets.Features(dict.fromkeys(dataset.features, datasets.Value("string")))
        texts = reopen({"features": features, "keep_default_na": False}).select_columns([*columns])
        if len(texts) == len(dataset):
            return texts
    else:
        found = texts_in_tables(dataset, columns)
        if found is not None:
            return datasets.Dataset.from_dict(
                found, datasets.Features(dict.fromkeys(columns, datasets.Value("string")))
            )
    raise DataError(f"The rows as text are others than those with numbers: {len(dataset)}.")
