"""VLMEvalKit's models in scripts: ``supported_VLM["GPT4o"]().generate([image, "What is it?"])``."""

from __future__ import annotations

import threading
from typing import Any

from polymeter.core.errors import ModelError
from polymeter.core.guest_context import weights_place
from polymeter.core.machine.environment import environment_set
from polymeter.core.names.registries import MODELS
from polymeter.core.request import Request
from polymeter.core.settings.generation import text_parameters
from polymeter.interop.ulmeval.models.base import BaseModel
from polymeter.interop.ulmeval.models.native import NativeModel
from polymeter.interop.ulmeval.models.vlmevalkit import needs_wrapper
from polymeter.interop.ulmeval.models.vlmevalkit.endpoints import endpoint_of
from polymeter.interop.ulmeval.models.vlmevalkit.names import supported
from polymeter.tasks.table.items import Item, as_messages


class ListedVlm(NativeModel):
    """A model of the tool's list, run by one of Polymeter's own backends. It answers with text.

    Args:
        name: Its name in ``supported_VLM``.
        **arguments: Arguments of its class there for an endpoint, else of the backend.

    Raises:
        PlanError: if no backend runs it, an argument is wrong, or a key or package is missing.
    """

    def __init__(self, name: str, **arguments: Any) -> None:
        BaseModel.__init__(self)
        entry = supported()[name]
        self.kwargs: dict[str, Any] = {}
        if entry.is_api:
            own = endpoint_of(entry.cls, {**entry.arguments, **arguments}, name=name)
            self.kwargs = dict(own.settings)
            with environment_set(own.keys):
                self._backend = MODELS.get(own.backend)(name=own.name, **own.arguments)
        elif entry.hub_id:
            self._backend = MODELS.get("hf")(name=weights_place(entry.hub_id), **arguments)
        else:
            raise needs_wrapper(name, entry)
        self._asked, _ = text_parameters(self.kwargs)
        self._lock = threading.Lock()
        self._is_loaded = False

    def generate(self, message: Any, dataset: str | None = None, num_generations: int | None = None) -> Any:
        """The answer to a message; a list of answers if ``num_generations`` is given."""
        answers = super().generate(message, dataset, num_generations or 1)
        return answers[0] if num_generations is None else answers

    def batch_generate_inner(self, message: list[Item], dataset: str | None, num_generations: int) -> list[Any]:
        """Answer a message, ``num_generations`` times.

        Raises:
            ModelError: if the backend fails; the message has the reason.
        """
        request = Request(as_messages(message), self._asked)
        responses = self._answers([request] * num_generations)
        for response in responses:
            if response.error is not None:
                raise ModelError(response.error.message, kind=response.error.kind)
        return [output.text for response in responses for output in response.outputs]
