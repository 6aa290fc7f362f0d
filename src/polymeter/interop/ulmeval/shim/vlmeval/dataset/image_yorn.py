"""Stand-in for ``vlmeval.dataset.image_yorn``: questions that are answered with yes or no."""

from polymeter.formats.table.classes.questions.datasets import ImageYORNDataset

__all__ = ["ImageYORNDataset"]
