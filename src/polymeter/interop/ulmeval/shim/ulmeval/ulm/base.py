"""Stand-in for ``ulmeval.ulm.base``."""

from polymeter.interop.ulmeval.models.base import BaseModel

__all__ = ["BaseModel"]
