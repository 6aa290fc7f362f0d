"""Gemini models, and Imagen, through Google's own SDK.

The SDK finds the credentials (of the Gemini API or of Vertex AI), keeps the connections and classifies the errors.
Bodies are written here, ahead of time and off the event loop, and sent in the SDK's ``extra_body``; answers are read as
plain JSON. The SDK's typed contents would be encoded to base64 on the event loop at every attempt. Its retries are off:
by default it silently waits and repeats after a broken connection.

Protocol: https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from polymeter.core.acting.results import media_after
from polymeter.core.content import Media
from polymeter.core.errors import DataError, PlanError
from polymeter.core.media.shown_images import rate_identity
from polymeter.core.model import ModelTraits
from polymeter.core.request import Generate, GenerateImage, Loglikelihood, Output, Parameters, Request
from polymeter.models.endpoint.addresses import checked_address
from polymeter.models.endpoint.hosted import (
    NEUTRAL_HERE,
    HostedBody,
    HostedModel,
    body_of,
    key_from,
    need_package,
    turns_of,
    unknown_settings,
)
from polymeter.models.endpoint.http import MAX_ANSWER_MB, checked_size
from polymeter.models.endpoint.limits import limited_response
from polymeter.models.endpoint.media import MediaEncoder
from polymeter.models.gemini.images import (
    IMAGE_SETTINGS,
    IMAGEN_SETTINGS,
    MODALITIES,
    ask_imagen,
    ignored_size,
    image_config,
    imagen_call,
    kind_of,
    read_imagen,
)
from polymeter.models.gemini.wire import PartWriter, read_output

_TITLE = "Gemini"
_KEY_NAMES = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
_URL_NAMES = ("GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL")
_URLS = ("https://generativelanguage.googleapis.com", "https://aiplatform.googleapis.com")
_IMAGE_TYPES = ("image/jpeg", "image/png", "image/webp")
_MOST_STOPS = 5
_THINKING_ROOM = 8192
_MIB = 1 << 20
_FIRST_WITH_MEDIA = 3
_CHOICES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_HARMS = (
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
)
_GENERATION = frozenset(
    {
        "audioTimestamp", "enableEnhancedCivicAnswers", "frequencyPenalty", "imageConfig", "logprobs",
        "mediaResolution", "presencePenalty", "responseFormat", "responseJsonSchema", "responseLogprobs",
        "responseMimeType", "responseModalities", "responseSchema", "routingConfig", "speechConfig", "thinkingConfig",
        "topK",
    }
)  # fmt: skip
_TOP = frozenset({"cachedContent", "labels", "safetySettings", "serviceTier", "store", "toolConfig", "tools"})


class GeminiModel(HostedModel):
    """A Gemini model. One with ``image`` in its name makes images on request; ``imagen-…`` makes only images.

    Args:
        name: The model's id.
        base_url: Another base URL, for proxies.
        api_key_env: The environment variable with the key; default: ``GOOGLE_API_KEY``, else ``GEMINI_API_KEY``.
        api_version: Version of the API; default: the SDK's.
        thinking: Tokens for thinking, 0 for none and -1 for as many as the model likes, or a level (``low``,
            ``high``); default: the model's own.
        reasoning_room: Tokens for thinking in addition to the task's own limit, since the API counts both together;
            default: the tokens of ``thinking``, and 8192 if it names no number.
        safety: Threshold of all safety filters (``BLOCK_NONE``, ``OFF``, …); default: the API's.
        video: ``whole``: send videos unchanged; ``frames``: as frames.
        num_frames: Frames of a video that is sent as frames; at most this many when ``fps`` is given.
        fps: Frames per second of a video, sampled by the API if it is sent whole; default: as the API does.
        max_image_side: Larger images and frames are scaled down to this many pixels on their longer side.
        max_request_mb: Maximum size of a request in MiB; the API accepts 20 with media inline.
        vertexai: Use Vertex AI with the credentials of Google Cloud instead of a key.
        project: Project of Google Cloud.
        location: Location of Google Cloud.
        extra_body: Further fields of the request's body.
        max_answer_mb: Maximum size of an answer in MiB, after decompression; a larger one is an error.

    Raises:
        PlanError: if a key or package is missing, or an argument is wrong.
    """

    def __init__(  # noqa: PLR0913, PLR0917 (what --model-args may set)
        self,
        name: str,
        base_url: str = "",
        api_key_env: str = "",
        api_version: str = "",
        thinking: int | str | None = None,
        reasoning_room: int | None = None,
        safety: str = "",
        video: str = "whole",
        num_frames: int = 8,
        fps: float | None = None,
        max_image_side: int | None = None,
        max_request_mb: float = 20,
        vertexai: bool = False,
        project: str = "",
        location: str = "",
        extra_body: Mapping[str, Any] | None = None,
        max_answer_mb: float = MAX_ANSWER_MB,
    ) -> None:
        need_package("google.genai", "google-genai", "gemini")
        label = f"gemini:{name}"
        if video not in ("whole", "frames"):
            raise PlanError(f"video must be 'whole' or 'frames', not {video!r}.", where=label)
        if (project or location) and not vertexai:
            raise PlanError("project and location belong to Vertex AI.", where=label, hint="Add vertexai=true.")
        key_names = () if vertexai else (api_key_env,) if api_key_env else _KEY_NAMES
        key = key_from(key_names, _TITLE)[1] if key_names else ""
        super().__init__(label, _TITLE, key, key_names, body_of(extra_body, label))
        self._name = name
        self._kind = kind_of(name)
        if self._kind == "imagen" and not vertexai:
            raise PlanError("Only Vertex AI serves Imagen.", where=label, hint="Add vertexai=true and project=….")
        self.address = base_url or os.environ.get(_URL_NAMES[vertexai]) or _URLS[vertexai]
        checked_address(self.address, "base_url")
        self._address = {"base_url": base_url.rstrip("/") or None, "api_version": api_version or None}
        self._cloud = {"project": project or None, "location": location or None} if vertexai else {}
        self._thinking, room = _thinking(thinking)
        self._room = room if reasoning_room is None else reasoning_room
        self._safety = [{"category": harm, "threshold": safety} for harm in _HARMS] if safety else []
        self._most_bytes = max_request_mb * _MIB
        self._max_answer_mb = checked_size(max_answer_mb)
        encoder = MediaEncoder(max_side_px=max_image_side, image_types=_IMAGE_TYPES, num_frames=num_frames, fps=fps)
        sends_frames = video == "frames"
        self._writer = PartWriter(encoder, sends_frames=sends_frames, fps=fps)
        self._identity: Mapping[str, Any] = {
            "backend": "gemini",
            "model": name,
            "api_version": api_version,
            "thinking": thinking,
            "reasoning_room": self._room,
            "safety": safety,
            "video": video,
            "num_frames": num_frames if sends_frames else None,
            "fps": rate_identity(fps) if sends_frames else fps,
            "max_image_side": max_image_side,
            "extra_body": self._extra_body,
        }
        sees = self._kind != "imagen"
        self.traits = ModelTraits(
            family="gemini_api",
            requests={"generate": sees, "loglikelihood": False, "generate_image": self._kind != "text"},
            modalities={"text": True, "image": sees, "audio": sees, "video": sees},
            is_endpoint=True,
            whole_videos=sees and not sends_frames,
            calls_tools=self._kind != "imagen",
            tool_media="inline" if _shows_in_results(name) else "after",
        )

    @property
    def identity(self) -> Mapping[str, Any]:
        """The model's id and the settings of every request; neither the key nor the address."""
        return self._identity

    def ignores(self, parameters: Parameters) -> Mapping[str, str]:
        """Settings that only other models have."""
        if isinstance(parameters, Loglikelihood):
            return {}
        known = _GENERATION | _TOP
        taken = [name for name in parameters.extra if _camel(name) in known]
        if isinstance(parameters, GenerateImage):
            taken = list(IMAGEN_SETTINGS) if self._kind == "imagen" else [*taken, *IMAGE_SETTINGS]
            return unknown_settings(parameters.extra, taken, _TITLE) | ignored_size(parameters, self._kind)
        return unknown_settings(parameters.extra, taken, _TITLE)

    def known_settings(self) -> frozenset[str]:
        """The API's names in both spellings, and those of other models that have a neutral value here."""
        own = _GENERATION | _TOP
        return frozenset({*own, *map(_snake, own), *IMAGE_SETTINGS, *IMAGEN_SETTINGS, *NEUTRAL_HERE})

    def decodes(self, medium: Media) -> bool:
        """Media that are not sent unchanged."""
        return self._writer.decodes(medium)

    def load(self) -> None:
        """Import the SDK, which takes a while."""
        from google import genai  # noqa: F401

    def _body(self, request: Request, parameters: Generate) -> dict[str, Any]:
        return self._written(request, parameters, self._settings(parameters))

    def _image_body(self, request: Request, parameters: GenerateImage) -> Any:
        if self._kind == "text":
            return super()._image_body(request, parameters)
        if self._kind == "imagen":
            return imagen_call(request, parameters, where=self._label)
        config = image_config(parameters)
        settings = {"responseModalities": list(MODALITIES), **({"imageConfig": config} if config else {})}
        return self._written(request, parameters, settings)

    def _written(
        self, request: Request, parameters: Generate | GenerateImage, settings: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The body of a request."""
        is_inline = self.traits.tool_media == "inline"
        system, turns = turns_of(request.messages if is_inline else media_after(request.messages), title=_TITLE)
        extra = {_camel(name): value for name, value in parameters.extra.items()}
        body: dict[str, Any] = {"contents": self._writer.contents(turns)}
        self._check_size(body)
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        if self._safety:
            body["safetySettings"] = self._safety
        body |= _tools(parameters) if isinstance(parameters, Generate) else {}
        body |= {name: value for name, value in extra.items() if name in _TOP and name not in body}
        settings = {**settings, **{name: value for name, value in extra.items() if name in _GENERATION}}
        if parameters.seed is not None:
            settings["seed"] = parameters.seed
        further = {**self._extra_body, **parameters.extra.get("extra_body", {})}
        return {**body, "generationConfig": settings, **further}

    def token_limit(self, parameters: Generate) -> int | None:
        """The task's limit with the room for thinking; that of ``extra_body`` replaces it."""
        further = {**self._extra_body, **(parameters.extra.get("extra_body") or {})}
        if "generationConfig" in further:
            limit = (further["generationConfig"] or {}).get("maxOutputTokens")
            return limit if isinstance(limit, int) else None
        return None if parameters.max_new_tokens is None else parameters.max_new_tokens + self._room

    def _settings(self, parameters: Generate) -> dict[str, Any]:
        settings: dict[str, Any] = {}
        if parameters.max_new_tokens is not None:
            settings["maxOutputTokens"] = parameters.max_new_tokens + self._room
        if parameters.temperature is not None:
            settings["temperature"] = parameters.temperature
        if parameters.top_p is not None:
            settings["topP"] = parameters.top_p
        if parameters.stop:
            settings["stopSequences"] = list(
                parameters.stop[:_MOST_STOPS]
            )  # the API rejects more; the engine applies all
        if self._thinking:
            settings["thinkingConfig"] = self._thinking
        return settings

    def _check_size(self, body: Mapping[str, Any]) -> None:
        pieces = [piece for content in body["contents"] for piece in content["parts"]]
        pieces += [piece for each in pieces for piece in each.get("functionResponse", {}).get("parts", ())]
        size = sum(len(piece["inlineData"]["data"]) for piece in pieces if "inlineData" in piece)
        if size > self._most_bytes:
            raise DataError(
                f"The media of this request need {size / _MIB:.1f} MiB. {_TITLE}'s API accepts "
                f"{self._most_bytes / _MIB:g} MiB in one request.",
                where=self._label,
                hint="Upload large files and name them by URL, send videos as frames (video=frames), or scale images "
                "down (max_image_side).",
            )

    def _greeting(self) -> dict[str, Any]:
        return {
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            "generationConfig": {"maxOutputTokens": 1},
        }

    async def probe(self) -> bool:
        """Request one token, or look up a model that makes images."""
        return await super().probe() and self._kind == "text"

    async def _hello(self, client: Any) -> str:
        """Request one token. A model that makes images is only looked up, because images cost money."""
        if self._kind == "text":
            return await super()._hello(client)
        with self._attributed():
            await client[0].aio.models.get(model=self._name)
        return "{}"

    async def _reply(self, client: Any, prepared: HostedBody) -> Output:
        if self._kind != "imagen":
            return await super()._reply(client, prepared)
        with self._attributed():
            answer = await ask_imagen(client[0].aio.models, self._name, prepared.body)
        return await read_imagen(answer, where=self._label)

    def _open(self) -> Any:
        import aiohttp
        from google import genai

        # One attempt: by default the SDK waits some seconds and retries.
        options: dict[str, Any] = {**self._address, "retry_options": {"attempts": 1}}
        # The SDK's own sessions read answers of any size, and aiohttp warns about the way in which it makes them.
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            trust_env=True,
            response_class=limited_response(self._max_answer_mb, where=self._label),
        )
        access = {"vertexai": True, **self._cloud} if self._cloud else {"vertexai": False, "api_key": self._key}
        return genai.Client(**access, http_options=options | {"aiohttp_client": session}), session

    async def _shut(self, client: Any) -> None:
        api, session = client
        await api.aio.aclose()
        api.close()
        await session.close()

    async def _send(self, client: Any, body: Mapping[str, Any]) -> str:
        config = {
            "http_options": {"extra_body": body},
            "should_return_http_response": True,
            "automatic_function_calling": {"disable": True},
        }
        with self._attributed():
            # The SDK requires contents; those of the body replace them.
            answer = await client[0].aio.models.generate_content(model=self._name, contents=" ", config=config)
        return answer.sdk_http_response.body or ""

    @contextmanager
    def _attributed(self) -> Iterator[None]:
        """Turn the exceptions of the SDK and of its connections into Polymeter's."""
        import aiohttp
        from google.genai import errors

        try:
            yield
        except errors.APIError as error:
            headers = getattr(error.response, "headers", None) or {}
            raise self._error(error.code or 0, dict(headers), json.dumps(error.details, default=str)) from None
        except (aiohttp.ClientError, OSError) as error:
            has_connected = not isinstance(error, aiohttp.ClientConnectorError)
            raise self._silence(error, has_connected=has_connected) from None
        except json.JSONDecodeError:  # the SDK parses an error page as JSON if its content type says so
            raise self._silence("an error page that cannot be read", has_connected=True) from None

    async def _known(self, client: Any) -> list[str]:
        with self._attributed():
            return [
                model.name.rpartition("/")[2]
                async for model in await client[0].aio.models.list(config={"page_size": 1000})
                if model.name
            ]

    def _read(self, answer: Mapping[str, Any], *, offers_tools: bool) -> Output:
        return read_output(answer, where=self._label, offers_tools=offers_tools)


def _shows_in_results(name: str) -> bool:
    """Return whether a model is shown media inside of a tool's result. The API knows that since Gemini 3."""
    generation = re.search(r"gemini-(\d+)", name)
    return generation is not None and int(generation[1]) >= _FIRST_WITH_MEDIA


def _tools(parameters: Generate) -> dict[str, Any]:
    """The tools and the choice in the API's form."""
    if not parameters.tools:
        return {}
    declared = [
        {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema}
        for tool in parameters.tools
    ]
    choice = parameters.tool_choice
    named = {"mode": _CHOICES[choice]} if choice in _CHOICES else {"mode": "ANY", "allowedFunctionNames": [choice]}
    return {"tools": [{"functionDeclarations": declared}], "toolConfig": {"functionCallingConfig": named}}


def _thinking(wanted: int | str | None) -> tuple[dict[str, Any], int]:
    """The API's setting, and the tokens that it needs in addition to the answer's."""
    if wanted is None or wanted == "":
        return {}, 0
    if wanted is True:
        wanted = -1
    if isinstance(wanted, str):
        return {"thinkingLevel": wanted.upper(), "includeThoughts": True}, _THINKING_ROOM
    if wanted == 0:
        return {"thinkingBudget": 0}, 0
    return {"thinkingBudget": wanted, "includeThoughts": True}, wanted if wanted > 0 else _THINKING_ROOM


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
