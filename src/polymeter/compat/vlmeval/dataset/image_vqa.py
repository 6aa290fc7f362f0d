"""Stand-in for ``vlmeval.dataset.image_vqa``: questions with open answers."""

from polymeter.dialects.tsv.native.questions.datasets import CustomVQADataset, ImageVQADataset

__all__ = ["CustomVQADataset", "ImageVQADataset"]
