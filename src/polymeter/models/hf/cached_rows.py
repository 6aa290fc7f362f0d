"""Rows of a batch that is being continued: their keys and values, leaving and joining while the others go on.

Rows are padded on the left, so all end in the same column. A row that joins gets as much padding as it lacks, and
columns that are padding in all rows are dropped.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polymeter.models.hf.prefix import gathered

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class CachedRows:
    """Rows whose tokens so far have been read.

    Attributes:
        cache: A plain cache of their keys and values.
        mask: Which columns are their own, shape ``(rows, width)``.
        positions: The position of each row's next token.
    """

    cache: Any
    mask: torch.Tensor
    positions: torch.Tensor

    def kept(self, rows: Sequence[int]) -> CachedRows:
        """Some of the rows, in order."""
        import torch

        chosen = torch.tensor(rows, device=self.mask.device)
        mask = self.mask[chosen]
        width = int(mask.sum(-1).max())
        cache = _of_width(gathered(self.cache, chosen), width)
        return CachedRows(cache, mask[:, -width:], self.positions[chosen])

    def joined(self, others: CachedRows) -> CachedRows:
        """These rows, and others behind them."""
        import torch

        width = max(self.mask.shape[1], others.mask.shape[1])
        cache, other = _of_width(self.cache, width), _of_width(others.cache, width)
        for layer, beside in zip(cache.layers, other.layers, strict=True):
            if layer.is_initialized:
                layer.keys = torch.cat([layer.keys, beside.keys])
                layer.values = torch.cat([layer.values, beside.values])
        masks = [torch.nn.functional.pad(rows.mask, (width - rows.mask.shape[1], 0)) for rows in (self, others)]
        return CachedRows(cache, torch.cat(masks), torch.cat([self.positions, others.positions]))


def _of_width(cache: Any, width: int) -> Any:
    """A plain cache with so many columns: padding is added or dropped on the left. The given one is not changed."""
    from torch.nn.functional import pad

    changed = copy.copy(cache)
    changed.layers = [copy.copy(layer) for layer in cache.layers]
    for layer in changed.layers:
        if not layer.is_initialized:
            continue
        n_held = width
        if layer.is_sliding:  # it holds the columns that the next token sees, and counts all that there were
            layer.cumulative_length = width
            n_held = min(width, layer.sliding_window - 1)
        n_more = n_held - layer.keys.shape[-2]
        layer.keys = pad(layer.keys, (0, 0, n_more, 0))  # a negative number drops columns
        layer.values = pad(layer.values, (0, 0, n_more, 0))
    return changed
