"""Stand-in for ``lmms_eval.models``: wrappers by name. None comes with Polymeter; files and packages bring theirs."""

from __future__ import annotations

from typing import Any

from polymeter.interop.lmms_eval.shim.lmms_eval.models.registry_v2 import ModelManifest, ModelRegistryV2

__all__ = ["MODEL_REGISTRY_V2", "ModelManifest", "get_model", "get_model_manifest", "list_available_models"]

MODEL_REGISTRY_V2 = ModelRegistryV2()


def get_model(model_name: str, force_simple: bool = False) -> type[Any]:
    """The wrapper of that name.

    Raises:
        PlanError: There is none; the nearest are named.
    """
    return MODEL_REGISTRY_V2.get_model_class(model_name, force_simple)


def get_model_manifest(model_name: str) -> ModelManifest:
    """What was announced under a name."""
    return MODEL_REGISTRY_V2.get_manifest(model_name)


def list_available_models(include_aliases: bool = False) -> list[str]:
    """Names of the wrappers that are known so far."""
    return MODEL_REGISTRY_V2.list_model_names() if include_aliases else MODEL_REGISTRY_V2.list_canonical_model_ids()


def __getattr__(name: str) -> Any:
    """``AVAILABLE_MODELS`` and its two halves: name → name of the class, as far as that is known now."""
    wanted = {"AVAILABLE_MODELS": (True, False), "AVAILABLE_SIMPLE_MODELS": (True,)}
    wanted["AVAILABLE_CHAT_TEMPLATE_MODELS"] = (False,)
    if name not in wanted:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    classes = {known: get_model(known) for known in MODEL_REGISTRY_V2.list_model_names()}
    return {known: cls.__name__ for known, cls in classes.items() if cls.is_simple in wanted[name]}
