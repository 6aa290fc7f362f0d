"""A model that is not asked: it stands for one whose answers the journal holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from polymeter.core.codec import jsonable
from polymeter.core.model import ALL_READY, BatchModel, ModelTraits
from polymeter.core.request import Error, Request, Response
from polymeter.core.stable_names import TRAITS

_NOT_DATA = "prompt_override"


class StoredAnswers(BatchModel):
    """Has a model's identity and traits, and no answers of its own: what the journal does not hold is an error.

    Args:
        name: What to call the model.
        identity: That of the model it stands for, so that the journal's answers are found.
        traits: What tasks are bound to.
    """

    batch_hint = ALL_READY

    def __init__(self, name: str, identity: Mapping[str, Any], traits: ModelTraits) -> None:
        self.display_name = name
        self.traits = traits
        self._identity = identity

    @property
    def identity(self) -> Mapping[str, Any]:
        """That of the model it stands for."""
        return self._identity

    def respond(self, requests: list[Request]) -> list[Response]:
        """Answer none: scoring again asks nobody."""
        missing = Error("permanent", "The run holds no answer to this question, and scoring again asks nobody for one.")
        return [Response(error=missing)] * len(requests)


def describe_traits(traits: ModelTraits) -> dict[str, Any] | None:
    """Traits as plain data; ``None`` for a model that brings its own prompts, which are code."""
    if traits.prompt_override is not None:
        return None
    return {
        TRAITS.get(field.name, field.name): jsonable(getattr(traits, field.name))
        for field in fields(traits)
        if field.name != _NOT_DATA
    }


def traits_from(description: Mapping[str, Any]) -> ModelTraits:
    """The traits that ``describe_traits`` described."""
    known = {TRAITS.get(field.name, field.name): field.name for field in fields(ModelTraits)}
    return ModelTraits(**{known[key]: value for key, value in description.items() if key in known})
