"""Columns of media that stay encoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_KINDS = ("Image", "Audio", "Video")


def undecode_media(
    dataset: Any, media_type: Sequence[str] = ("image", "audio", "video"), batch_size: int | None = None
) -> Any:
    """A dataset whose media stay encoded: cells are ``{'bytes': …, 'path': …}``, also those of lists.

    Args:
        dataset: A dataset of the package ``datasets``.
        media_type: The kinds that are meant.
        batch_size: Kept for authors.

    Raises:
        TypeError: if it is something else.
    """
    import datasets
    from datasets import features

    if not isinstance(dataset, datasets.Dataset):
        raise TypeError(f"A dataset of the package datasets is wanted, not {type(dataset).__name__}.")
    named = {name: getattr(features, name, None) for name in _KINDS}
    kinds = tuple(kind for name, kind in named.items() if kind is not None and name.lower() in media_type)
    for column, feature in dataset.features.items():
        inner = feature[0] if isinstance(feature, list) else getattr(feature, "feature", None)
        if isinstance(feature, kinds):
            dataset = dataset.cast_column(column, type(feature)(decode=False))
        elif isinstance(inner, kinds):
            encoded = type(inner)(decode=False)
            dataset = dataset.cast_column(column, [encoded] if isinstance(feature, list) else type(feature)(encoded))
    return dataset
