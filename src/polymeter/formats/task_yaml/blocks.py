"""Model-specific blocks: which part of a task's settings holds for the model at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FALLBACKS = ("default", "dataset")


def prompt_kwargs(block: Any, key: str) -> Any:
    """What prompt hooks get from ``lmms_eval_specific_kwargs``; ``None``: they are called with the row alone.

    The model's own block stands alone. Without one, ``default`` (or ``dataset``) is laid over the whole, so that the
    other blocks stay visible; a whole without any of these reaches the hooks unchanged.
    """
    if not isinstance(block, Mapping):
        return block
    if key and key in block:
        return block[key]
    for fallback in _FALLBACKS:
        if fallback in block:
            return {**block, **(block[fallback] or {})}
    return dict(block)


def target_kwargs(block: Any, key: str) -> Any:
    """What ``doc_to_target`` gets from ``model_specific_target_kwargs``; ``None``: the row alone."""
    if not isinstance(block, Mapping):
        return None
    return block.get(key, block.get("default"))


def generation_kwargs(block: Any, key: str) -> Mapping[str, Any]:
    """What ``model_specific_generation_kwargs`` adds to the generation settings."""
    return target_kwargs(block, key) or {}
