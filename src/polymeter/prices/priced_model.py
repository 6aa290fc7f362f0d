"""The model that a price is looked up for, as its provider names it."""

from __future__ import annotations

from dataclasses import dataclass

from polymeter.core.model import Model


@dataclass(frozen=True, slots=True)
class PricedModel:
    """The model that a price is looked up for.

    Attributes:
        provider: The backend's name, such as ``openai`` or ``anthropic``; several providers speak OpenAI's protocol, so
            the address decides.
        name: The model's name at its provider.
        base_url: The address of the endpoint; empty if it has none.
        is_local: True if this run computes it or starts its servers.
    """

    provider: str
    name: str
    base_url: str = ""
    is_local: bool = False

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}" if self.name else self.provider


def priced_model(model: Model) -> PricedModel:
    """Describe a model for a look-up of its price."""
    spec = model.made_from
    if spec is None:
        return PricedModel(str(getattr(model, "display_name", type(model).__name__)), "", is_local=True)
    address = (model.address or "").partition(",")[0]
    return PricedModel(spec.backend, spec.name, address, is_local=not model.traits.is_endpoint)
