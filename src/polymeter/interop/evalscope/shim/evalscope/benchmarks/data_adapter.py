"""The base class of data adapters."""

from polymeter.interop.evalscope.tasks.base import DataAdapter

__all__ = ["DataAdapter"]
