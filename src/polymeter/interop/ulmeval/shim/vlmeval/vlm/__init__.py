"""Stand-in for ``vlmeval.vlm``: the base class of wrappers, and those of users' files."""

from __future__ import annotations

from typing import Any

from polymeter.interop.ulmeval.shim.ulmeval.ulm._classes import defined_class
from polymeter.interop.ulmeval.shim.vlmeval.vlm.base import BaseModel

__all__ = ["BaseModel"]


def __getattr__(name: str) -> Any:
    found = None if name.startswith("_") else defined_class(BaseModel, name)
    if found is not None:
        return found
    raise AttributeError(f"module 'vlmeval.vlm' has no attribute {name!r}")
