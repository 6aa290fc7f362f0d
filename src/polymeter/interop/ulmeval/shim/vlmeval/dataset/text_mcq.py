"""Stand-in for ``vlmeval.dataset.text_mcq``: multiple choice without images."""

from polymeter.formats.table.classes.multiple_choice.datasets import CustomTextMCQDataset, TextMCQDataset

__all__ = ["CustomTextMCQDataset", "TextMCQDataset"]
