"""Gemini models, through Google's own SDK.

The SDK finds the credentials (of the Gemini API or of Vertex AI), keeps the connections and knows the errors. Bodies
are written here, ahead of time and off the event loop, and travel in the SDK's ``extra_body``; answers are read as the
JSON they are. The SDK's typed contents would be encoded to base64 on the event loop at every try. Its retries are off:
without options of our own it silently waits and repeats after a broken connection.

Protocol: https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from polymeter.core.errors import DataError, ModelError, PlanError
from polymeter.core.model import ModelTraits
from polymeter.core.parts import Audio, Image, Part, Text, Video
from polymeter.core.request import Ask, Generate, Output, Request, Usage
from polymeter.models.endpoint.hosted import (
    HostedModel,
    body_of,
    key_from,
    need_package,
    turns_of,
    unknown_settings,
)
from polymeter.models.endpoint.media import Encoded, MediaEncoder

_TITLE = "Gemini"
_KEY_NAMES = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
_IMAGE_TYPES = ("image/jpeg", "image/png", "image/webp")
_MOST_STOPS = 5
_THINKING_ROOM = 8192
_MIB = 1 << 20
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
_FINISHES = {"STOP": "stop", "MAX_TOKENS": "length", "CONTINUATION": "length"}
_BROKEN = frozenset({"OTHER", "MALFORMED_RESPONSE", "FINISH_REASON_UNSPECIFIED"})
_REFUSED = frozenset(
    {
        "BLOCKLIST", "ESCALATION", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_SAFETY", "LANGUAGE",
        "MODEL_ARMOR", "PROHIBITED_CONTENT", "PUP_LIMITED_DISABLED", "RECITATION", "SAFETY", "SPII",
    }
)  # fmt: skip


class GeminiModel(HostedModel):
    """A Gemini model.

    ``n`` answers are ``n`` requests, each with its own seed.

    Args:
        name: The model's id.
        base_url: Another address, for proxies.
        api_key_env: The environment variable with the key; default: ``GOOGLE_API_KEY``, else ``GEMINI_API_KEY``.
        api_version: Version of the API; default: the SDK's.
        thinking: Tokens for thinking, 0 for none and -1 for as many as the model likes, or a level (``low``,
            ``high``); default: as the model does.
        reasoning_room: Tokens for thinking on top of the task's own limit, since the API counts both together;
            default: the tokens of ``thinking``, and 8192 when it names no number.
        safety: Threshold of all safety filters (``BLOCK_NONE``, ``OFF``, …); default: the API's.
        video: ``whole``: videos are sent as they are; ``frames``: as frames.
        num_frames: Frames of a video that is sent as frames; at most this many when ``fps`` is given.
        fps: Frames per second of a video, sampled by the API if it is sent whole; default: as the API does.
        max_image_side: Larger images and frames are scaled down to this many pixels on their longer side.
        max_request_mb: What one request may hold, in MiB; the API takes 20 with media inline.
        vertexai: Use Vertex AI with the credentials of Google Cloud in place of a key.
        project: Project of Google Cloud.
        location: Location of Google Cloud.
        extra_body: Further fields of the request's body.

    Raises:
        PlanError: A key or package is missing, or an argument is wrong.
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
    ) -> None:
        need_package("google.genai", "google-genai", "gemini")
        label = f"gemini:{name}"
        if video not in ("whole", "frames"):
            raise PlanError(f"video is 'whole' or 'frames', not {video!r}.", where=label)
        if (project or location) and not vertexai:
            raise PlanError("project and location belong to Vertex AI.", where=label, hint="Add vertexai=true.")
        key_names = () if vertexai else (api_key_env,) if api_key_env else _KEY_NAMES
        super().__init__(label, _TITLE, key_from(key_names, _TITLE)[1] if key_names else "", key_names)
        self._name = name
        self._address = {"base_url": base_url.rstrip("/") or None, "api_version": api_version or None}
        self._cloud = {"project": project or None, "location": location or None} if vertexai else {}
        self._thinking, room = _thinking(thinking)
        self._room = room if reasoning_room is None else reasoning_room
        self._safety = [{"category": harm, "threshold": safety} for harm in _HARMS] if safety else []
        self._sends_frames, self._fps = video == "frames", fps
        self._most_bytes = max_request_mb * _MIB
        self._extra_body = body_of(extra_body, label)
        self._encoder = MediaEncoder(
            max_side_px=max_image_side, image_types=_IMAGE_TYPES, num_frames=num_frames, fps=fps
        )
        self._identity: Mapping[str, Any] = {
            "backend": "gemini",
            "model": name,
            "api_version": api_version,
            "thinking": thinking,
            "reasoning_room": self._room,
            "safety": safety,
            "video": video,
            "num_frames": num_frames if self._sends_frames else None,
            "fps": fps,
            "max_image_side": max_image_side,
            "extra_body": self._extra_body,
        }
        self.traits = ModelTraits(
            family="gemini_api",
            asks={"generate": True, "loglikelihood": False, "generate_image": False},
            modalities={"text": True, "image": True, "audio": True, "video": True},
            is_endpoint=True,
        )

    @property
    def identity(self) -> Mapping[str, Any]:
        """The model's id and what is set for every request; neither the key nor the address."""
        return self._identity

    def ignores(self, ask: Ask) -> Mapping[str, str]:
        """Settings of other kinds of models."""
        if not isinstance(ask, Generate):
            return {}
        taken = [name for name in ask.extra if _camel(name) in _GENERATION | _TOP]
        return unknown_settings(ask.extra, taken, _TITLE)

    def load(self) -> None:
        """Import the SDK, which takes a while."""
        from google import genai  # noqa: F401

    def _bodies(self, request: Request, ask: Generate) -> Sequence[dict[str, Any]]:
        system, turns = turns_of(request.messages, title=_TITLE)
        extra = {_camel(name): value for name, value in ask.extra.items()}
        body: dict[str, Any] = {
            "contents": [
                {
                    "role": "model" if turn.role == "assistant" else "user",
                    "parts": [piece for part in turn.parts for piece in self._pieces(part)],
                }
                for turn in turns
            ]
        }
        self._check_size(body)
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        if self._safety:
            body["safetySettings"] = self._safety
        body |= {name: value for name, value in extra.items() if name in _TOP}
        settings = self._settings(ask) | {name: value for name, value in extra.items() if name in _GENERATION}
        further = {**self._extra_body, **ask.extra.get("extra_body", {})}
        seeds: Sequence[int | None] = (*ask.seeds[: ask.n], *[None] * (ask.n - len(ask.seeds)))
        return [
            {**body, "generationConfig": settings if seed is None else {**settings, "seed": seed}, **further}
            for seed in seeds
        ]

    def _settings(self, ask: Generate) -> dict[str, Any]:
        settings: dict[str, Any] = {}
        if ask.max_new_tokens is not None:
            settings["maxOutputTokens"] = ask.max_new_tokens + self._room
        if ask.temperature is not None:
            settings["temperature"] = ask.temperature
        if ask.top_p is not None:
            settings["topP"] = ask.top_p
        if ask.stop:
            settings["stopSequences"] = list(ask.stop[:_MOST_STOPS])  # more are refused; the engine applies all
        if self._thinking:
            settings["thinkingConfig"] = self._thinking
        return settings

    def _pieces(self, part: Part) -> list[dict[str, Any]]:
        if isinstance(part, Text):
            return [{"text": part.text}]
        if isinstance(part, Video) and self._sends_frames:
            return [_inline(frame) for frame in self._encoder.frames(part)]
        piece = _by_address(part) or _inline(self._encoded(part))
        if isinstance(part, Video):
            shown = {"startOffset": part.start_s, "endOffset": part.end_s}
            metadata: dict[str, Any] = {name: f"{time:g}s" for name, time in shown.items() if time is not None}
            if self._fps is not None:
                metadata["fps"] = self._fps
            if metadata:
                piece["videoMetadata"] = metadata
        return [piece]

    def _encoded(self, part: Image | Audio | Video) -> Encoded:
        if isinstance(part, Image):
            return self._encoder.image(part)
        return self._encoder.audio(part) if isinstance(part, Audio) else self._encoder.whole_video(part)

    def _check_size(self, body: Mapping[str, Any]) -> None:
        pieces = [piece for content in body["contents"] for piece in content["parts"]]
        size = sum(len(piece["inlineData"]["data"]) for piece in pieces if "inlineData" in piece)
        if size > self._most_bytes:
            raise DataError(
                f"The media of this request take {size / _MIB:.1f} MiB, and {_TITLE}'s API takes "
                f"{self._most_bytes / _MIB:g} in one request.",
                where=self._label,
                hint="Upload large files and name them by URL, send videos as frames (video=frames), or scale images "
                "down (max_image_side).",
            )

    def _greeting(self) -> dict[str, Any]:
        return {
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            "generationConfig": {"maxOutputTokens": 1},
        }

    def _open(self) -> Any:
        import aiohttp
        from google import genai

        # One attempt: without options the SDK waits some seconds and repeats by itself.
        options: dict[str, Any] = {**self._address, "retry_options": {"attempts": 1}}
        if self._cloud:
            return genai.Client(vertexai=True, **self._cloud, http_options=options), None
        # The SDK's own session is made in a way that aiohttp warns of.
        session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), trust_env=True)
        return genai.Client(
            vertexai=False, api_key=self._key, http_options=options | {"aiohttp_client": session}
        ), session

    async def _shut(self, client: Any) -> None:
        api, session = client
        await api.aio.aclose()
        api.close()
        if session is not None:
            await session.close()

    async def _send(self, client: Any, body: Mapping[str, Any]) -> str:
        config = {
            "http_options": {"extra_body": body},
            "should_return_http_response": True,
            "automatic_function_calling": {"disable": True},
        }
        with self._attributed():
            # The SDK wants contents; those of the body take their place.
            answer = await client[0].aio.models.generate_content(model=self._name, contents=" ", config=config)
        return answer.sdk_http_response.body or ""

    @contextmanager
    def _attributed(self) -> Iterator[None]:
        """The exceptions of the SDK, and of the connections that it leaves as they are, as ours."""
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
        except json.JSONDecodeError:  # the SDK reads error pages as JSON if they call themselves that
            raise self._silence("an error page that cannot be read", has_connected=True) from None

    async def _known(self, client: Any) -> list[str]:
        with self._attributed():
            return [
                model.name.rpartition("/")[2]
                async for model in await client[0].aio.models.list(config={"page_size": 1000})
                if model.name
            ]

    def _read(self, answer: Mapping[str, Any]) -> Output:
        blocked = (answer.get("promptFeedback") or {}).get("blockReason")
        if blocked:
            raise ModelError(f"The prompt was blocked: {blocked}", kind="refused", where=self._label)
        candidates = answer.get("candidates")
        if not isinstance(candidates, list) or not candidates:
            raise ModelError("The answer has no candidates.", kind="transient", where=self._label)
        candidate = candidates[0]
        reason = candidate.get("finishReason")
        why = candidate.get("finishMessage") or reason
        if reason in _REFUSED:
            raise ModelError(f"The answer was blocked: {why}", kind="refused", where=self._label)
        parts = (candidate.get("content") or {}).get("parts") or []
        text = "".join(part.get("text") or "" for part in parts if not part.get("thought"))
        if reason in _BROKEN and not text:
            raise ModelError(f"The model stopped without an answer: {why}", kind="transient", where=self._label)
        calls = tuple(
            {"id": call.get("id"), "name": call.get("name"), "arguments": call.get("args") or {}}
            for part in parts
            if (call := part.get("functionCall"))
        )
        finish = _FINISHES.get(str(reason), str(reason).lower() if reason else None)
        return Output(
            text=text,
            reasoning="".join(part.get("text") or "" for part in parts if part.get("thought")) or None,
            tool_calls=calls,
            finish_reason="tool_calls" if calls and finish == "stop" else finish,
            usage=_usage(answer.get("usageMetadata") or {}),
        )


def _thinking(wanted: int | str | None) -> tuple[dict[str, Any], int]:
    """The API's setting, and the tokens that it needs on top of the answer's."""
    if wanted is None or wanted == "":
        return {}, 0
    if wanted is True:
        wanted = -1
    if isinstance(wanted, str):
        return {"thinkingLevel": wanted.upper(), "includeThoughts": True}, _THINKING_ROOM
    if wanted == 0:
        return {"thinkingBudget": 0}, 0
    return {"thinkingBudget": wanted, "includeThoughts": True}, wanted if wanted > 0 else _THINKING_ROOM


def _inline(medium: Encoded) -> dict[str, Any]:
    mime = "audio/mp3" if medium.mime == "audio/mpeg" else medium.mime
    return {"inlineData": {"mimeType": mime, "data": medium.base64.decode("ascii")}}


def _by_address(part: Image | Audio | Video) -> dict[str, Any] | None:
    """A medium that the API fetches itself: a web address, an uploaded file, an object of Cloud Storage."""
    source = part.source if isinstance(part, Image) or isinstance(part.source, str) else part.origin()
    if not isinstance(source, str) or not source.startswith(("http://", "https://", "gs://")):
        return None
    from mimetypes import guess_type

    mime = guess_type(source.partition("?")[0])[0]
    return {"fileData": {"fileUri": source, **({"mimeType": mime} if mime else {})}}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _usage(told: Mapping[str, Any]) -> Usage:
    """Output tokens are those of the answer and of thinking, as other providers count them."""
    output, thoughts = told.get("candidatesTokenCount"), told.get("thoughtsTokenCount")
    is_told = output is not None or thoughts is not None
    total = (output or 0) + (thoughts or 0) if is_told else None
    return Usage(told.get("promptTokenCount"), total, thoughts, told.get("cachedContentTokenCount"))
