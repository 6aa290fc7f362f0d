"""Wrappers that are announced by the path of their class, as lmms-eval's ``MODEL_REGISTRY_V2`` takes them.

Nothing is imported before a wrapper is used, so that one that needs a missing package stops no other.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.guests.loading.imports import load_file
from polymeter.guests.loading.neighbours import tree_file
from polymeter.interop.lmms_eval.models.base import LMMS_MODELS, ModelManifest, lmms

_TABLES = ("AVAILABLE_SIMPLE_MODELS", "AVAILABLE_CHAT_TEMPLATE_MODELS")


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
        self._ids: dict[str, str] = {}
        self._folders: dict[str, Path | None] = {}

    def register_manifest(self, manifest: ModelManifest, *, overwrite: bool = False) -> None:
        """Register a wrapper's manifest. One of the same id adds what the earlier one leaves open.

        Raises:
            ValueError: if a name stands for another wrapper already and ``overwrite`` is off.
        """
        model_id = manifest.model_id
        merged = self._merged(self._manifests.get(model_id), manifest, overwrite=overwrite)
        for name in (model_id, *merged.aliases):
            if not overwrite and self._ids.get(name, model_id) != model_id:
                raise ValueError(f"Model {name!r} is announced already: {self._manifests[self._ids[name]]}.")
        self._manifests[model_id] = merged
        self._ids.update(dict.fromkeys((model_id, *merged.aliases), model_id))
        # A path below lmms_eval.models means a file of the checkout that announces it.
        file = sys._getframe(1).f_globals.get("__file__")
        self._folders[model_id] = Path(file).resolve().parent if file else None

    @staticmethod
    def _merged(earlier: ModelManifest | None, later: ModelManifest, *, overwrite: bool) -> ModelManifest:
        if earlier is None:
            return later
        simple = (earlier.simple_class_path, later.simple_class_path)
        chat = (earlier.chat_class_path, later.chat_class_path)
        if not overwrite and any(old and new and old != new for old, new in (simple, chat)):
            raise ValueError(f"Model {later.model_id!r} is announced already: {earlier}.")
        aliases = tuple(dict.fromkeys((*earlier.aliases, *later.aliases)))
        return ModelManifest(later.model_id, simple[1] or simple[0], chat[1] or chat[0], aliases)

    def get_manifest(self, model_name: str) -> ModelManifest:
        """The manifest of a name.

        Raises:
            PlanError: if there is none.
        """
        if model_name not in self._ids:
            raise PlanError(f"No model {model_name!r} is announced.", hint=did_you_mean(model_name, self._ids))
        return self._manifests[self._ids[model_name]]

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
            TypeError: if it does not take the kind of requests that its manifest states.
        """
        if model_name not in self._ids:
            return LMMS_MODELS.get(model_name, force_simple=force_simple)
        resolved = self.resolve(model_name, force_simple)
        return class_of(resolved, self._folders[resolved.model_id])

    def list_model_names(self) -> list[str]:
        """All names."""
        return sorted({*self._ids, *LMMS_MODELS})

    def list_canonical_model_ids(self) -> list[str]:
        """All names except aliases of manifests."""
        return [name for name in self.list_model_names() if self._ids.get(name, name) == name]

    def list_kinds(self) -> dict[str, tuple[str, bool]]:
        """For each name the name of its class, and whether that takes a text and media; imports none."""
        kinds = {name: (LMMS_MODELS[name].__name__, LMMS_MODELS[name].is_simple) for name in LMMS_MODELS}
        for name in self._ids:
            resolved = self.resolve(name)
            kinds[name] = (resolved.class_name, resolved.model_type == "simple")
        return dict(sorted(kinds.items()))

    def announced(self) -> Iterator[str]:
        """The names with a manifest."""
        yield from self._ids


# Of the process, as in lmms-eval: users' files announce their wrappers to it.
MODEL_REGISTRY_V2 = ModelRegistryV2()


def listed_manifests(modules: Iterable[ModuleType]) -> ModelRegistryV2:
    """The wrappers that modules list in lmms-eval's tables, by the name of the class: it is in the file that is called
    like the model, in the folder of its kind.
    """
    registry = ModelRegistryV2()
    for module in modules:
        simple, chat = (getattr(module, name, None) or {} for name in _TABLES)
        for model_id in dict.fromkeys((*simple, *chat)):
            paths = (_listed_path("simple", model_id, simple), _listed_path("chat", model_id, chat))
            registry.register_manifest(ModelManifest(str(model_id), *paths), overwrite=True)
    return registry


def _listed_path(kind: str, model_id: Any, table: Mapping[Any, Any]) -> str | None:
    listed = table.get(model_id)
    if listed is None:
        return None
    return str(listed) if "." in str(listed) else f"lmms_eval.models.{kind}.{model_id}.{listed}"


def class_of(resolved: Any, folder: Path | None) -> type[lmms]:
    """The class at the path that a manifest gives. To be called with the shims switched on.

    Args:
        resolved: A ``ResolvedModel``, ours or that of a checkout.
        folder: Where the manifest is registered: names below ``lmms_eval.models`` mean files around it.

    Raises:
        PlanError: if it is not a subclass of ``lmms``.
        TypeError: if it does not take the kind of requests that its manifest states.
    """
    path = str(resolved.class_path)
    module_name, _, attribute = path.replace(":", ".").rpartition(".")
    file = tree_file(module_name, folder) if folder is not None else None
    module = load_file(file) if file is not None else importlib.import_module(module_name)
    cls = getattr(module, attribute, None)
    if not (isinstance(cls, type) and issubclass(cls, lmms)):
        hint = did_you_mean(attribute, vars(module))
        raise PlanError(f"{module_name} has no subclass of lmms named {attribute!r}.", where=path, hint=hint)
    if cls.is_simple != (resolved.model_type == "simple"):
        raise TypeError(f"{path} is announced as {resolved.model_type}, but has is_simple={cls.is_simple}.")
    return cls
