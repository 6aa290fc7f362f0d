"""Polymeter's own backends with the interface of a ULMEvalKit wrapper, for use outside runs:
``supported_ULM["Janus-Pro-1B"]().generate(["a cat"])``.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from time import sleep
from typing import Any

from polymeter.core.errors import ModelError
from polymeter.core.model import AsyncModel, BatchModel, Model
from polymeter.core.request import Request, Response
from polymeter.core.settings.generation import image_parameters
from polymeter.interop.ulmeval.models.base import BaseModel
from polymeter.interop.ulmeval.models.zoo import ENTRIES, Zoo, backend_arguments, native_backend
from polymeter.tasks.table.items import Item, as_messages

_OTHER_NAMES: Mapping[str, str] = {"cfg_weight": "guidance_scale", "model": "model_path"}
_NO_SETTINGS = frozenset({"retry", "wait", "verbose", "img_size", "img_detail", "vq_path"})
"""Arguments of ULMEvalKit's classes that have no effect here."""
_ATTEMPTS = 4


class NativeModel(BaseModel):
    """A model of ``supported_ULM``. Its weights are read at the first request.

    Args:
        name: Its name in ``supported_ULM``.
        model_path: Its files, or its id.
        **arguments: Arguments of the backend, and generation settings in place of ULMEvalKit's
            (``num_inference_steps``, ``guidance_scale``, ``width``, ``height``, ``negative_prompt``, …).

    Raises:
        PlanError: if no backend runs it, an argument is wrong, or a package is missing.
    """

    INTERLEAVE = True

    def __init__(self, name: str, model_path: str, **arguments: Any) -> None:
        super().__init__()
        other_path, own, self.kwargs = sort_arguments(name, arguments)
        self.model_path = other_path or model_path
        self._backend = native_backend(name, own, self.model_path)
        self._parameters, _ = image_parameters(self.kwargs, defaults=ENTRIES[name].settings)
        self._lock = threading.Lock()
        self._is_loaded = False

    @property
    def backend(self) -> Model:
        """The backend that answers."""
        return self._backend

    def generate_inner(self, message: list[Item], dataset: str | None = None) -> Any:
        """One image for a message."""
        return self.batch_generate_inner(message, dataset, 1)[0]

    def batch_generate_inner(self, message: list[Item], dataset: str | None, num_generations: int) -> list[Any]:
        """Generate ``num_generations`` images, each with its own seed from Python's generator.

        Raises:
            ModelError: if the backend fails; the message has the reason.
        """
        messages = as_messages(message)
        requests = [
            Request(messages, replace(self._parameters, seed=random.getrandbits(31), repeat=number))
            for number in range(num_generations)
        ]
        responses = self._answers(requests)
        for response in responses:
            if response.error is not None:
                raise ModelError(response.error.message, kind=response.error.kind)
        images = [output.images[0] for response in responses for output in response.outputs if output.images]
        if len(images) != num_generations:
            raise ModelError(f"The backend gave {len(images)} images where {num_generations} were asked for.")
        return images

    def close(self) -> None:
        """Free what the backend holds."""
        self._backend.close()
        self._is_loaded = False

    def _answers(self, requests: list[Request]) -> list[Response]:
        with self._lock:
            if not self._is_loaded:
                self._backend.load()
                self._is_loaded = True
            if isinstance(self._backend, BatchModel):
                return self._backend.respond(requests)
        # In its own thread, because the caller may have a running event loop, as notebooks do.
        with ThreadPoolExecutor(1, thread_name_prefix="polymeter-ulm") as pool:
            return list(pool.map(partial(endpoint_response, self._backend), requests))


def sort_arguments(name: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Sort arguments of one of ULMEvalKit's constructors by their meaning for Polymeter.

    Args:
        name: The model's name in ``supported_ULM``.
        arguments: The arguments, under ULMEvalKit's or the backend's names.

    Returns:
        Files or an id in place of the model's own (empty: none), arguments of the backend, generation settings.
    """
    arguments = {key: value for key, value in arguments.items() if value is not None}
    if "model_path" in arguments:
        arguments.pop("model", None)
    renamed = {_OTHER_NAMES.get(key, key): value for key, value in arguments.items()}
    model_path = str(renamed.pop("model_path", ""))
    backend_names = backend_arguments(name)
    own = {key: value for key, value in renamed.items() if key in backend_names}
    llama = renamed.pop("llama_id", None)
    if llama is not None:
        own["parts"] = dict.fromkeys(ENTRIES[name].parts, llama)
    settings = {key: value for key, value in renamed.items() if key not in backend_names | _NO_SETTINGS}
    return model_path, own, settings


def endpoint_response(backend: AsyncModel, request: Request) -> Response:
    """The response of an endpoint; a request with a transient failure is repeated a few times."""
    import asyncio

    from polymeter.core.options import LONGEST_WAIT_S  # with pydantic, without which models are listed

    number = 0
    while True:
        number += 1
        try:
            response = asyncio.run(_respond(backend, request))
        except ModelError as error:
            response = Response.failed(error)
        if response.error is None or not response.error.retryable or number == _ATTEMPTS:
            return response
        sleep(min(response.error.retry_after_s or 2.0**number, LONGEST_WAIT_S))


async def _respond(backend: AsyncModel, request: Request) -> Response:
    try:
        return await backend.respond(request)
    finally:
        await backend.aclose()


supported_ULM = Zoo(NativeModel)
"""The process's table of model names. Users' files add to it, as they do to ULMEvalKit's."""
