"""The classes of models in the modules that a user names, and which of them is meant."""

from __future__ import annotations

import typing
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.guests.wrappers import registered_names, sources_of
from polymeter.interop.lm_family.models.base import FamilyModel

Model = TypeVar("Model", bound=FamilyModel)
TYPING: Mapping[str, Any] = {
    name: getattr(typing, name) for name in ("Any", "Dict", "List", "Optional", "Tuple", "Union")
}
"""Names of ``typing`` that the code in the tools' documentation uses without importing them."""


@dataclass(frozen=True, slots=True)
class FoundModel(Generic[Model]):
    """A model's class.

    Attributes:
        cls: The class.
        name: Its name: as the user wrote it, else as it is registered, else the class's own name.
        sources: The files that define it.
    """

    cls: type[Model]
    name: str
    sources: tuple[Path, ...]


def found_class(cls: type[Model], name: str = "", modules: Iterable[ModuleType] = ()) -> FoundModel[Model]:
    """A class that is loaded, by the name that the user wrote, else by the first that it is registered under, else by
    its own.

    Args:
        cls: The class.
        name: What the user wrote, if anything.
        modules: The modules that it was found in.
    """
    return FoundModel(cls, name or names_of(cls)[0], sources_of(cls, modules))


def names_of(cls: type) -> tuple[str, ...]:
    """The names that a class is registered under, then its own."""
    return (*registered_names(cls), cls.__name__)


def leaves(classes: Iterable[type[Model]]) -> set[type[Model]]:
    """Classes from which none of the others derives."""
    every = set(classes)
    return {cls for cls in every if not any(other is not cls and issubclass(other, cls) for other in every)}


def only_candidate(
    candidates: Collection[type[Model]],
    listed: str,
    *,
    name: str,
    path: str,
    known: Iterable[str],
    kind: tuple[str, str],
) -> type[Model]:
    """Return the only candidate of a path if no model has the name that the user wrote.

    Args:
        candidates: The models that are meant without a name.
        listed: Their names, for messages.
        name: What the user wrote; empty for nothing.
        path: The path.
        known: All names that models of the path have.
        kind: The name of the backend, and what its models are subclasses of.

    Raises:
        PlanError: if there is no candidate, a name was written, or there are several candidates.
    """
    backend, base = kind
    if not candidates:
        raise PlanError(f"{path!r} defines no model.", where="--model-path", hint=f"A model is a subclass of {base}.")
    if name:
        hint = did_you_mean(name, known) or f"It has: {listed}."
        raise PlanError(f"{path!r} has no model {name!r}.", where="--model", hint=hint)
    if len(candidates) > 1:
        hint = f"Write {backend}:NAME."
        raise PlanError(f"{path!r} has several models: {listed}.", where="--model", hint=hint)
    return next(iter(candidates))
