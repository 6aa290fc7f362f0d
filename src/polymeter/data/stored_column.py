"""A column of a DataFrame whose long texts are read from a file when a cell is used.

To code that uses cells, rows, parts of tables or joined tables it is a column of objects: a cell is a ``str``, a list
of them, or empty. Code that asks for all cells at once (``to_numpy``, ``tolist``, ``iterrows`` of the whole table) gets
them, in memory. Pickles hold the texts themselves.

This module is imported where a table is read, never before: its types are pandas' own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Type  # noqa: UP035

import numpy as np
import pandas as pd  # noqa: TID253
from pandas.api.extensions import ExtensionArray, ExtensionDtype, take  # noqa: TID253
from pandas.api.indexers import check_array_indexer  # noqa: TID253

from polymeter.data.tables.stored_text import StoredText, in_memory


class StoredColumnType(ExtensionDtype):  # type: ignore[misc]  # pandas has no annotations
    """The type of a ``StoredColumn``."""

    name = "stored text"
    type = str
    kind = "O"
    na_value = np.nan

    @classmethod
    def construct_array_type(cls) -> Type[StoredColumn]:  # noqa: UP006  (``type`` is an attribute here)
        """The class of such columns."""
        return StoredColumn


class StoredColumn(ExtensionArray):  # type: ignore[misc]  # pandas has no annotations
    """Cells with the long ones in a file.

    Args:
        cells: The cells as they are held: ``StoredText``, a list with such texts, or any other object unchanged.
    """

    def __init__(self, cells: np.ndarray[Any, np.dtype[np.object_]]) -> None:
        self._cells = cells

    @classmethod
    def _from_sequence(cls, scalars: Iterable[Any], *, dtype: Any = None, copy: bool = False) -> StoredColumn:
        return scalars.copy() if isinstance(scalars, cls) else cls(as_objects([*scalars]))

    @classmethod
    def _from_factorized(cls, values: Iterable[Any], original: StoredColumn) -> StoredColumn:
        return cls._from_sequence(values)

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[StoredColumn]) -> StoredColumn:
        return cls(np.concatenate([each._cells for each in to_concat]))

    @property
    def dtype(self) -> StoredColumnType:
        """The type of the column."""
        return StoredColumnType()

    @property
    def nbytes(self) -> int:
        """The bytes in memory, without those of the objects."""
        return self._cells.nbytes

    @property
    def held(self) -> list[Any]:
        """The cells as they are held, with nothing read."""
        return list(self._cells)

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[Any]:
        return map(in_memory, self._cells)

    def __getitem__(self, item: Any) -> Any:
        found = self._cells[check_array_indexer(self, item)]
        return type(self)(found) if isinstance(found, np.ndarray) else in_memory(found)

    def __setitem__(self, key: Any, value: Any) -> None:
        key = check_array_indexer(self, key)
        is_one = not isinstance(value, (StoredColumn, np.ndarray, list, pd.Series)) or isinstance(
            key, (int, np.integer)
        )
        self._cells[key] = value if is_one else type(self)._from_sequence(value)._cells

    __hash__ = ExtensionArray.__hash__  # which refuses

    def __eq__(self, other: object) -> Any:
        return self._compared(other, is_equal=True)

    def __ne__(self, other: object) -> Any:
        return self._compared(other, is_equal=False)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        objects = as_objects([*self])
        return objects if dtype is None else objects.astype(dtype)

    def __getattr__(self, name: str) -> Any:
        """The methods of ``Series.str``, which pandas looks for here: those of a column of objects."""
        if name.startswith("_str_"):
            return getattr(pd.Series(np.asarray(self), dtype=object).array, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return stored_column, ([*self],)

    def isna(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return an array that marks the empty cells."""
        return np.asarray(pd.isna(self._cells))

    def take(self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None) -> StoredColumn:
        """The cells at some positions."""
        fill = np.nan if fill_value is None else fill_value
        return type(self)(take(self._cells, np.asarray(indices), allow_fill=allow_fill, fill_value=fill))

    def copy(self) -> StoredColumn:
        """A copy, whose texts are in the same file."""
        return type(self)(self._cells.copy())

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """The cells as another type, as a column of objects gives them."""
        if isinstance(dtype, StoredColumnType) or dtype == StoredColumnType.name:
            return self.copy() if copy else self
        return _plain_array(pd.Series(np.asarray(self), dtype=object).astype(dtype))

    def map(self, mapper: Any, na_action: Any = None) -> Any:
        """Return the results of a function for the cells, with one cell at a time in memory."""
        if not callable(mapper):
            return pd.Series(np.asarray(self), dtype=object).map(mapper, na_action=na_action).array
        is_skipped = self.isna() if na_action == "ignore" else np.zeros(len(self), dtype=bool)
        made = [cell if skipped else mapper(cell) for cell, skipped in zip(self, is_skipped, strict=True)]
        return _plain_array(pd.Series(as_objects(made), dtype=object).map(lambda value: value))  # infers a type

    def _formatter(self, boxed: bool = False) -> Callable[[Any], str]:
        return str if boxed else repr

    def _compared(self, other: object, *, is_equal: bool) -> Any:
        if isinstance(other, (pd.Series, pd.Index, pd.DataFrame)):
            return NotImplemented  # pandas aligns the two and asks again
        others: Iterable[Any] = [other] * len(self)
        if isinstance(other, (list, np.ndarray, ExtensionArray)):
            if len(other) != len(self):
                raise ValueError("Lengths must match to compare")
            others = other
        return np.array([(cell == value) is is_equal for cell, value in zip(self, others, strict=True)], dtype=bool)


def stored_column(cells: list[Any]) -> StoredColumn:
    """A column of cells that are in memory; what pickles of columns name."""
    return StoredColumn(as_objects(cells))


def held_cells(column: pd.Series[Any]) -> list[Any]:
    """The cells of any column, with no stored text read."""
    return column.array.held if isinstance(column.array, StoredColumn) else list(column)


def column_of(cells: list[Any], index: pd.Index[Any]) -> pd.Series[Any]:
    """A column of held cells: of objects, unless some are stored."""
    is_stored = any(
        isinstance(item, StoredText) for cell in cells for item in (cell if isinstance(cell, list) else [cell])
    )
    objects = as_objects(cells)
    return pd.Series(StoredColumn(objects), index=index) if is_stored else pd.Series(objects, index=index, dtype=object)


def with_texts(value: Any) -> Any:
    """Return a table with its stored columns as columns of objects; any other value unchanged."""
    if isinstance(value, pd.DataFrame):
        stored = [name for name, dtype in value.dtypes.items() if isinstance(dtype, StoredColumnType)]
        return value.astype(dict.fromkeys(stored, object)) if stored else value
    is_stored = isinstance(value, pd.Series) and isinstance(value.dtype, StoredColumnType)
    return value.astype(object) if is_stored else value


def _plain_array(column: pd.Series[Any]) -> Any:
    """Return the array of a column: one of NumPy, which may be written to, or of pandas."""
    return column.to_numpy().copy() if isinstance(column.dtype, np.dtype) else column.array


def as_objects(items: list[Any]) -> np.ndarray[Any, np.dtype[np.object_]]:
    """An array of one dimension, whose items may be lists."""
    array = np.empty(len(items), dtype=object)
    for number, item in enumerate(items):
        array[number] = item
    return array
