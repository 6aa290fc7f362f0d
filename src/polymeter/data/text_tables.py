"""Tables of plain text, read without pandas, whose import takes as long as two thousand rows.

Only what pandas would read in exactly one way is read here; anything else (quotes, uneven rows, indices that might be
numbers of another spelling) is left to it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.data.tables import whole_numbers

if TYPE_CHECKING:
    from pandas import DataFrame

INDEX = "index"
_LARGEST_FILE = 64 << 20
_LEFT_TO_PANDAS = re.compile(r'["\r\0\ufeff]|\n[ \t\n]|\A\s')
"""Quotes, other ends of lines, and lines that are empty or begin with white space, which pandas may skip or change."""
_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}").fullmatch
_NO_NUMBER = re.compile("[bcdghjkmopqvwz_]", re.IGNORECASE).search
"""A letter that is in no number, truth value or word for a missing value: a column with it is one of texts."""


class TextTable:
    """The rows of a table whose cells are texts, or NaN where they are empty; every row has its own index.

    Attributes:
        columns: The names of its columns.
    """

    def __init__(self, cells: dict[str, list[Any]]) -> None:
        self.columns = list(cells)
        self._cells = cells
        self._frame: DataFrame | None = None
        self._has_text_index = False

    def __len__(self) -> int:
        return len(self._cells[INDEX])

    def __contains__(self, name: str) -> bool:
        return name in self._cells

    def __getitem__(self, name: str) -> list[Any]:
        return self._cells[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The cells of a column, or ``default`` if there is none of that name."""
        return self._cells.get(name, default)

    def rows(self, start: int, stop: int) -> Iterator[dict[str, Any]]:
        """Rows ``start`` to ``stop`` as mappings."""
        columns = [cells[start:stop] for cells in self._cells.values()]
        return (dict(zip(self.columns, row, strict=True)) for row in zip(*columns, strict=True))

    def frame(self) -> DataFrame:
        """The table as pandas holds it, its index as numbers if it has nothing else; the same object at every call."""
        import pandas as pd

        if self._frame is None:
            frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in self._cells.items()})
            frame[INDEX] = whole_numbers(self[INDEX]) or self[INDEX]
            self._frame = self._with_texts(frame) if self._has_text_index else frame
        return self._frame

    def index_by_text(self) -> None:
        """Have the index as text in the frame, too, as in that of every compiled benchmark."""
        self._has_text_index = True
        if self._frame is not None:
            self._with_texts(self._frame)

    def _with_texts(self, frame: DataFrame) -> DataFrame:
        import pandas as pd

        frame[INDEX] = pd.Series(self[INDEX], index=frame.index, dtype=object)
        return frame


def read_text_table(path: Path) -> TextTable | None:
    """The table in a TSV whose first line names its columns; ``None`` if it takes pandas to read it."""
    if path.stat().st_size > _LARGEST_FILE:
        return None
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        return None
    if _LEFT_TO_PANDAS.search(text):
        return None
    header, *lines = text.removesuffix("\n").split("\n")
    names = header.split("\t")
    rows = [line.split("\t") for line in lines]
    if not rows or not all(names) or len(set(names)) < len(names) or set(map(len, rows)) != {len(names)}:
        return None
    columns = zip(names, zip(*rows, strict=True), strict=True)
    cells = {name: [cell or math.nan for cell in column] for name, column in columns}
    return TextTable(cells) if _are_indices(cells.get(INDEX, ())) else None


def _are_indices(cells: Any) -> bool:
    """Whether the cells of an index are what their texts say, and all are different."""
    are_texts = all(isinstance(cell, str) for cell in cells) and len(set(cells)) == len(cells)
    return bool(cells) and are_texts and (all(map(_WHOLE_NUMBER, cells)) or any(map(_NO_NUMBER, cells)))
