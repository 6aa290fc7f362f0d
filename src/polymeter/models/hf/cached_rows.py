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
        cache = _of_width([gathered(self.cache, chosen)], width)
        return CachedRows(cache, mask[:, -width:], self.positions[chosen])

    def joined(self, others: CachedRows) -> CachedRows:
        """These rows, and others behind them."""
        import torch

        width = max(self.mask.shape[1], others.mask.shape[1])
        cache = _of_width([self.cache, others.cache], width)
        masks = [torch.nn.functional.pad(rows.mask, (width - rows.mask.shape[1], 0)) for rows in (self, others)]
        return CachedRows(cache, torch.cat(masks), torch.cat([self.positions, others.positions]))


def _of_width(caches: Sequence[Any], width: int) -> Any:
    """One plain cache of the rows of several, with so many columns: padding is added or dropped on the left."""
    one = copy.copy(caches[0])
    one.layers = []
    for layers in zip(*(cache.layers for cache in caches), strict=True):
        layer = copy.copy(layers[0])
        one.layers.append(layer)
        if not layer.is_initialized:
            continue
        n_held = width
        if layer.is_sliding:  # it holds the columns that the next token sees, and counts all that there were
            layer.cumulative_length = width
            n_held = min(width, layer.sliding_window - 1)
        layer.keys = _aligned([own.keys for own in layers], n_held)
        layer.values = _aligned([own.values for own in layers], n_held)
    return one


def _aligned(parts: Sequence[torch.Tensor], width: int) -> torch.Tensor:
    """Keys or values of several batches as one, ending in the same column."""
    first = parts[0]
    if len(parts) == 1 and first.shape[2] >= width:
        return first[:, :, first.shape[2] - width :]
    whole = first.new_zeros(sum(map(len, parts)), first.shape[1], width, first.shape[3])
    start = 0
    for part in parts:
        n_held = min(width, part.shape[2])
        whole[start : start + len(part), :, width - n_held :] = part[:, :, part.shape[2] - n_held :]
        start += len(part)
    return whole
