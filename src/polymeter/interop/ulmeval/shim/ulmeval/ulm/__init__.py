"""Stand-in for ``ulmeval.ulm``: the base class of wrappers, the classes that ULMEvalKit has, and those
of users' files.
"""

from __future__ import annotations

from typing import Any

from polymeter.interop.ulmeval.models.zoo import CLASSES
from polymeter.interop.ulmeval.shim.ulmeval.ulm._classes import defined_class, model_class
from polymeter.interop.ulmeval.shim.ulmeval.ulm.base import BaseModel

__all__ = ["BaseModel", *CLASSES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    found = None if name.startswith("_") else defined_class(BaseModel, name)
    if found is not None:
        return found
    if name in CLASSES:
        return model_class(name)
    raise AttributeError(f"module 'ulmeval.ulm' has no attribute {name!r}")
