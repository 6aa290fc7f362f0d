"""Stand-in for ``ulmeval.ulm``: the base class of wrappers, the classes that ULMEvalKit has, and those
of users' files."""

from __future__ import annotations

from typing import Any

from polymeter.compat.ulmeval.ulm._classes import defined_class, model_class
from polymeter.compat.ulmeval.ulm.base import BaseModel
from polymeter.models.ulm.zoo import CLASSES

__all__ = ["BaseModel", *CLASSES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    found = None if name.startswith("_") else defined_class(BaseModel, name)
    if found is not None:
        return found
    if name in CLASSES:
        return model_class(name)
    raise AttributeError(f"module 'ulmeval.ulm' has no attribute {name!r}")
