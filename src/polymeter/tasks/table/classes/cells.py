"""Reading the cells of a table's rows as text, options, lists and numbers."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Mapping
from typing import Any

from polymeter.core.errors import DataError
from polymeter.data.tables.tsv import is_nothing
from polymeter.reading.lists import texts_in
from polymeter.tasks.table.classes.columns import OPTION_COLUMNS
from polymeter.tasks.table.files.cells import NOT_LITERAL, cell_name


def is_empty(cell: Any) -> bool:
    """Return whether a cell is missing, or holds white space only."""
    return is_nothing(cell) or (isinstance(cell, str) and not cell.strip())


def text_of(cell: Any) -> str:
    """A cell as text. A whole number that was read as a float, because other cells are empty, loses its ``.0``."""
    if type(cell) is str:
        return cell if cell.strip() else ""
    if is_empty(cell):
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def column(line: Mapping[str, Any], name: str) -> str:
    """The text in a column of a row; empty if the row has none."""
    return text_of(line.get(name))


def options_of(line: Mapping[str, Any]) -> dict[str, str]:
    """The options of a row: letter → text, without the empty ones."""
    cells = {letter: line[letter] for letter in OPTION_COLUMNS if letter in line}
    return {letter: text_of(cell) for letter, cell in cells.items() if not is_empty(cell)}


def references_of(line: Mapping[str, Any], name: str) -> list[str]:
    """The right answers in a cell: the texts of a list of texts, or else the whole cell as one. A cell of a frame may
    be a list itself.
    """
    cell = line.get(name)
    if isinstance(cell, (list, tuple)):
        return [text_of(item) for item in cell if not is_empty(item)]
    text = text_of(cell).strip()
    texts = texts_in(text)
    return [text] if text and texts is None else [item for item in texts or () if not is_empty(item)]


def list_of(line: Mapping[str, Any], name: str) -> list[str]:
    """The texts in a cell: a list written as JSON or Python, or else one text.

    Nothing in it is run: a cell that looks like a list but cannot be parsed is one text.
    """
    text = column(line, name).strip()
    if not text:
        return []
    if text.startswith("[") and text.endswith("]"):
        for read in (json.loads, ast.literal_eval):
            try:
                items = read(text)
            except NOT_LITERAL:
                continue
            return [text_of(item) for item in items if not is_empty(item)]
    return [text]


def number_of(line: Mapping[str, Any], name: str) -> float | None:
    """The number in a cell; ``None`` if it is empty.

    Raises:
        DataError: if it holds something else.
    """
    text = column(line, name)
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{text[:80]!r} is not a number.", where=cell_name_of(line, name))
    return number


def count_of(line: Mapping[str, Any], name: str) -> int | None:
    """The whole number above zero in a cell; ``None`` if it is empty.

    Raises:
        DataError: if it holds something else.
    """
    number = number_of(line, name)
    if number is None:
        return None
    if not (number.is_integer() and number > 0):
        raise DataError(
            f"{column(line, name)[:80]!r} is not a whole number above zero.", where=cell_name_of(line, name)
        )
    return int(number)


def required(line: Mapping[str, Any], name: str) -> str:
    """The text in a column of a row.

    Raises:
        DataError: if there is none.
    """
    text = column(line, name)
    if not text:
        raise DataError(f"The {name} of this row is empty.", where=cell_name_of(line, name))
    return text


def cell_name_of(line: Mapping[str, Any], name: str) -> str:
    """The name of a cell in messages: its row and column."""
    return cell_name(line.get("index"), name)
