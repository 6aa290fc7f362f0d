"""Excel files as tables: the first sheet of an ``.xlsx``, read as the CSV that a spreadsheet program would save.

A number is written as Excel holds it and not as it shows it (``0.5`` for a cell that shows 50 %); a date as
``2024-01-31``. Rows and columns that are wholly empty are left out.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, boundary
from polymeter.core.machine.files import replacing
from polymeter.core.media.sources import digest
from polymeter.core.names.registry import missing_package
from polymeter.data.fetching.expansion import check_expansion
from polymeter.data.opening.explaining import ROWS_BELOW, SourceError, refuse_equal_names, root_cause, sentence

SUFFIX = ".xlsx"
BUILDER = "excel"
"""The name of the format in ``dataset_path``. Under ``csv`` an Excel file is read too."""
_CSV = "csv"
_AGAIN = "Save it again as .xlsx, or as CSV in UTF-8."
_OF_TEXT = ("sep", "delimiter", "encoding", "encoding_errors", "quotechar", "quoting", "escapechar")
"""Settings of the CSV reader that describe a text file."""


def is_excel(name: str) -> bool:
    """Check if a name is that of an Excel file."""
    return name.lower().endswith(SUFFIX)


def sheet_rows(file: Path) -> Iterator[list[str]]:
    """Read the rows of the first sheet as text, the names of the columns first.

    Args:
        file: An ``.xlsx``.

    Raises:
        PlanError: if the package that reads Excel files is not installed.
        DataError: if the file is not an Excel file, or is damaged.
    """
    try:
        import openpyxl
    except ModuleNotFoundError as error:
        raise missing_package("openpyxl", f"the Excel file {file.name}", "excel") from error
    check_expansion(file)
    try:
        with boundary(DataError, f"Reading {file.name} as an Excel file"):
            workbook = openpyxl.load_workbook(file, read_only=True, data_only=True)
            try:
                yield from _rows(workbook)
            finally:
                workbook.close()
    except DataError as error:
        cause = root_cause(error.__cause__)
        why = sentence(cause) if cause else error.what
        what = f"The file {file.name} cannot be read as an Excel file: {why}"
        raise SourceError(what, key="dataset_kwargs", hint=_AGAIN) from None  # the cause is in the message


def _rows(workbook: Any) -> Iterator[list[str]]:
    for sheet in workbook.worksheets[:1]:
        sheet.reset_dimensions()  # some programs write wrong ones, and all cells beyond them would be lost
        for cells in sheet.iter_rows(values_only=True):
            texts = [_text(cell) for cell in cells]
            if any(texts):
                yield texts


def as_csv(kwargs: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Replace each Excel file in arguments of ``datasets.load_dataset("csv")`` by a CSV.

    Args:
        kwargs: The arguments.
        folder: Where the CSV files are kept, by their content.

    Raises:
        PlanError: if the package that reads Excel files is not installed.
        DataError: if a file is not an Excel file, has no rows, or has two columns of one name.
    """
    files = kwargs.get("data_files")
    written = _written(files, folder)
    if written == files:
        return dict(kwargs)
    return {**{name: value for name, value in kwargs.items() if name not in _OF_TEXT}, "data_files": written}


def _written(files: Any, folder: Path) -> Any:
    """Return the files in the form in which they are named, with a CSV in place of each Excel file."""
    if isinstance(files, Mapping):
        return {split: _written(item, folder) for split, item in files.items()}
    if isinstance(files, (list, tuple)):
        return [_written(item, folder) for item in files]
    path = Path(str(files))
    if not is_excel(path.name) or not path.is_file():
        return files
    text = csv_text(path)
    copy = folder / f"{digest(text.encode())}.{_CSV}"
    if not copy.exists():
        with replacing(copy) as file:
            file.write(text)
    return str(copy)


def csv_text(file: Path) -> str:
    """Write the first sheet of an Excel file as the text of a CSV.

    Raises:
        PlanError: if the package that reads Excel files is not installed.
        DataError: if it is not an Excel file, has no rows, or has two columns of one name.
    """
    header, *rows = [*sheet_rows(file)] or [[]]
    if not rows:
        what = "has column names and no rows" if header else "has an empty first sheet"
        raise SourceError(f"The file {file.name} {what}.", key="dataset_kwargs", hint=ROWS_BELOW)
    width = max(map(len, (header, *rows)))
    kept = [column for column in range(width) if any(_cell(row, column) for row in (header, *rows))]
    names = [_cell(header, column) for column in kept]
    refuse_equal_names(names, file, has_lines=False)
    lines = [names, *([_cell(row, column) for column in kept] for row in rows)]
    return "".join(f"{','.join(map(_quoted, line))}\n" for line in lines)


def _quoted(text: str) -> str:
    """Quote a cell of a CSV that only ``datasets`` reads: unlike in an export, a formula stays unchanged."""
    return '"{}"'.format(text.replace('"', '""')) if text else ""


def first_rows_of_sheet(file: Path, n: int) -> tuple[list[str], list[list[str]]]:
    """Read the names of the columns and the first rows.

    Raises:
        PlanError: if the package that reads Excel files is not installed.
        DataError: if the file is not an Excel file, or its sheet is empty.
    """
    header, *rows = [*islice(sheet_rows(file), n + 1)] or [[]]
    if not header:
        raise SourceError(f"The file {file.name} has an empty first sheet.", key="dataset_kwargs", hint=ROWS_BELOW)
    return header, _even(rows, len(header))


def _even(rows: Iterable[Sequence[str]], width: int) -> list[list[str]]:
    return [[_cell(row, column) for column in range(width)] for row in rows]


def _cell(row: Sequence[str], column: int) -> str:
    return row[column] if column < len(row) else ""


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).upper()  # as Excel shows and saves it
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    if isinstance(cell, (datetime.datetime, datetime.date, datetime.time)):
        return cell.isoformat(*(" ",) * isinstance(cell, datetime.datetime))
    return str(cell)
