"""Stand-in for ``vlmeval.dataset.image_vqa``: questions with open answers."""

from polymeter.formats.table.classes.questions.datasets import CustomVQADataset, ImageVQADataset

__all__ = ["CustomVQADataset", "ImageVQADataset"]
