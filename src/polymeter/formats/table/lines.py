"""A table's rows as its author gets them, and its cells, both read a block of rows at a time: pandas takes several
times as long for a single one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from pandas import DataFrame, Series

T = TypeVar("T")
_ROWS_AT_ONCE = 256
_BLOCKS_KEPT = 4
"""Prompts are made some rows ahead of the scores."""


class _Blocks(Generic[T]):
    """What is read of a table, a block of rows at a time. The last few blocks are kept.

    Args:
        read: ``(first row, the row after the last) → block``.
    """

    def __init__(self, read: Callable[[int, int], T]) -> None:
        self._read = read
        self._kept: dict[int, T] = {}

    def of(self, number: int) -> T:
        """The block of a row."""
        start = number - number % _ROWS_AT_ONCE
        try:
            return self._kept[start]
        except KeyError:
            block = self._read(start, start + _ROWS_AT_ONCE)
        kept = {**self._kept, start: block}  # a copy, because other threads may be reading it
        if len(kept) > _BLOCKS_KEPT:
            del kept[next(iter(kept))]
        self._kept = kept
        return block


class TextCells:
    """The cells of a column of texts."""

    def __init__(self, cells: Any) -> None:
        self._blocks = _Blocks[list[Any]](lambda start, stop: cells[start:stop].tolist())

    def __getitem__(self, number: int) -> Any:
        return self._blocks.of(number)[number % _ROWS_AT_ONCE]


def cells_of(column: Series[Any]) -> Any:
    """A sequence of a column's cells, as a row would hold them; nothing is copied."""
    import numpy as np
    import pandas as pd

    if isinstance(column.dtype, pd.StringDtype):
        return TextCells(column.array)

    is_time = isinstance(column.dtype, np.dtype) and column.dtype.kind in "mM"  # rows hold pandas' own types for these
    return column.to_numpy() if isinstance(column.dtype, np.dtype) and not is_time else column.array


class Lines:
    """The rows of a frame as Series, each equal to ``frame.iloc[number]`` and its owner's to change.

    A block of rows is turned into columns of another frame, out of which pandas takes one in half the time. If the
    frame is changed, which an author's code may do at any time, its rows are read from itself again.

    Args:
        frame: The frame. A column of it has Python objects as cells, and so has every row.
        columns: The cells of each column.
    """

    def __init__(self, frame: DataFrame, columns: Sequence[Any]) -> None:
        self._frame = frame
        self._columns = columns
        # While the frame shares its memory with a copy, pandas gives it new blocks when it is changed.
        self._copy = frame.copy(deep=False)
        self._state = _state_of(frame) if _copies_on_write() and not frame.attrs and frame.index.is_unique else None
        self._blocks = _Blocks(self._read)

    def __getitem__(self, number: int) -> Series[Any]:
        if self._is_unchanged():
            lines, labels = self._blocks.of(number)
            return lines[labels[number % _ROWS_AT_ONCE]]
        row = self._frame.iloc[number]
        return row if _copies_on_write() else row.copy()

    def _is_unchanged(self) -> bool:
        if self._state is None:
            return False
        blocks, names, labels = self._state
        now = _state_of(self._frame)
        return now is not None and now[0] is blocks and now[1] is names and now[2] is labels

    def _read(self, start: int, stop: int) -> tuple[DataFrame, list[Any]]:
        import numpy as np
        import pandas as pd

        labels = self._frame.index[start:stop]
        cells = np.empty((len(self._columns), len(labels)), dtype=object)
        for place, column in enumerate(self._columns):
            for number in range(len(labels)):
                cells[place, number] = column[start + number]
        lines = pd.DataFrame(cells, index=self._frame.columns, columns=labels, dtype=object, copy=False)
        return lines, list(labels)


def _state_of(frame: DataFrame) -> tuple[Any, Any, Any] | None:
    """Three objects, of which at least one is another once a frame has been changed: its memory, names and labels.
    ``None`` if this version of pandas does not tell.
    """
    try:
        manager = frame._mgr
        names, labels = manager.axes
        return manager.blocks, names, labels
    except (AttributeError, ValueError):
        return None


@cache
def _copies_on_write() -> bool:
    """Whether what is taken from a frame never changes the frame, as from pandas 3 on."""
    import pandas as pd

    return int(pd.__version__.partition(".")[0]) >= 3
