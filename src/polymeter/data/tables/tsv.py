"""Tables in tab-separated files: read as pandas' ``read_csv`` reads them; headers without pandas.

The images of a large table stay in a file (``data.tables.large``).
"""

from __future__ import annotations

import csv
import logging
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from math import isnan
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, boundary, enumerated
from polymeter.core.guest_context import guest_context
from polymeter.data.opening.explaining import bad_byte_sentence, first_bad_byte
from polymeter.data.tables.large import IMAGES, is_large, read_large

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)

IMAGE_COLUMNS = ("image", "image_path")
_ANSWER = "answer"
_MOST_NAMED = 5
_LONGEST_LINE = 1 << 20
_MOST_COLUMNS = 10_000
"""Pandas takes minutes over a header of some ten thousand equal names, which no table has on purpose."""


def columns_of(path: Path | str) -> tuple[str, ...]:
    """The column names in a TSV's first line. Nothing else is read.

    Raises:
        DataError: if the file cannot be read as text, is empty, or has more columns than a table has.
    """
    path = Path(path)
    try:
        with (
            boundary(DataError, f"Reading the header of {path}"),
            path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file,
        ):
            # The limit keeps a large file without line breaks, which is not a table, out of memory.
            lines = iter(lambda: file.readline(_LONGEST_LINE), "")
            header = next(csv.reader(lines, delimiter="\t"), None)
    except DataError as error:  # it was raised in Python's own decoder
        raise DataError(error.what, where=f"{path}:1", hint=error.hint) from error
    if not header:
        raise DataError(
            f"The table {path} is empty.",
            where=f"{path}:1",
            hint="Its first line has the names of the columns, with tabs between them.",
        )
    if not "".join(header).isprintable() and any("\ud800" <= character <= "\udfff" for character in "".join(header)):
        raise _not_utf8(path) or DataError(f"The header of {path} is not UTF-8.", where=f"{path}:1")
    if len(header) > _MOST_COLUMNS:
        raise DataError(
            f"The table {path} has {len(header):,} columns; at most {_MOST_COLUMNS:,} are read.",
            where=f"{path}:1",
            hint="A table has one line of column names, and rows below it.",
        )
    return tuple(header)


def read_tsv(path: Path | str) -> pd.DataFrame:
    """A TSV as pandas' ``read_csv`` gives it, with two exceptions: cells of image columns stay text (NaN if empty),
    even if all of them look like numbers, and a right answer such as "None" or "NA" among other words stays a word. At
    parity with ULMEvalKit it is a missing value, as what a model answers is there.

    Raises:
        DataError: if the file does not exist, or is not a table in UTF-8 text.
    """
    table = _read_table(path)
    words = _missing_words()
    if words and _ANSWER in table and (lacking := table[_ANSWER].isna()).any() and _are_texts(table[_ANSWER]):
        as_words = _read_table(path, usecols=[_ANSWER], dtype={_ANSWER: object}, **words)
        table[_ANSWER] = table[_ANSWER].astype(object).where(~lacking, as_words[_ANSWER])
    return table


def read_texts(path: Path | str) -> pd.DataFrame:
    """A TSV whose cells are all text, or NaN if empty: ``1.50`` and ``TRUE`` stay as written, even if a whole column
    looks like numbers or truth values, and so do "None" and "NA". Only the column ``index`` is as ``read_tsv`` gives
    it. At parity with ULMEvalKit such words are missing values, as in ``read_tsv``.

    Raises:
        DataError: if the file does not exist, or is not a table in UTF-8 text.
    """
    columns = columns_of(path) if Path(path).is_file() else ()
    texts = {name: object for name in columns if name != "index"}
    return _read_table(path, dtype=texts, **_missing_words())


def _are_texts(cells: pd.Series[Any]) -> bool:
    """Return whether no cell is a number, which words beside it would turn into text."""
    return all(isinstance(cell, str) for cell in cells.dropna())


def _missing_words() -> dict[str, Any]:
    """Return the words that pandas reads as missing values."""
    is_there = guest_context().parity.on("missing-words")
    return {} if is_there else {"keep_default_na": False, "na_values": [""]}


@contextmanager
def each_cell_under_its_name() -> Iterator[Mapping[str, Any]]:
    """The arguments for ``pd.read_csv`` inside this context, so that no cell moves under a wrong name.

    By default, pandas takes the first column for row labels if all rows have one cell more than the header, and every
    name then stands over the wrong column. Here an extra empty cell at the end of all rows is ignored, and any other
    extra cell raises an exception.
    """
    from pandas.errors import ParserWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error", ParserWarning)
        yield {"sep": "\t", "index_col": False}


def whole_numbers(values: Iterable[Any]) -> list[int] | None:
    """The values as integers, if every one is written like an integer; ``1_0`` and ``007`` are not."""
    numbers = []
    for text in map(str, values):
        if not text.removeprefix("-").isdecimal() or str(int(text)) != text:
            return None
        numbers.append(int(text))
    return numbers


def require_index(table: pd.DataFrame, where: str) -> None:
    """Check that a benchmark's table has a unique index.

    Args:
        table: The table.
        where: Its file, for messages.

    Raises:
        DataError: if it has no column ``index``, an index is empty, or two rows share one. Messages count rows from 1,
            without the header.
    """
    if "index" not in table:
        raise DataError(
            "The table has no column 'index'.", where=where, hint=f"Its columns: {', '.join(map(str, table.columns))}."
        )
    empty = [number for number, is_empty in enumerate(table["index"].isna(), 1) if is_empty]
    if empty:
        raise DataError(f"The column 'index' is empty in {enumerated('row', empty)}.", where=where)
    seen: dict[str, list[int]] = {}
    for number, value in enumerate(table["index"], 1):
        seen.setdefault(str(value), []).append(number)
    shared = {value: numbers for value, numbers in seen.items() if len(numbers) > 1}
    if shared:
        named = "; ".join(
            f"{value!r} in {enumerated('row', numbers)}" for value, numbers in list(shared.items())[:_MOST_NAMED]
        )
        more = f"; and {len(shared) - _MOST_NAMED} more" if len(shared) > _MOST_NAMED else ""
        raise DataError(
            f"The column 'index' holds values twice: {named}{more}.", where=where, hint="Give each row its own index."
        )


def is_nothing(cell: Any) -> bool:
    """Return whether a cell is empty: ``None``, NaN, or pandas' marker for a missing value."""
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and isnan(cell))


def _read_table(path: Path | str, **options: Any) -> pd.DataFrame:
    file = Path(path)
    if not file.is_file():
        raise DataError(f"There is no file {file}.", hint="Put the file there.")
    hint = "A table has tabs between its cells, one line of column names, and is written in UTF-8."
    if file.stat().st_size == 0:
        raise DataError(f"The table {file.name} is empty (0 bytes).", where=f"{file}:1", hint=hint)
    try:
        with boundary(DataError, f"Reading the table {file}", hint=hint):
            return _parsed_table(file, options)
    except DataError as error:
        raise _not_utf8(file) or _uneven(file) or error from error


def _parsed_table(file: Path, options: Mapping[str, Any]) -> pd.DataFrame:
    import pandas as pd

    # Read at once, a column has one type regardless of its first rows, and images take a third less memory.
    defaults = {"dtype": dict.fromkeys(IMAGE_COLUMNS, object), "low_memory": False}
    with each_cell_under_its_name() as settings:
        arguments = {**defaults, **settings, **options}
        if is_large(file) and IMAGES in options.get("usecols", columns_of(file)):
            try:
                return read_large(file, arguments)
            except OSError as error:
                log.warning("holding the images of %s in memory, since %s cannot: %s", file, gettempdir(), error)
        table: pd.DataFrame = pd.read_csv(file, **arguments)
        return table


def _not_utf8(file: Path) -> DataError | None:
    """The error for a table that is not UTF-8; ``None`` if it is."""
    found = first_bad_byte(file)
    if found is None:
        return None
    return DataError(bad_byte_sentence(file.name, found), where=f"{file}:{found[0]}", hint="Save it as UTF-8.")


def _uneven(file: Path) -> DataError | None:
    """Return the error in a table that has more cells in a row than names above them, with its line."""
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
        rows = csv.reader(lines, delimiter="\t")
        with suppress(csv.Error):
            n_columns = len(next(rows, ()))
            for row in rows:
                if len(row) > n_columns and any(row[n_columns:]):
                    return DataError(
                        f"A row of {file.name} has {len(row)} cells, and there are {n_columns} columns.",
                        where=f"{file}:{rows.line_num}",
                        hint="Remove the tab too many, or put the cell that holds one in double quotes.",
                    )
    return None
