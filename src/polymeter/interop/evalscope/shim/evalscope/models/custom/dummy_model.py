"""A model that answers with a placeholder."""

from polymeter.interop.evalscope.models.custom import DummyCustomModel

__all__ = ["DummyCustomModel"]
