"""Stand-in for ``ulmeval.ulm``: the base class of wrappers. Models by their names are in ``ulmeval.config``."""

from polymeter.compat.ulmeval.ulm.base import BaseModel

__all__ = ["BaseModel"]
