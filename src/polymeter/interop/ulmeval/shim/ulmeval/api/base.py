"""Stand-in for ``ulmeval.api.base``."""

from polymeter.interop.ulmeval.models.base import BaseAPI

__all__ = ["BaseAPI"]
