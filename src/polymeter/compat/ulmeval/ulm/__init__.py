"""Stand-in for ``ulmeval.ulm``: the base class of wrappers, and what makes the models that ULMEvalKit has."""

from __future__ import annotations

from typing import Any

from polymeter.compat.ulmeval.ulm.base import BaseModel
from polymeter.models.ulm.zoo import CLASSES, supported_ULM

__all__ = ["BaseModel", *CLASSES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in CLASSES:
        return supported_ULM.of_class(name)
    raise AttributeError(f"module 'ulmeval.ulm' has no attribute {name!r}")
