"""Models that are a user's own object."""

from polymeter.interop.evalscope.models.custom import CustomModel, DummyCustomModel

__all__ = ["CustomModel", "DummyCustomModel"]
