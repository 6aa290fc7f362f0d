"""Stand-in for ``ulmeval.ulm.base``."""

from polymeter.models.ulm_base import BaseModel

__all__ = ["BaseModel"]
