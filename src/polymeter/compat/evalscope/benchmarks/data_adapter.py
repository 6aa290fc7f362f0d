"""The base class of data adapters."""

from polymeter.dialects.adapter.base import DataAdapter

__all__ = ["DataAdapter"]
