"""``lmms_eval.models``: wrappers by name, registered by the path of their class. None comes with Polymeter; files and
packages register theirs.
"""

from __future__ import annotations

from typing import Any

from polymeter.interop.lmms_eval.models.base import ModelManifest
from polymeter.interop.lmms_eval.models.manifests import MODEL_REGISTRY_V2, ModelRegistryV2, ResolvedModel

__all__ = [
    "MODEL_REGISTRY_V2",
    "ModelManifest",
    "ModelRegistryV2",
    "ResolvedModel",
    "get_model",
    "get_model_manifest",
    "list_available_models",
]


def get_model(model_name: str, force_simple: bool = False) -> type[Any]:
    """The wrapper of that name.

    Raises:
        PlanError: if there is none; the message suggests the nearest names.
    """
    return MODEL_REGISTRY_V2.get_model_class(model_name, force_simple)


def get_model_manifest(model_name: str) -> ModelManifest:
    """The manifest of a name."""
    return MODEL_REGISTRY_V2.get_manifest(model_name)


def list_available_models(include_aliases: bool = False) -> list[str]:
    """The names of the wrappers that are known so far."""
    return MODEL_REGISTRY_V2.list_model_names() if include_aliases else MODEL_REGISTRY_V2.list_canonical_model_ids()


def __getattr__(name: str) -> Any:
    """``AVAILABLE_MODELS`` and its two halves: name → name of the class, for the wrappers that are known so far."""
    tables = {"AVAILABLE_MODELS": (True, False), "AVAILABLE_SIMPLE_MODELS": (True,)}
    tables["AVAILABLE_CHAT_TEMPLATE_MODELS"] = (False,)
    if name not in tables:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    models = MODEL_REGISTRY_V2.list_kinds()
    return {model: cls for model, (cls, is_simple) in models.items() if is_simple in tables[name]}
