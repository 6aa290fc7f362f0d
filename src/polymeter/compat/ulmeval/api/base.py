"""Stand-in for ``ulmeval.api.base``."""

from polymeter.models.ulm_base import BaseAPI

__all__ = ["BaseAPI"]
