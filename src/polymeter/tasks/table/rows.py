"""The rows of a dataset as samples: what its data must be, and the forms in which a row is given to its author, to the
journal and to a wrapped model.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError
from polymeter.core.task import Sample, SampleView
from polymeter.core.text.codec import jsonable
from polymeter.data.tables.tsv import is_nothing, require_index

if TYPE_CHECKING:
    from pandas import DataFrame, Series

INDEX = "index"
_IMAGE_STARTS = ("data:image/", "/9j/", "iVBORw0KGgo", "R0lGOD", "UklGR", "Qk0")
_BEFORE_IMAGE = "[]{}()'\" \n"
_SHORTEST_IMAGE = 64
_CELLS_AT_ONCE = 256
_BLOCKS_KEPT = 4
"""Prompts are made some rows ahead of the scores."""


@dataclass(frozen=True, eq=False)
class TableRows:
    """The rows of one dataset.

    Attributes:
        name: The dataset.
        data: All rows, as authors see them.
        ids: Their column ``index`` as texts, which name the samples whatever the column holds.
        columns: Each column's name and its cells, one for each row.
    """

    name: str
    data: DataFrame
    ids: Sequence[str]
    columns: Sequence[tuple[str, Any]]

    def __len__(self) -> int:
        return len(self.ids)

    def line(self, number: int) -> Series[Any]:
        """A row as authors get it, which they may change."""
        return self.data.iloc[number].copy()

    def cells(self, number: int) -> dict[str, Any]:
        """The same as a mapping, which takes a tenth of the time of a Series to make and to read."""
        return {name: cells[number] for name, cells in self.columns}

    def doc(self, number: int) -> dict[str, Any]:
        """A row as plain data, without its images."""
        doc: dict[str, Any] = {}
        for name, cells in self.columns:
            value = cells[number]
            if type(value) is str and len(value) <= _SHORTEST_IMAGE:
                doc[name] = value
            elif not holds_image(value):
                doc[name] = _cell_value(value)
        return doc

    def whole(self, number: int) -> dict[str, Any]:
        """A row as plain data, with its images as they are in the table."""
        return {name: _cell_value(value) for name, value in self.cells(number).items()}

    def digest(self) -> str:
        """Hex digest of the content of all rows."""
        state = hashlib.blake2b(digest_size=16)
        for column in self.data.columns:
            state.update(f"\x1e{column}\x1f".encode())
            # By their texts, as the requests that are about them name them.
            for value in self.ids if column == INDEX else self.data[column]:
                text = value if isinstance(value, str) else repr(_cell_value(value))
                state.update(text.encode(errors="surrogatepass"))
                state.update(b"\x1f")
        return state.hexdigest()


def table_of(name: str, data: object, class_name: str, *, keeps_index: bool = False) -> TableRows:
    """Return the rows of a dataset.

    Args:
        name: The dataset.
        data: The attribute ``data`` of its class.
        class_name: The class, for messages.
        keeps_index: Leave the column ``index`` unchanged; else it is changed to text in place. The choice depends on
            the system that the class was written for.

    Raises:
        DataError: if ``data`` is not a DataFrame, is empty, has no column ``index``, or has an index twice or none in a
            row.
    """
    import pandas as pd

    where = f"{class_name}, dataset {name!r}"
    if not isinstance(data, pd.DataFrame):
        raise DataError(
            f"The data of {name!r} is {'missing' if data is None else f'a {type(data).__name__}'}.",
            where=where,
            hint="Its __init__ must set self.data to a pandas DataFrame.",
        )
    require_index(data, where)
    if data.empty:
        raise DataError(
            f"The data of {name!r} has no rows.",
            where=where,
            hint="The first line of a table has the names of the columns, and the rows come below it.",
        )
    ids = [str(value) for value in data[INDEX]]
    if not keeps_index:
        data[INDEX] = pd.Series(ids, index=data.index, dtype=object)
    return TableRows(name, data, ids, [(str(column), cells_of(cells)) for column, cells in data.items()])


class ColumnBlocks:
    """The cells of a column of texts, read a block at a time: pandas takes several times as long for a single one. The
    last few blocks are kept.
    """

    def __init__(self, cells: Any) -> None:
        self._cells = cells
        self._kept: dict[int, list[Any]] = {}

    def __getitem__(self, number: int) -> Any:
        place = number % _CELLS_AT_ONCE
        start = number - place
        try:
            return self._kept[start][place]
        except KeyError:
            block = self._cells[start : start + _CELLS_AT_ONCE].tolist()
        kept = {**self._kept, start: block}  # a copy, because other threads may be reading it
        if len(kept) > _BLOCKS_KEPT:
            del kept[next(iter(kept))]
        self._kept = kept
        return block[place]


def cells_of(column: Series[Any]) -> Any:
    """A sequence of a column's cells, as a row would hold them; nothing is copied."""
    import numpy as np
    import pandas as pd

    if isinstance(column.dtype, pd.StringDtype):
        return ColumnBlocks(column.array)

    is_time = isinstance(column.dtype, np.dtype) and column.dtype.kind in "mM"  # rows hold pandas' own types for these
    return column.to_numpy() if isinstance(column.dtype, np.dtype) and not is_time else column.array


class TableSamples(SampleView):
    """Samples of a table.

    Args:
        task: The task's name.
        table: The rows.
        cluster: Row → the cluster that it shares with others, or ``None``; if the dataset defines clusters.
    """

    def __init__(self, task: str, table: TableRows, cluster: Callable[[Any], str | None] | None = None) -> None:
        self._task = task
        self._table = table
        self._cluster = cluster

    def __len__(self) -> int:
        return len(self._table)

    def _sample(self, index: int) -> Sample:
        table = self._table
        cluster = self._cluster(table.cells(index)) if self._cluster is not None else None
        return Sample(
            self._task,
            table.ids[index],
            index,
            table.doc(index),
            cluster=cluster,
            load_full_doc=lambda: table.whole(index),
        )


def answer_of(doc: Mapping[str, Any]) -> str:
    """The ``answer`` of a row as text; empty if it has none."""
    answer = doc.get("answer")
    return "" if answer is None else str(answer)


def choices_of(doc: Mapping[str, Any]) -> list[str] | None:
    """The texts of the choices A, B, … of a row by their places, empty where there is none before the last; ``None`` if
    it has none.
    """
    cells = [doc.get(letter) for letter in string.ascii_uppercase]
    texts = ["" if cell is None else str(cell) for cell in cells]
    while texts and not texts[-1]:
        texts.pop()
    return texts or None


def holds_image(value: Any) -> bool:
    """Return whether a cell is an image as text (base64, alone or in a printed list), or pixels."""
    if isinstance(value, str):
        return len(value) > _SHORTEST_IMAGE and value[:16].lstrip(_BEFORE_IMAGE).startswith(_IMAGE_STARTS)
    if isinstance(value, (list, tuple)):
        return bool(value) and holds_image(value[0])
    return hasattr(value, "getbands")


def _cell_value(value: Any) -> Any:
    """A cell as plain data; a missing one is ``None``."""
    if type(value) is str:
        return value
    return None if is_nothing(value) else jsonable(value)
