"""Stand-in for ``vlmeval.dataset.image_mcq``: multiple choice over images."""

from polymeter.dialects.tsv.native.multiple_choice.datasets import CustomMCQDataset, ImageMCQDataset

__all__ = ["CustomMCQDataset", "ImageMCQDataset"]
