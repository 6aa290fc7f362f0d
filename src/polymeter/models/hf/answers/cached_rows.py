"""Rows of a batch that is being continued: their keys and values, leaving and entering while the others continue.

Rows are padded on the left, so all end in the same column. A row that enters is padded to the width of the others, and
columns that are padding in all rows are dropped.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class BegunRow:
    """Prompts that have been read.

    Attributes:
        cache: A plain cache of their keys and values.
        mask: Which columns are their own, shape ``(rows, width)``.
        positions: The position of each row's next token.
    """

    cache: Any
    mask: torch.Tensor
    positions: torch.Tensor


class CachedRows:
    """Rows whose tokens so far have been read.

    Args:
        most_rows: How many rows there will be at a time.

    Attributes:
        cache: A plain cache of their keys and values; ``None`` before the first rows.
        mask: Which columns are their own, shape ``(rows, width)``.
        positions: The position of each row's next token.
    """

    def __init__(self, most_rows: int) -> None:
        self._most_rows = most_rows
        self.cache: Any = None
        self.mask: Any = None
        self.positions: Any = None

    def add(self, begun: BegunRow, rows: Sequence[int]) -> None:
        """Let some rows enter behind those that are here."""
        import torch

        if self.cache is None:
            self._open(begun)
        chosen = torch.tensor(rows, device=begun.mask.device)
        mask = begun.mask[chosen]
        own = int(mask.sum(-1).max())
        width = max(self.mask.shape[1], own)
        for layer, new in zip(self.cache.layers, begun.cache.layers, strict=True):
            if layer.is_sliding:
                _slide(layer, [layer, _rows_of(new, chosen)], width)
            elif layer.is_initialized:
                layer.add(new, chosen, own)
        masks = [self.mask, mask[:, mask.shape[1] - own :]]
        padded = [torch.nn.functional.pad(one, (width - one.shape[1], 0)) for one in masks]
        self.mask, self.positions = torch.cat(padded), torch.cat([self.positions, begun.positions[chosen]])

    def keep(self, rows: Sequence[int]) -> list[int]:
        """Let the other rows leave. Some of those that stay move up to places that become free.

        Returns:
            For each place the row that stands there now.
        """
        import torch

        if not rows:
            self.cache = None  # whoever enters next opens another
            return []
        movers = iter([row for row in rows if row >= len(rows)])
        staying = set(rows)
        order = [place if place in staying else next(movers) for place in range(len(rows))]
        chosen = torch.tensor(order, device=self.mask.device)
        mask = self.mask[chosen]
        width = int(mask.sum(-1).max())
        for layer in self.cache.layers:
            if layer.is_sliding:
                _slide(layer, [_rows_of(layer, chosen)], width)
            elif layer.is_initialized:
                layer.keep(order, width)
        self.mask, self.positions = mask[:, mask.shape[1] - width :], self.positions[chosen]
        return order

    def widen(self) -> None:
        """Give each row a column for its next token, which is then read."""
        import torch

        self.mask = torch.nn.functional.pad(self.mask, (0, 1), value=1)

    def _open(self, like: BegunRow) -> None:
        from polymeter.models.hf.answers.roomy_layer import RoomyLayer

        self.mask, self.positions = like.mask[:0, :0], like.positions[:0]
        self.cache = copy.copy(like.cache)
        self.cache.layers = [
            _rows_of(layer, slice(0))
            if layer.is_sliding or not layer.is_initialized
            else RoomyLayer(layer, self._most_rows)
            for layer in like.cache.layers
        ]


def _rows_of(layer: Any, rows: Any) -> Any:
    """Some rows of a layer."""
    chosen = copy.copy(layer)
    if layer.is_initialized:
        chosen.keys, chosen.values = layer.keys[rows], layer.values[rows]
    return chosen


def _slide(layer: Any, parts: Sequence[Any], width: int) -> None:
    """Fill a layer with the rows of several, of ``width`` columns: it holds those that the next token sees, and counts
    all that there were.
    """
    n_held = min(width, layer.sliding_window - 1)
    layer.keys = _aligned([part.keys for part in parts], n_held)
    layer.values = _aligned([part.values for part in parts], n_held)
    layer.cumulative_length = width


def _aligned(parts: Sequence[torch.Tensor], width: int) -> torch.Tensor:
    """Keys or values of several batches as one, ending in the same column."""
    first = parts[0]
    whole = first.new_zeros(sum(map(len, parts)), first.shape[1], width, first.shape[3])
    start = 0
    for part in parts:
        n_held = min(width, part.shape[2])
        whole[start : start + len(part), :, width - n_held :] = part[:, :, part.shape[2] - n_held :]
        start += len(part)
    return whole
