"""A backend around a model's class: what both backends tell the engine of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.core.identity import source_hash
from polymeter.core.model import BatchModel
from polymeter.guests.opened_sources import opened_behind
from polymeter.guests.wrappers import is_stub, plain
from polymeter.interop.lm_family.models.base import FamilyModel
from polymeter.interop.lm_family.models.loading import FoundModel
from polymeter.models.memory import free_memory

RUNTIME = ("batch_size", "max_batch_size", "device")
"""Arguments of constructors that change no answer."""


class FamilyBackend(BatchModel):
    """A subclass of ``LM`` or ``lmms``, unmodified."""

    _identity: Mapping[str, Any]

    def identify(self, backend: str, found: FoundModel[Any], arguments: Mapping[str, Any], **settings: Any) -> None:
        """Set what identifies the model.

        Args:
            backend: The backend's name.
            found: The model's class.
            arguments: The arguments of its constructor.
            **settings: What else changes answers.
        """
        self.opened_sources = opened_behind(found.sources)
        self._identity = {
            "backend": backend,
            "name": found.name,
            "class": found.cls.__qualname__,
            "sources": source_hash(found.sources),
            "arguments": {key: plain(value) for key, value in arguments.items() if key not in RUNTIME},
            **settings,
        }

    @property
    def identity(self) -> Mapping[str, Any]:
        """The class's sources, its name and arguments."""
        return self._identity

    def relieve(self) -> None:
        """Free the memory that torch holds but does not need, if torch is in use."""
        free_memory()


def is_written(cls: type[FamilyModel], base: type[FamilyModel], method: str) -> bool:
    """Return whether a model overrides a method of its base class with more than a stub."""
    function = getattr(cls, method)
    return function is not getattr(base, method) and not is_stub(function)
