"""Stand-in for ``ulmeval.api``: the base class of wrappers of endpoints, the judge, and models that draw."""

from __future__ import annotations

from typing import Any

from polymeter.interop.ulmeval.shim.ulmeval.api.base import BaseAPI
from polymeter.interop.ulmeval.shim.ulmeval.api.gpt import GPT4V, OpenAIWrapper
from polymeter.interop.ulmeval.shim.ulmeval.ulm._classes import defined_class, model_class

_MODELS = ("GPTIMAGE1", "GeminiFlashGeneration", "Imagen")

__all__ = ["GPT4V", "BaseAPI", "OpenAIWrapper", *_MODELS]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    found = None if name.startswith("_") else defined_class(BaseAPI, name)
    if found is not None:
        return found
    if name in _MODELS:
        return model_class(name)
    raise AttributeError(f"module 'ulmeval.api' has no attribute {name!r}")
