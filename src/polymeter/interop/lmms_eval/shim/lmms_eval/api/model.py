"""Stand-in for ``lmms_eval.api.model``: the base class of model wrappers."""

from polymeter.interop.lmms_eval.models.base import CacheHook, lmms

__all__ = ["CacheHook", "lmms"]
