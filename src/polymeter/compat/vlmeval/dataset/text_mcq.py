"""Stand-in for ``vlmeval.dataset.text_mcq``: multiple choice without images."""

from polymeter.dialects.tsv.native.multiple_choice.datasets import CustomTextMCQDataset, TextMCQDataset

__all__ = ["CustomTextMCQDataset", "TextMCQDataset"]
