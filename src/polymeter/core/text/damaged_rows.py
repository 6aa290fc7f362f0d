"""Marks of rows that are damaged in their file: their text carries a mark with the file and the line.

Readers of JSON accept a whole file or none. So a file with escapes that are not Unicode is repaired before it is read
(``data.repairing``). The mark consists of characters that Unicode reserves for such uses inside a program. It stays
with the row through everything that a task's author does with it, until the row is about to be used: then this row
fails alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.core.errors import DataError

_BEGIN, _END = "\ufdd0", "\ufdd1"


def mark(place: str) -> str:
    """The mark of a row that is damaged at a place, such as ``rows.jsonl:17``."""
    return f"{_BEGIN}{place}{_END}"


def check_undamaged(doc: Mapping[str, Any]) -> None:
    """Check that no text of a row carries the mark.

    Raises:
        DataError: if one does; the error names the place of the damage.
    """
    for column, value in doc.items():
        if type(value) is str and _BEGIN in value:
            place = value.partition(_BEGIN)[2].partition(_END)[0]
            raise damaged_text(column, place)


def damaged_text(column: str, place: str) -> DataError:
    """The error of a row whose text is damaged."""
    return DataError(
        f"The text in column {column!r} is not valid Unicode: it holds half a character or bytes of another encoding.",
        where=place,
        hint="Fix that line.",
    )
