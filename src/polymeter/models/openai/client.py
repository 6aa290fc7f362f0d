"""One request and its answer: writes the body, sends it, and distinguishes answers from failures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polymeter.core.errors import ModelError
from polymeter.models.endpoint.errors import EndpointError, error_of
from polymeter.models.endpoint.http import JSON, MAX_ANSWER_MB, Connections, File, HttpAnswer, form
from polymeter.models.endpoint.stated import StatedModels
from polymeter.models.openai.address import Address
from polymeter.models.openai.content import dumps
from polymeter.models.openai.quirks import Quirks, hinted
from polymeter.models.openai.settings import OpenAISettings

_MAX_TRIES = 5


WriteBody = Callable[[Mapping[str, Any]], tuple[Sequence[bytes], str]]
"""A function from settings in the server's form to a body, in pieces, and its content type."""


class PageError(ModelError):
    """The server answered with a web page instead of JSON."""


class Client:
    """Sends requests for one model to one endpoint.

    Args:
        address: Where it is.
        settings: The model's name, and what every body holds.
        quirks: What the server turned out not to accept.
        max_answer_mb: Maximum size of an answer in MiB.
    """

    def __init__(
        self, address: Address, settings: OpenAISettings, quirks: Quirks, max_answer_mb: float = MAX_ANSWER_MB
    ) -> None:
        self.address = address
        self.quirks = quirks
        self.stated = StatedModels(settings.name)
        self._settings = settings
        self._connections = Connections(
            address.base_url, address.headers, where=address.where, max_answer_mb=max_answer_mb
        )

    async def chat(self, messages: bytes, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Request the next message.

        Args:
            messages: A JSON list.
            settings: The rest of the body.

        Raises:
            ModelError: if there is no answer.
        """
        return await self._ask(self.address.chat_url, _json(b',"messages":', messages), settings)

    async def response(self, items: bytes, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Request the next items of a conversation, by OpenAI's API of responses.

        Args:
            items: A JSON list.
            settings: The rest of the body.

        Raises:
            ModelError: if there is no answer.
        """
        return await self._ask(self.address.responses_url, _json(b',"input":', items), settings)

    async def completion(self, prompt: bytes, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Request the continuation of a text.

        Args:
            prompt: A JSON text.
            settings: The rest of the body.

        Raises:
            ModelError: if there is no answer.
        """
        return await self._ask(self.address.completions_url, _json(b',"prompt":', prompt), settings)

    async def generation(self, prompt: bytes, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Request images.

        Args:
            prompt: A JSON text.
            settings: The rest of the body.

        Raises:
            ModelError: if there is no answer.
        """
        return await self._ask(self.address.generations_url, _json(b',"prompt":', prompt), settings)

    async def edit(self, prompt: str, files: Sequence[File], settings: Mapping[str, Any]) -> dict[str, Any]:
        """Request edits of images.

        Args:
            prompt: The prompt.
            files: The images.
            settings: The rest of the form.

        Raises:
            ModelError: if there is no answer.
        """
        return await self._ask(self.address.edits_url, lambda sent: _form({**sent, "prompt": prompt}, files), settings)

    async def fetch(self, url: str, *, is_named_by_data: bool = False) -> bytes:
        """Fetch a file that the endpoint, or a dataset, names by a URL.

        Raises:
            ModelError: if it cannot be fetched.
        """
        return await self._connections.fetch(url, is_named_by_data=is_named_by_data)

    async def model_names(self) -> list[str]:
        """The models that the endpoint lists.

        Raises:
            ModelError: if it lists none.
        """
        listed = self._read(await self._connections.get(self.address.models_url)).get("data")
        models = listed if isinstance(listed, list) else []
        return [str(model["id"]) for model in models if isinstance(model, dict) and "id" in model]

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        await self._connections.aclose()

    async def _ask(self, url: str, write: WriteBody, settings: Mapping[str, Any]) -> dict[str, Any]:
        for tries_left in reversed(range(_MAX_TRIES)):
            sent = {"model": self._settings.name, **self.quirks.put(settings), **self._settings.extra_body}
            body, kind = write(sent)
            try:
                answer = self._read(await self._connections.post(url, body, kind=kind))
                self.stated.note(answer)
                return answer
            except EndpointError as error:
                if not tries_left or not self.quirks.learn(error, sent):
                    raise hinted(error) from None
        raise AssertionError("the last try returns or raises")

    def _read(self, answer: HttpAnswer) -> dict[str, Any]:
        where = self.address.where
        if answer.status >= 400:
            raise self._error(answer)
        if answer.status >= 300:
            raise EndpointError(
                f"The endpoint has moved to {answer.headers.get('Location', 'another place')!r}.",
                status=answer.status,
                where=where,
                hint="Set that address with --base-url.",
                scope="unclear",
            )
        try:
            value = json.loads(answer.body)
        except (ValueError, RecursionError):  # RecursionError: nested without end
            kind = answer.headers.get("Content-Type", "no type")
            if answer.body.lstrip()[:1] == b"<":
                what = f"The endpoint answered with a page ({kind}) and not with JSON."
                raise PageError(what, kind="transient", where=where) from None
            what = f"The endpoint's answer is broken JSON ({len(answer.body)} bytes of {kind})."
            raise ModelError(what, kind="transient", where=where) from None
        if not isinstance(value, dict) or value.get("error") or value.get("object") == "error":
            raise self._error(answer)
        return value

    def _error(self, answer: HttpAnswer) -> EndpointError:
        address = self.address
        return error_of(answer.status, answer.headers, answer.text, where=address.where, secrets=address.secrets)


def _json(key: bytes, content: bytes) -> WriteBody:
    """Append content that already is JSON to the settings, without parsing or copying it."""
    return lambda sent: ((dumps(sent)[:-1], key, content, b"}"), JSON)


def _form(fields: Mapping[str, Any], files: Sequence[File]) -> tuple[Sequence[bytes], str]:
    body, kind = form(fields, files)
    return (body,), kind
