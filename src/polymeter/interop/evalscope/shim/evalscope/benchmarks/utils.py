"""What adapters share."""

from polymeter.interop.evalscope.tasks.preparing import PromptData, load_file_with_extension, preprocess_decorator

__all__ = ["PromptData", "load_file_with_extension", "preprocess_decorator"]
