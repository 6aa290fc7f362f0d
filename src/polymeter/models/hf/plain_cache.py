"""Caches that are rows of keys and values and nothing else: operations on their rows."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def is_plain_cache(cache: Any) -> bool:
    """Return whether a cache is rows of keys and values and nothing else, so that its rows can be repeated.

    A window that slides is fine; a recurrent state, a buffer of fixed size, quantised values or an encoder's cache is
    not.
    """
    from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

    plain = (DynamicLayer, DynamicSlidingWindowLayer)
    return isinstance(cache, DynamicCache) and all(type(layer) in plain for layer in cache.layers)


def keeps_everything(cache: Any) -> bool:
    """Return whether a plain cache holds all tokens that were read: no layer has a window that slides."""
    from transformers.cache_utils import DynamicLayer

    return is_plain_cache(cache) and all(type(layer) is DynamicLayer for layer in cache.layers)


def gathered(cache: Any, rows: torch.Tensor) -> Any:
    """Return a plain cache of the selected rows; the given one is not changed."""
    chosen = _copied(cache)
    held = [layer for layer in chosen.layers if layer.is_initialized]
    n_held = held[0].keys.shape[0]
    if rows.tolist() == list(range(n_held)):
        return chosen
    if n_held > 1:
        chosen.reorder_cache(rows)
        return chosen
    for layer in held:  # a single prefix is not copied here: adding the first tokens copies it
        layer.keys = layer.keys.expand(len(rows), -1, -1, -1)
        layer.values = layer.values.expand(len(rows), -1, -1, -1)
    return chosen


def shortened(cache: Any, n: int) -> Any:
    """The first ``n`` tokens of a cache that keeps everything; the given one is not changed."""
    chosen = _copied(cache)
    for layer in chosen.layers:
        layer.keys, layer.values = layer.keys[:, :, :n], layer.values[:, :, :n]
    return chosen


def _copied(cache: Any) -> Any:
    chosen = copy.copy(cache)
    chosen.layers = [copy.copy(layer) for layer in cache.layers]
    return chosen
