"""Stand-in for ``vlmeval.dataset.image_mcq``: multiple choice over images."""

from polymeter.formats.table.classes.multiple_choice.datasets import CustomMCQDataset, ImageMCQDataset

__all__ = ["CustomMCQDataset", "ImageMCQDataset"]
