"""Stand-in for ``ulmeval.dataset.image_base``."""

from polymeter.formats.table.base import ImageBaseDataset

__all__ = ["ImageBaseDataset", "img_root_map"]


def img_root_map(dataset: str) -> str:
    """Name of the folder that holds a dataset's images: its own."""
    return dataset
