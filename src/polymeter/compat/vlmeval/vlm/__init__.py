"""Stand-in for ``vlmeval.vlm``: the base class of wrappers."""

from polymeter.compat.vlmeval.vlm.base import BaseModel

__all__ = ["BaseModel"]
