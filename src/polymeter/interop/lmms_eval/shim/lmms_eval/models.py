"""``lmms_eval.models``: wrappers by name, registered by the path of their class. None comes with Polymeter; files and
packages register theirs.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Literal

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.interop.lmms_eval.models.base import LMMS_MODELS, ModelManifest

__all__ = [
    "MODEL_REGISTRY_V2",
    "ModelManifest",
    "ModelRegistryV2",
    "ResolvedModel",
    "get_model",
    "get_model_manifest",
    "list_available_models",
]


@dataclass(frozen=True)
class ResolvedModel:
    """The class that a name stands for."""

    requested_name: str
    model_id: str
    model_type: Literal["simple", "chat"]
    class_path: str

    @property
    def class_name(self) -> str:
        return self.class_path.rpartition(".")[2]


class ModelRegistryV2:
    """Wrappers by name: those with a manifest here, and those that files have registered."""

    def __init__(self) -> None:
        self._manifests: dict[str, ModelManifest] = {}

    def register_manifest(self, manifest: ModelManifest, *, overwrite: bool = False) -> None:
        """Register a wrapper's manifest. Its class is imported, so that a run finds it as if its file had registered
        it.

        Raises:
            ValueError: if a name stands for another wrapper already and ``overwrite`` is off.
        """
        names = dict.fromkeys((manifest.model_id, *manifest.aliases))
        for name in names:
            earlier = self._manifests.get(name)
            if earlier is not None and earlier != manifest and not overwrite:
                raise ValueError(f"Model {name!r} is announced already: {earlier}.")
        for name in names:
            self._manifests[name] = manifest
            LMMS_MODELS.add(name, self.get_model_class(name))

    def get_manifest(self, model_name: str) -> ModelManifest:
        """The manifest of a name.

        Raises:
            PlanError: if there is none.
        """
        if model_name not in self._manifests:
            raise PlanError(f"No model {model_name!r} is announced.", hint=did_you_mean(model_name, self._manifests))
        return self._manifests[model_name]

    def resolve(self, model_name: str, force_simple: bool = False) -> ResolvedModel:
        """The class that a name stands for: the one that takes messages, unless the other one is forced.

        Raises:
            PlanError: if there is no manifest of that name, or it names no class.
        """
        manifest = self.get_manifest(model_name)
        simple, chat = manifest.simple_class_path, manifest.chat_class_path
        if chat is not None and not (force_simple and simple is not None):
            return ResolvedModel(model_name, manifest.model_id, "chat", chat)
        if simple is None:
            raise PlanError(f"The manifest of {manifest.model_id!r} names no class.")
        return ResolvedModel(model_name, manifest.model_id, "simple", simple)

    def get_model_class(self, model_name: str, force_simple: bool = False) -> type[Any]:
        """The class that a name stands for, imported.

        Raises:
            PlanError: if there is none.
            TypeError: if it does not take the kind of requests that its manifest says.
        """
        if model_name not in self._manifests:
            return LMMS_MODELS.get(model_name)
        resolved = self.resolve(model_name, force_simple)
        module, _, attribute = resolved.class_path.rpartition(".")
        cls: type[Any] = getattr(importlib.import_module(module), attribute)
        if cls.is_simple != (resolved.model_type == "simple"):
            raise TypeError(
                f"{resolved.class_path} is announced as {resolved.model_type}, but says is_simple={cls.is_simple}."
            )
        return cls

    def list_model_names(self) -> list[str]:
        """All names."""
        return sorted({*self._manifests, *LMMS_MODELS})

    def list_canonical_model_ids(self) -> list[str]:
        """All names except aliases of manifests."""
        aliases = {name for manifest in self._manifests.values() for name in manifest.aliases}
        return [name for name in self.list_model_names() if name not in aliases]


MODEL_REGISTRY_V2 = ModelRegistryV2()


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
    classes = {model: get_model(model) for model in MODEL_REGISTRY_V2.list_model_names()}
    return {model: cls.__name__ for model, cls in classes.items() if cls.is_simple in tables[name]}
