"""What users subclass."""

from polymeter.models.custom import CustomModel

__all__ = ["CustomModel"]
