"""A model that is not asked: it stands for one whose answers the journal holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from polymeter.core.errors import ModelError
from polymeter.core.model import ALL_READY, BatchModel, ModelTraits
from polymeter.core.names.stable_names import TRAITS
from polymeter.core.request import Error, Message, Origin, Request, Response
from polymeter.core.text.codec import jsonable


class StoredAnswers(BatchModel):
    """Has a model's identity and traits, and no answers of its own: what the journal does not hold is an error.

    Args:
        name: What to call the model.
        identity: That of the model it stands for, so that the journal's answers are found.
        traits: What tasks are compiled for.
        prompts: Makes the model whose own prompts the journal does not hold, because the run was begun by a version
            that did not keep them; ``None``: it holds them.
    """

    batch_hint = ALL_READY

    def __init__(
        self,
        name: str,
        identity: Mapping[str, Any],
        traits: ModelTraits,
        prompts: Callable[[], BatchModel] | None = None,
    ) -> None:
        self.display_name = name
        self.traits = traits
        self._identity = identity
        self._make_prompts = prompts
        self._prompts: BatchModel | None = None

    @property
    def identity(self) -> Mapping[str, Any]:
        """That of the model it stands for."""
        return self._identity

    def respond(self, requests: list[Request]) -> list[Response]:
        """Answer none: scoring again asks nobody."""
        missing = Error(
            "permanent", "The run holds no answer to this question, and scoring again does not ask for one."
        )
        return [Response(error=missing)] * len(requests)

    def own_prompt(self, origin: Origin) -> tuple[Message, ...] | None:
        """The model's own prompt, of a run whose journal holds none.

        Raises:
            ModelError: if the journal should hold it.
        """
        if self._prompts is None:
            if self._make_prompts is None:
                raise ModelError("The run holds no prompt of the model's own for this row.")
            self._prompts = self._make_prompts()
            self._prompts.load()
        self._prompts.rows = self.rows
        return self._prompts.own_prompt(origin)

    def close(self) -> None:
        """Close the model that made prompts, if there is one."""
        if self._prompts is not None:
            self._prompts.close()


def describe_traits(traits: ModelTraits) -> dict[str, Any]:
    """Traits as plain data."""
    return {TRAITS.get(field.name, field.name): jsonable(getattr(traits, field.name)) for field in fields(traits)}


def traits_from(description: Mapping[str, Any]) -> ModelTraits:
    """The traits that ``describe_traits`` described."""
    known = {TRAITS.get(field.name, field.name): field.name for field in fields(ModelTraits)}
    return ModelTraits(**{known[key]: value for key, value in description.items() if key in known})
