"""Stand-in for ``ulmeval.dataset.text_base``."""

from polymeter.formats.table.base import TextBaseDataset

__all__ = ["TextBaseDataset"]
