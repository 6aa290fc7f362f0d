"""What is done to a model's text before it is parsed."""

from polymeter.dialects.adapter.filters import Filter

__all__ = ["Filter"]
