"""Code that the backends of hosted models share: keys, turns, one HTTP request per answer, and the preflight request.
The backends themselves write requests and read answers.
"""

from __future__ import annotations

import asyncio
import json
import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, Literal

from polymeter.core.content import Part, Text
from polymeter.core.errors import ModelError, PlanError, did_you_mean
from polymeter.core.model import AsyncModel
from polymeter.core.names.registry import missing_package
from polymeter.core.request import Generate, GenerateImage, Message, Output, Request, Response
from polymeter.core.text.secrets import hide_secrets, remember_values
from polymeter.models.endpoint.addresses import check_line
from polymeter.models.endpoint.errors import EndpointError, error_of
from polymeter.models.endpoint.http import UnreachedError
from polymeter.models.endpoint.shapes import offers_tools
from polymeter.models.endpoint.stated import StatedModels, is_pinned
from polymeter.models.video_parts import ALL_WAYS

_MAX_NAMES = 8
_SHOWN = 120
_LARGE = 1 << 18
"""An answer of at least this many characters holds images and is read on a thread."""
_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "num_beams": (1,),
    "num_beam_groups": (1,),
    "num_return_sequences": (1,),
    "repetition_penalty": (1,),
    "length_penalty": (1,),
    "no_repeat_ngram_size": (0,),
    "min_new_tokens": (0,),
    "early_stopping": (False,),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
}
_HANDLED_ELSEWHERE = ("do_sample", "use_cache", "pad_token_id", "eos_token_id", "extra_body")
NEUTRAL_HERE = frozenset({*_NEUTRAL, *_HANDLED_ELSEWHERE})
"""Settings of other models that an API has no name for. They mean nothing with their neutral value."""


@dataclass(frozen=True, slots=True)
class HostedTurn:
    """The consecutive messages of one role as one; no text in it is empty. A message of the assistant with calls, or a
    tool's result, which these APIs show as a part of the user's turn, stands among the parts whole.
    """

    role: Literal["user", "assistant"]
    parts: tuple[Part | Message, ...]


@dataclass(frozen=True, slots=True)
class HostedBody:
    """The body sent for a request, and whether it offers tools to the model, so that the answer may be calls only."""

    body: Any
    offers_tools: bool = False


class HostedModel(AsyncModel):
    """A model behind its provider's SDK.

    Args:
        label: Backend and model, for messages.
        title: The provider's name, for messages.
        key: The secret; never shown.
        key_names: The environment variables that hold it.
        extra_body: Further fields of the body of every request.
    """

    def __init__(
        self, label: str, title: str, key: str, key_names: Sequence[str], extra_body: Mapping[str, Any]
    ) -> None:
        self._label = label
        self._title = title
        self._extra_body = extra_body
        self._key = key
        self._key_names = key_names
        self._stated = StatedModels(label.partition(":")[2])
        self._client: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def shows_subtitles(self) -> frozenset[str]:
        """Every way: a video whose subtitles depend on its frames is sent as frames."""
        return ALL_WAYS

    @property
    def reads_rows(self) -> bool:
        """False: a request holds everything."""
        return False

    @property
    def may_move(self) -> bool:
        """True unless the name names one version."""
        return not is_pinned(self._label)

    @property
    def served(self) -> str:
        """The one statement of the provider; empty if there is none, or several."""
        found = self._stated.found
        return next(iter(found)) if len(found) == 1 else ""

    async def respond(self, request: Request) -> Response:
        """Encode the media on another thread, and send the request."""
        return await self.respond_prepared(request, await asyncio.to_thread(self.prepare, request))

    def prepare(self, request: Request) -> HostedBody:
        """Encode media and write the body.

        Raises:
            PolymeterError: if the request can never be sent.
        """
        parameters = request.parameters
        if isinstance(parameters, Generate):
            has_tools = bool(parameters.tools) or offers_tools(parameters.extra, self._extra_body)
            return HostedBody(self._body(request, parameters), has_tools)
        if isinstance(parameters, GenerateImage):
            return HostedBody(self._image_body(request, parameters))
        raise ModelError(f"{self._title} returns text only, not {parameters.kind}.", where=self._label)

    async def respond_prepared(self, request: Request, prepared: Any) -> Response:
        """Send a request that ``prepare`` has written.

        Raises:
            ModelError: if there is no answer.
        """
        if not isinstance(prepared, HostedBody):
            return await self.respond(request)
        return Response((await self._answer(prepared),))

    async def preflight(self) -> None:
        """Request one token, which shows whether the provider responds, accepts the key and knows the model.

        Raises:
            PlanError: if the provider cannot be reached, rejects the key or does not know the model. A provider that is
                merely busy is not an error.
        """
        client = self._open()
        try:
            await self._greet(client)
        finally:
            await self._shut(client)

    @property
    def place(self) -> str:
        """The names of the provider and the model."""
        return self._label

    async def probe(self) -> bool:
        """Ask for one token.

        Raises:
            ModelError: if there is no answer.
        """
        self._parsed(await self._hello(self._client_here()))
        return True

    async def aclose(self) -> None:
        """Close the client if this is its event loop."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await self._shut(client)

    @abstractmethod
    def _body(self, request: Request, parameters: Generate) -> Any:
        """The body of a request for text."""

    def _image_body(self, request: Request, parameters: GenerateImage) -> Any:
        """The body of a request for an image.

        Raises:
            ModelError: if the model makes no images.
        """
        raise ModelError(f"{self._title} returns text only, not {parameters.kind}.", where=self._label)

    @abstractmethod
    def _greeting(self) -> Any:
        """The body of a request for one token."""

    @abstractmethod
    def _open(self) -> Any:
        """A client of the SDK without retries and without a deadline."""

    @abstractmethod
    async def _shut(self, client: Any) -> None:
        """Close a client."""

    @abstractmethod
    async def _send(self, client: Any, body: Any) -> str:
        """The text of the provider's answer.

        Raises:
            EndpointError: if it is an error.
            UnreachedError: if no answer came, or only a part of one.
        """

    @abstractmethod
    def _read(self, answer: Mapping[str, Any], *, offers_tools: bool) -> Output:
        """Return the output in an answer.

        Raises:
            ModelError: if there is none: the answer is a refusal, incomplete, or not in the API's form.
        """

    @abstractmethod
    async def _known(self, client: Any) -> list[str]:
        """The names of the provider's models.

        Raises:
            ModelError: if there is no answer; see ``_send``.
        """

    def _learns(self, error: EndpointError) -> bool:
        """Return whether a failed preflight showed the backend a setting that it must not send."""
        return False

    def _error(self, status: int, headers: Mapping[str, str], body: str) -> EndpointError:
        return error_of(status, headers, body, where=self._label, secrets=(self._key,))

    def _silence(self, what: object, *, has_connected: bool) -> UnreachedError:
        text = hide_secrets(" ".join(str(what).split())) or type(what).__name__
        return UnreachedError(f"The request failed in transit: {text}.", where=self._label, has_connected=has_connected)

    async def _answer(self, prepared: HostedBody) -> Output:
        return await self._reply(self._client_here(), prepared)

    def _client_here(self) -> Any:
        """The client of this event loop."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._client = self._open()
            self._loop = loop
        return self._client

    async def _reply(self, client: Any, prepared: HostedBody) -> Output:
        text = await self._send(client, prepared.body)
        if len(text) < _LARGE:
            return self._read(self._parsed(text), offers_tools=prepared.offers_tools)
        return await asyncio.to_thread(lambda: self._read(self._parsed(text), offers_tools=prepared.offers_tools))

    async def _hello(self, client: Any) -> str:
        """Request one token and return the text of the answer."""
        return await self._send(client, self._greeting())

    def _parsed(self, text: str) -> Mapping[str, Any]:
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):  # RecursionError: nested without end
            answer = None
        if not isinstance(answer, dict):
            shown = " ".join(text.split())[:_SHOWN]
            raise ModelError(f"The answer is not a JSON object: {shown!r}", kind="transient", where=self._label)
        if answer.get("error"):
            raise self._error(200, {}, text)
        self._stated.note(answer)
        return answer

    async def _greet(self, client: Any) -> None:
        try:
            await self._hello(client)
        except UnreachedError as silence:
            if not silence.has_connected:
                hint = "Check the network and base_url."
                raise PlanError(
                    f"{self._title} cannot be reached: {silence.what}", where=self._label, hint=hint
                ) from None
        except EndpointError as error:
            if error.kind == "permanent" and not self._learns(error):
                advice = await self._advice(client, error)
                raise PlanError(error.what, where=self._label, hint=advice or error.hint) from None

    async def _advice(self, client: Any, error: EndpointError) -> str:
        if self._key_names and (error.status in (401, 403) or "api key" in error.what.lower()):
            return f"Check the key in {' or '.join(self._key_names)}."
        if error.status != 404:
            return ""
        try:
            names = sorted(await self._known(client))
        except ModelError:
            return ""
        name = self._label.partition(":")[2]
        return did_you_mean(name, names) or (f"Known: {', '.join(names[:_MAX_NAMES])}." if names else "")


def need_package(module: str, package: str, backend: str) -> None:
    """Check that an SDK is installed, without importing it, which takes a second.

    Raises:
        PlanError: if it is not installed.
    """
    try:
        is_there = find_spec(module) is not None
    except ModuleNotFoundError:  # a namespace package above it is missing
        is_there = False
    if not is_there:
        raise missing_package(package, f"model {backend!r}", backend)


def key_from(names: Sequence[str], title: str) -> tuple[str, str]:
    """The first of these environment variables that is set, and the key in it.

    Raises:
        PlanError: if none is set, or the key has a line break.
    """
    for name in names:
        key = os.environ.get(name, "").strip()
        if key:
            remember_values([key])
            check_line(key, "The key", name)
            return name, key
    raise PlanError(
        f"{title} needs a key, and the environment variable {' or '.join(names)} is not set.",
        hint=f"Set it: export {names[0]}=…",
    )


def turns_of(messages: Iterable[Message], *, title: str) -> tuple[str, list[HostedTurn]]:
    """The text of the system messages, and turns whose roles alternate.

    Neighbouring texts of a message are joined, and so are consecutive messages of one role. Empty ones are left out.

    Raises:
        ModelError: if a system message holds media, or all messages are empty.
    """
    system: list[str] = []
    turns: list[HostedTurn] = []
    for message in messages:
        parts = _texts_joined(message.parts)
        if message.role == "system":
            if not all(isinstance(part, Text) for part in parts):
                raise ModelError(f"{title} accepts no media in a system message.")
            system += [message.text] if message.text else []
            continue
        role: Literal["user", "assistant"] = "assistant" if message.role == "assistant" else "user"
        if message.calls or message.role == "tool":
            added: tuple[Part | Message, ...] = (replace(message, parts=parts),)
        else:
            added = parts
        if added and turns and turns[-1].role == role:
            turns[-1] = HostedTurn(role, (*turns[-1].parts, *added))
        elif added:
            turns.append(HostedTurn(role, added))
    if not turns:
        raise ModelError("There is nothing to send: all messages are empty.")
    return "\n\n".join(system), turns


def unknown_settings(extra: Mapping[str, Any], taken: Iterable[str], title: str) -> dict[str, str]:
    """The settings that an API does not have, each with the reason; those with a neutral value are left out."""
    reason = f"{title}'s API has no such setting; extra_body sends settings that Polymeter does not know"
    known = {*taken, *_HANDLED_ELSEWHERE}
    return {name: reason for name, value in extra.items() if name not in known and value not in _NEUTRAL.get(name, ())}


def body_of(value: Any, where: str) -> dict[str, Any]:
    """Further fields of a request's body.

    Raises:
        PlanError: if they are not a mapping.
    """
    if value is None or isinstance(value, Mapping):
        return dict(value or {})
    raise PlanError(f"extra_body must be a mapping, not {value!r}.", where=where, hint='Write extra_body={"name":1}.')


def _texts_joined(parts: Iterable[Part]) -> tuple[Part, ...]:
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, Text) and joined and isinstance(joined[-1], Text):
            joined[-1] = Text(joined[-1].text + part.text)
        elif not isinstance(part, Text) or part.text:
            joined.append(part)
    return tuple(joined)
