"""Keys and values of one layer with room for more columns and rows, which are written in place.

The cache of Transformers makes a new tensor of all its columns for every token, which takes longer than a small
network's arithmetic. Imported only where a checkpoint is loaded, since its base class is that of Transformers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from transformers.cache_utils import DynamicLayer  # noqa: TID253  # a base class

if TYPE_CHECKING:
    import torch

COLUMNS_OF_ROOM: Final = 64


class RoomyLayer(DynamicLayer):  # type: ignore[misc, unused-ignore]  # untyped
    """A layer of a plain cache whose rows all end in the same column.

    Args:
        like: A layer of a cache as it was read, of whose shape it is.
        most_rows: How many rows there will be at a time; more are possible, and then all are copied once.
    """

    def __init__(self, like: DynamicLayer, most_rows: int) -> None:
        super().__init__()
        self.dtype, self.device = like.keys.dtype, like.keys.device
        self.is_initialized = True
        self._most_rows = most_rows
        self._n_rows = self._begin = self._end = 0
        self._held = [one.new_zeros(0, one.shape[1], 0, one.shape[3]) for one in (like.keys, like.values)]

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """Add columns behind all rows; returns all keys and values."""
        end = self._end + key_states.shape[2]
        if end > self._held[0].shape[2]:
            self._move(self._n_rows, self._end - self._begin, key_states.shape[2])
            end = self._end + key_states.shape[2]
        for held, states in zip(self._held, (key_states, value_states), strict=True):
            held[: self._n_rows, :, self._end : end] = states
        self._end = end
        self._show()
        return self.keys, self.values

    def keep(self, order: Sequence[int], width: int) -> None:
        """Keep some rows, and the last columns.

        Args:
            order: The row that shall stand in each place. One that is not in its own place now comes from behind all
                that are kept.
            width: How many columns.
        """
        for place, row in enumerate(order):
            if row != place:
                for held in self._held:
                    held[place, :, self._begin : self._end] = held[row, :, self._begin : self._end]
        self._n_rows = len(order)
        self._begin = self._end - width
        self._show()

    def add(self, layer: DynamicLayer, rows: torch.Tensor, width: int) -> None:
        """Add the last columns of some rows of another layer behind these."""
        n_rows = self._n_rows + len(rows)
        if n_rows > len(self._held[0]) or width > self._end:
            self._move(n_rows, max(width, self._end - self._begin), COLUMNS_OF_ROOM)
        for held, states in zip(self._held, (layer.keys, layer.values), strict=True):
            held[self._n_rows : n_rows, :, self._end - width : self._end] = states[rows, :, states.shape[2] - width :]
        self._n_rows = n_rows
        self._begin = min(self._begin, self._end - width)
        self._show()

    def _move(self, n_rows: int, width: int, n_more: int) -> None:
        """Copy the rows to where there is room."""
        n_held = self._end - self._begin
        n_columns = width + max(n_more, COLUMNS_OF_ROOM)
        moved = []
        for held in self._held:
            # Zeros, since what is masked must still be numbers.
            new = held.new_zeros(max(n_rows, self._most_rows), held.shape[1], n_columns, held.shape[3])
            new[: self._n_rows, :, width - n_held : width] = held[: self._n_rows, :, self._begin : self._end]
            moved.append(new)
        self._held = moved
        self._begin = width - n_held
        self._end = width

    def _show(self) -> None:
        self.keys, self.values = (held[: self._n_rows, :, self._begin : self._end] for held in self._held)
