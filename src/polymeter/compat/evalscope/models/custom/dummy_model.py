"""A model that answers with a placeholder."""

from polymeter.models.custom import DummyCustomModel

__all__ = ["DummyCustomModel"]
