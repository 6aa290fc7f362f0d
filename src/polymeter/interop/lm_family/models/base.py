"""Parts that the two base classes of models share, and the registry of their names."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import Any, Generic, TypeVar

from polymeter.core.errors import PlanError, did_you_mean

Self = TypeVar("Self", bound="FamilyModel")
ModelClass = TypeVar("ModelClass", bound=type)


class CacheHook:
    """Takes each answer from a model and does nothing with it: Polymeter journals every response itself."""

    def __init__(self, cachinglm: Any = None) -> None:
        self.dbdict: Any = None

    def add_partial(self, attr: str, req: Iterable[Any], res: Any) -> None:
        """Called by models for each answer."""


class FamilyModel(abc.ABC):
    """A model as both tools call it.

    No method is abstract: a model supports those that it overrides, which is known before the first request. What the
    tools' constructor sets exists before a model's own constructor runs, since some never call it.
    """

    _rank: int
    _world_size: int
    cache_hook: CacheHook

    def __new__(cls: type[Self], *args: Any, **kwargs: Any) -> Self:
        model = super().__new__(cls)
        FamilyModel.__init__(model)
        return model

    def __init__(self) -> None:
        self._rank, self._world_size = 0, 1
        self.cache_hook = CacheHook(None)

    @property
    def rank(self) -> int:
        """Number of this process among those that share the work."""
        return self._rank

    @property
    def world_size(self) -> int:
        """The number of processes that share the work."""
        return self._world_size

    def set_cache_hook(self, cache_hook: CacheHook) -> None:
        """Set the hook that each answer is passed to."""
        self.cache_hook = cache_hook


class RegisteredNames(Generic[ModelClass]):
    """Models by the names that ``register_model`` gave them. A later one replaces an earlier one of the same name,
    because the file that a run names decides.

    Attributes:
        kind: What they are called in messages.
    """

    kind = ""

    def __init__(self) -> None:
        self._models: dict[str, ModelClass] = {}

    def add(self, name: str, cls: ModelClass) -> None:
        """Give a model a name."""
        self._models[name] = cls

    def get(self, name: str) -> ModelClass:
        """The model of a name.

        Raises:
            PlanError: if there is none; the message suggests the nearest names.
        """
        if name not in self._models:
            hint = did_you_mean(name, self._models) or "Name the file that registers it with --model-path."
            raise PlanError(f"There is no {self.kind} {name!r}.", where="--model", hint=hint)
        return self._models[name]

    def __contains__(self, name: object) -> bool:
        return name in self._models

    def __iter__(self) -> Iterator[str]:
        return iter(self._models)

    def __len__(self) -> int:
        return len(self._models)

    def __getitem__(self, name: str) -> ModelClass:
        return self._models[name]

    def __setitem__(self, name: str, cls: ModelClass) -> None:
        self.add(name, cls)

    def __delitem__(self, name: str) -> None:
        """Remove a name; some models' files do so before they register it again."""
        del self._models[name]

    def keys(self) -> KeysView[str]:
        """All names."""
        return self._models.keys()


def given(settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings that are not ``None``."""
    return {name: value for name, value in (settings or {}).items() if value is not None}
