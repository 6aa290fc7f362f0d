"""Stand-in for ``ulmeval.dataset.text_base``."""

from polymeter.dialects.tsv.base import TextBaseDataset

__all__ = ["TextBaseDataset"]
