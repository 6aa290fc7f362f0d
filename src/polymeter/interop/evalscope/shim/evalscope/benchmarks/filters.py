"""What is done to a model's text before it is parsed."""

from polymeter.interop.evalscope.tasks.filters import Filter

__all__ = ["Filter"]
