"""Tables for spreadsheets: every CSV export is written here. A text of a model or a dataset stays in its cell, and no
spreadsheet computes it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from typing import Any

_FORMULA = re.compile(r"[\t\r]|[\s\x00\ufeff\u200b]*[=+\-@＝＋－＠]")
"""The beginning of a text that some spreadsheet computes. Blanks are skipped, and full-width signs count, because
spreadsheets that import a table do the same."""
_NUMBER = re.compile(r"[+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def is_formula(value: Any) -> bool:
    """Return whether a spreadsheet may compute a cell. A signed number is not a formula: it stays a number for readers
    of the table.
    """
    return isinstance(value, str) and _FORMULA.match(value) is not None and not _NUMBER.fullmatch(value)


def csv_lines(rows: Iterable[Iterable[Any]], *, is_all_quoted: bool = False) -> Iterator[str]:
    """Rows as lines of CSV. ``None`` is an empty cell; a formula begins with an apostrophe, which spreadsheets hide.

    Args:
        rows: The cells of each row, headings first.
        is_all_quoted: Whether all cells are quoted, or only those that need it.
    """
    # Before Python 3.13 the writer quotes only the characters of its own line end. With "\n" alone, a bare "\r" ends
    # the line for most readers, and what follows it is a cell of its own, whose formula was not seen.
    writer = csv.writer(
        _OneLine(), quoting=csv.QUOTE_ALL if is_all_quoted else csv.QUOTE_MINIMAL, lineterminator="\r\n"
    )
    for row in rows:
        line: Any = writer.writerow([f"'{cell}" if is_formula(cell) else cell for cell in row])
        yield f"{line[:-2]}\n"


class _OneLine:
    """A file that gives each line back: ``writerow`` returns what ``write`` does."""

    def write(self, text: str) -> str:
        return text
