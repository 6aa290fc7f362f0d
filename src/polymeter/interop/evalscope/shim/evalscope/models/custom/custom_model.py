"""What users subclass."""

from polymeter.interop.evalscope.models.custom import CustomModel

__all__ = ["CustomModel"]
