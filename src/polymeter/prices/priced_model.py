"""The model that a price is looked up for, as its provider names it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from polymeter.core.model import AsyncModel, Model, ModelSpec

_LEAST_OF_NAME = 4
"""So many letters of a provider's name may stand anywhere in the address of its endpoint."""


@dataclass(frozen=True, slots=True)
class PricedModel:
    """The model that a price is looked up for.

    Attributes:
        provider: The backend's name, such as ``openai`` or ``anthropic``. Several providers speak OpenAI's protocol, so
            the address decides.
        name: The model's name at its provider.
        base_url: The address of the endpoint; empty if it has none.
        is_local: True if the run computes it on its own machines, or starts its servers.
    """

    provider: str
    name: str
    base_url: str = ""
    is_local: bool = False

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}" if self.name else self.provider

    def is_called(self, written: str, provider: str = "") -> bool:
        """Return whether a name in a price list is that of this model: its own name, also behind that of its provider.

        Args:
            written: The name in the list, such as ``gpt-4o``, ``openai/gpt-4o`` or ``openai:gpt-4o``.
            provider: The provider that the list states for it; empty: none.
        """
        name, own = written.lower(), (self.name or self.provider).lower()
        if name == own:
            return not provider or self.is_of(provider)
        return any(name == f"{before}{sign}{own}" and self.is_of(before) for before, sign in _prefixes(name))

    def is_of(self, provider: str) -> bool:
        """Return whether a price list means this model's provider by a name such as ``openai`` or ``together_ai``."""
        if not self.base_url or self.is_local:
            return provider == self.provider.lower()
        host = (urlsplit(self.base_url).hostname or "").lower()
        words = {"gemini": "generativelanguage", "vertex_ai": "aiplatform", "xai": "x"}
        word = re.sub("[^a-z0-9]", "", words.get(provider, provider.lower().removesuffix("_ai")))
        return word in host.split(".") or (len(word) >= _LEAST_OF_NAME and word in host)


def priced_model(model: Model, spec: ModelSpec | None = None) -> PricedModel:
    """Describe a model for a look-up of its price.

    Args:
        model: The model.
        spec: The spec that it was made from; default: as the model has it.
    """
    spec = spec or model.made_from
    if spec is None:
        return model_named(str(getattr(model, "display_name", type(model).__name__)))
    # Before they are started, servers of the run have no addresses.
    is_local = not isinstance(model, AsyncModel) or not model.instances or not model.address
    return PricedModel(spec.backend, spec.name, (model.address or "").partition(",")[0], is_local)


def model_named(name: str) -> PricedModel:
    """Return the model with a name as runs have it, such as ``openai:gpt-4o``; its address is unknown."""
    provider, _, own = name.partition(":")
    return PricedModel(provider, own, is_local=True)


def _prefixes(name: str) -> Iterator[tuple[str, str]]:
    for sign in ("/", ":"):
        before, found, _ = name.partition(sign)
        if found:
            yield before, sign
