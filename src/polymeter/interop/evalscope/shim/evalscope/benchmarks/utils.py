"""What adapters share."""

from polymeter.interop.evalscope.tasks.datasets import load_file_with_extension
from polymeter.interop.evalscope.tasks.filters import preprocess_decorator
from polymeter.interop.evalscope.tasks.prompts import PromptData

__all__ = ["PromptData", "load_file_with_extension", "preprocess_decorator"]
