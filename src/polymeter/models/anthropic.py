"""Claude models, through Anthropic's own SDK.

The SDK finds the credentials, keeps the connections and classifies the errors. Bodies are written here, ahead of time
and off the event loop, and answers are read as plain JSON. The SDK's typed calls would write the body, images included,
on the event loop at every attempt, and since SDK 1.0 they have no ``temperature``. For the same reason the version of
the API is set here and not by the SDK: from version 2026-10-21 on the API rejects temperature, top_p and top_k for
every model, while the version before it rejects them only for models without such settings.

Protocol: https://docs.anthropic.com/en/api/messages, https://docs.anthropic.com/en/api/versioning
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from polymeter.core.acting.tools import read_call
from polymeter.core.content import Audio, Image, Media, Part, Text, Video
from polymeter.core.errors import ModelError, PlanError
from polymeter.core.media.shown_images import rate_identity
from polymeter.core.model import ModelTraits
from polymeter.core.records.truncation import PROMPT
from polymeter.core.request import Generate, Message, Output, Parameters, Request, Usage
from polymeter.models.endpoint.addresses import checked_address
from polymeter.models.endpoint.errors import EndpointError
from polymeter.models.endpoint.hosted import (
    NEUTRAL_HERE,
    HostedModel,
    HostedTurn,
    body_of,
    key_from,
    need_package,
    turns_of,
    unknown_settings,
)
from polymeter.models.endpoint.http import MAX_ANSWER_MB, checked_size
from polymeter.models.endpoint.limits import limited_client
from polymeter.models.endpoint.media import Encoded, MediaEncoder, fetched_there
from polymeter.models.endpoint.shapes import count, incomplete, kind_of, malformed, only_calls

_TITLE = "Anthropic"
_PATH = "/v1/messages"
_TOKEN_NAME = "ANTHROPIC_AUTH_TOKEN"
_CONNECT_S = 10.0
_LEAST_BUDGET = 1024
_ADAPTIVE_ROOM = 8192
_SAMPLING = ("temperature", "top_p", "top_k")
_TAKEN = frozenset(
    {
        "cache_control", "container", "context_management", "mcp_servers", "metadata", "output_config", "output_format",
        "service_tier", "speed", "thinking", "tool_choice", "tools",
    }
)  # fmt: skip
_SILENT_BLOCKS = frozenset({"text", "thinking", "redacted_thinking"})
_BLOCKS = "content"
"""The name, in what is carried with a turn, of the answer's blocks."""
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}
_FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
}


class AnthropicModel(HostedModel):
    """A Claude model.

    The API takes no seeds.

    Args:
        name: The model's id.
        base_url: Another base URL, for proxies.
        api_key_env: The environment variable with the key; ``ANTHROPIC_AUTH_TOKEN`` is read as well.
        max_tokens: Limit of an answer whose task sets none; the API requires one.
        thinking: Tokens for reasoning (1024 or more), ``adaptive``, or ``disabled``; default: the model's own.
        reasoning_room: Tokens for reasoning in addition to the task's own limit, since the API counts both together;
            default: the tokens of ``thinking``, and 8192 if adaptive.
        effort: How much the model thinks and writes: ``low``, ``medium``, ``high``, …
        sampling: Whether temperature, top_p and top_k are sent. Models since Opus 4.7 reject them. Default: one request
            before the run finds out.
        video: ``frames``: send videos as frames; default: refuse them.
        num_frames: Frames of a video; at most this many when ``fps`` is given.
        fps: Frames per second of a video.
        max_image_side: Larger images and frames are scaled down to this many pixels on their longer side.
        betas: Beta features, separated by commas.
        api_version: Version of the API.
        extra_body: Further fields of the request's body.
        max_answer_mb: Maximum size of an answer in MiB, after decompression; a larger one is an error.

    Raises:
        PlanError: if a key or package is missing, or an argument is wrong.
    """

    def __init__(  # noqa: PLR0913, PLR0917 (what --model-args may set)
        self,
        name: str,
        base_url: str = "",
        api_key_env: str = "ANTHROPIC_API_KEY",
        max_tokens: int = 4096,
        thinking: int | str | None = None,
        reasoning_room: int | None = None,
        effort: str = "",
        sampling: bool | None = None,
        video: str = "",
        num_frames: int = 8,
        fps: float | None = None,
        max_image_side: int | None = None,
        betas: str = "",
        api_version: str = "2023-06-01",
        extra_body: Mapping[str, Any] | None = None,
        max_answer_mb: float = MAX_ANSWER_MB,
    ) -> None:
        need_package("anthropic", "anthropic", "anthropic")
        label = f"anthropic:{name}"
        if video not in ("", "frames"):
            raise PlanError(f"video must be 'frames' or empty, not {video!r}.", where=label)
        key_names = tuple(dict.fromkeys((api_key_env, _TOKEN_NAME)))
        self._key_name, key = key_from(key_names, _TITLE)
        super().__init__(label, _TITLE, key, key_names, body_of(extra_body, label))
        self._name = name
        self._base_url = base_url.rstrip("/").removesuffix("/v1")
        self.address = self._base_url or os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
        checked_address(self.address, "base_url")
        self._max_tokens = max_tokens
        self._thinking, room = _thinking(thinking, label)
        self._room = room if reasoning_room is None else reasoning_room
        self._effort = effort
        self._samples = sampling
        self._headers = {"anthropic-version": api_version} | ({"anthropic-beta": betas} if betas else {})
        self._max_answer_mb = checked_size(max_answer_mb)
        self._encoder = MediaEncoder(max_side_px=max_image_side, num_frames=num_frames, fps=fps, accepts_sound=False)
        self._identity: Mapping[str, Any] = {
            "backend": "anthropic",
            "model": name,
            "max_tokens": max_tokens,
            "thinking": thinking,
            "reasoning_room": self._room,
            "effort": effort,
            "sampling": sampling,
            "frames": [num_frames, rate_identity(fps)] if video else None,
            "max_image_side": max_image_side,
            "betas": betas,
            "api_version": api_version,
            "extra_body": self._extra_body,
        }
        self.traits = ModelTraits(
            family="claude",
            requests={"generate": True, "loglikelihood": False, "generate_image": False},
            modalities={"text": True, "image": True, "audio": False, "video": video == "frames"},
            is_endpoint=True,
            whole_videos=False,
            calls_tools=True,
            tool_media="inline",
        )

    @property
    def identity(self) -> Mapping[str, Any]:
        """The model's id and the settings of every request; neither the key nor the address."""
        return self._identity

    def ignores(self, parameters: Parameters) -> Mapping[str, str]:
        """Seeds, sampling settings that the model rejects, and settings that only other models have."""
        if not isinstance(parameters, Generate):
            return {}
        sampling, reasons = self._sampling(parameters)
        reasons |= unknown_settings(parameters.extra, {*_TAKEN, *_SAMPLING}, _TITLE)
        if parameters.seed is not None and sampling.get("temperature") != 0:
            reasons["seed"] = f"{_TITLE}'s API accepts none: sampled answers differ from run to run"
        return reasons

    def known_settings(self) -> frozenset[str]:
        """The API's names, and names of other models' settings with a neutral value here."""
        return frozenset({*_TAKEN, *_SAMPLING, *NEUTRAL_HERE})

    def decodes(self, medium: Media) -> bool:
        """Videos, which are sent as frames, and images that are not sent unchanged."""
        return self._encoder.decodes(medium)

    def load(self) -> None:
        """Import the SDK, which takes a second."""
        import anthropic  # noqa: F401

    def token_limit(self, parameters: Generate) -> int:
        """The task's limit or the model's own, with the room for reasoning."""
        limit = (parameters.max_new_tokens or self._max_tokens) + self._room
        further = {**self._extra_body, **(parameters.extra.get("extra_body") or {})}
        return max(limit, int(further.get("max_tokens") or 0))

    def _body(self, request: Request, parameters: Generate) -> bytes:
        system, turns = turns_of(request.messages, title=_TITLE)
        body: dict[str, Any] = {
            "model": self._name,
            "max_tokens": self.token_limit(parameters),
            "messages": self._messages(turns),
        }
        if system:
            body["system"] = system
        stops = [
            stop for stop in parameters.stop if stop.strip()
        ]  # the API rejects others; the engine applies all of them
        if stops:
            body["stop_sequences"] = stops
        if self._thinking is not None:
            body["thinking"] = self._thinking
        body |= self._sampling(parameters)[0]
        body |= _tools(parameters)
        body |= {name: value for name, value in parameters.extra.items() if name in _TAKEN}
        if self._effort:
            body["output_config"] = {"effort": self._effort, **body.get("output_config", {})}
        body |= {**self._extra_body, **parameters.extra.get("extra_body", {})}
        return json.dumps(body).encode()

    def _messages(self, turns: Sequence[HostedTurn]) -> list[dict[str, Any]]:
        written: list[dict[str, Any]] = [
            {"role": turn.role, "content": [block for part in turn.parts for block in self._turn_blocks(part)]}
            for turn in turns
        ]
        messages = [message for message in written if message["content"]]
        if not messages:
            raise ModelError("There is nothing to send: all messages are blank.", where=self._label)
        last = messages[-1]["content"][-1]
        if messages[-1]["role"] == "assistant" and last["type"] == "text":
            last["text"] = last["text"].rstrip()  # the API rejects a beginning of an answer that ends in white space
        return messages

    def _turn_blocks(self, part: Part | Message) -> list[dict[str, Any]]:
        """The blocks of a part, of a tool's result, or of a turn with calls: the API's own ones where it gave them,
        because it demands the signed thoughts before a call back.
        """
        if not isinstance(part, Message):
            return self._blocks(part)
        blocks = [block for piece in part.parts for block in self._blocks(piece)]
        if part.role == "tool":
            shown = {"content": blocks} if blocks else {}
            return [{"type": "tool_result", "tool_use_id": part.call_id, **shown}]
        if part.carried:
            return [dict(block) for block in part.carried[_BLOCKS]]
        calls = [
            {"type": "tool_use", "id": call.id, "name": call.sent_name, "input": call.sent_arguments}
            for call in part.calls
        ]
        return blocks + calls

    def _blocks(self, part: Part) -> list[dict[str, Any]]:
        if isinstance(part, Text):  # the API rejects a text of white space only
            return [{"type": "text", "text": part.text}] if part.text.strip() else []
        if isinstance(part, Image):
            address = fetched_there(part, ("http://", "https://"))
            if address is not None:
                return [{"type": "image", "source": {"type": "url", "url": address}}]
            return [_image(self._encoder.image(part))]
        if isinstance(part, Video) and self.traits.modalities["video"]:
            pieces = self._encoder.video(part)
            return [{"type": "text", "text": one} if isinstance(one, str) else _image(one) for one in pieces]
        kind = "audio" if isinstance(part, Audio) else "videos"
        hint = "" if isinstance(part, Audio) else "Send them as frames: --model-args video=frames."
        raise ModelError(f"{_TITLE}'s API accepts no {kind}.", where=self._label, hint=hint)

    def _sampling(self, parameters: Generate) -> tuple[dict[str, Any], dict[str, str]]:
        """The values of temperature, top_p and top_k that are sent, and why others are not; neutral values are left
        out.
        """
        wanted = {
            "temperature": parameters.temperature,
            "top_p": parameters.top_p,
            "top_k": parameters.extra.get("top_k"),
        }
        sent = {name: value for name, value in wanted.items() if value is not None}
        if sent.get("top_p") == 1:
            del sent["top_p"]
        if self._thinking is not None and self._thinking["type"] != "disabled":
            reason = f"{_TITLE}'s API does not accept it together with thinking"
        elif self._samples is False:
            reason = f"{self._name} accepts no sampling settings"
        elif "top_p" in sent and "temperature" in sent:
            dropped = "temperature" if sent["temperature"] == 1 else "top_p"
            del sent[dropped]
            return sent, {
                dropped: f"{_TITLE}'s models accept either temperature or top_p"
            } if dropped == "top_p" else {}
        else:
            return sent, {}
        return {}, {name: reason for name, value in sent.items() if (name, value) != ("temperature", 1)}

    def _greeting(self) -> bytes:
        body: dict[str, Any] = {"model": self._name, "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}]}
        if self._samples is None:
            body["temperature"] = 0
        return json.dumps(body).encode()

    def _learns(self, error: EndpointError) -> bool:
        has_learned = error.status == 400 and self._samples is None and "temperature" in error.what
        if has_learned:
            self._samples = False
        return has_learned

    def _open(self) -> Any:
        import anthropic

        kind = "auth_token" if self._key_name == _TOKEN_NAME else "api_key"
        return anthropic.AsyncAnthropic(
            **{kind: self._key},
            base_url=self._base_url or None,
            max_retries=0,
            timeout=anthropic.Timeout(None, connect=_CONNECT_S),
            default_headers=self._headers,
            http_client=limited_client(anthropic.DefaultAsyncHttpxClient, self._max_answer_mb, where=self._label),
        )

    async def _shut(self, client: Any) -> None:
        await client.close()

    async def _send(self, client: Any, body: bytes) -> str:
        with self._attributed():
            return str(await client.post(_PATH, cast_to=str, content=body))

    async def _known(self, client: Any) -> list[str]:
        with self._attributed():
            return [model.id async for model in client.models.list(limit=1000)]

    @contextmanager
    def _attributed(self) -> Iterator[None]:
        """Turn the SDK's exceptions into Polymeter's."""
        import anthropic

        try:
            yield
        except anthropic.APIStatusError as error:
            response = error.response
            raise self._error(response.status_code, dict(response.headers), response.text) from None
        except anthropic.APIConnectionError as error:
            cause = error.__cause__ or error
            if isinstance(cause, ModelError):
                raise cause from None
            is_there = type(cause).__name__ not in ("ConnectError", "ConnectTimeout")
            raise self._silence(cause, has_connected=is_there) from None

    def _error(self, status: int, headers: Mapping[str, str], body: str) -> EndpointError:
        error = super()._error(status, headers, body)
        if status == 400 and self._samples is None and any(name in error.what for name in _SAMPLING):
            error.hint = "If this model accepts no sampling settings: --model-args sampling=false."
        return error

    def _read(self, answer: Mapping[str, Any], *, offers_tools: bool) -> Output:
        if answer.get("type") == "error":
            raise self._error(200, {}, json.dumps(answer))
        told = answer.get("stop_reason")
        reason = told if isinstance(told, str) and told else None
        if reason == "refusal":
            details = answer.get("stop_details")
            details = details if isinstance(details, dict) else {}
            why = details.get("explanation") or details.get("category") or "no reason given"
            raise ModelError(f"The model declined: {why}", kind="refused", where=self._label)
        blocks = answer.get("content")
        if not isinstance(blocks, list):
            raise ModelError("The answer has no content.", kind="transient", where=self._label)
        if not all(isinstance(block, dict) for block in blocks):
            raise malformed("a block of the content is not an object", where=self._label)
        texts = [self._text(block, "text") for block in blocks if block.get("type") == "text"]
        thoughts = [self._text(block, "thinking") for block in blocks if block.get("type") == "thinking"]
        calls = tuple(
            read_call(block.get("id"), block.get("name"), block.get("input"))
            for block in blocks
            if block.get("type") == "tool_use"
        )
        if not any(texts):
            self._check_silence(blocks, reason, offers_tools=offers_tools)
        return Output(
            text="".join(texts),
            reasoning="\n\n".join(filter(None, thoughts)) or None,
            calls=calls,
            finish_reason=None if reason is None else _FINISHES.get(reason, reason),
            usage=_usage(answer.get("usage")),
            cut=_cut(answer.get("context_management")),
            carried={_BLOCKS: blocks} if calls and any(block.get("type") in _THOUGHTS for block in blocks) else None,
        )

    def _text(self, block: Mapping[str, Any], name: str) -> str:
        text = block.get(name)
        if not isinstance(text, str):
            raise malformed(f"a block of {name} is {kind_of(text)}", where=self._label)
        return text

    def _check_silence(self, blocks: Sequence[Mapping[str, Any]], reason: str | None, *, offers_tools: bool) -> None:
        """Return whether an answer without text is one: the model ended its turn, and said nothing else either.

        Raises:
            ModelError: if it is none.
        """
        kinds = {block.get("type") for block in blocks}
        if not offers_tools and (reason == "tool_use" or "tool_use" in kinds):
            raise only_calls(where=self._label)
        if reason is None:
            raise incomplete("neither a text nor why the model stopped", where=self._label)
        if kinds - _SILENT_BLOCKS and not offers_tools:
            raise malformed("no block of the content is text", where=self._label)


def _tools(parameters: Generate) -> dict[str, Any]:
    """The tools and the choice in the API's form."""
    if not parameters.tools:
        return {}
    tools = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in parameters.tools
    ]
    choice = parameters.tool_choice
    named = {"type": _CHOICES[choice]} if choice in _CHOICES else {"type": "tool", "name": choice}
    return {"tools": tools, "tool_choice": named}


def _thinking(wanted: int | str | None, label: str) -> tuple[dict[str, Any] | None, int]:
    """The API's setting, and the tokens that it needs in addition to the answer's."""
    if wanted is None:
        return None, 0
    if wanted == "adaptive":
        return {"type": "adaptive"}, _ADAPTIVE_ROOM
    if wanted in (0, False, "disabled"):
        return {"type": "disabled"}, 0
    if isinstance(wanted, int) and wanted >= _LEAST_BUDGET:
        return {"type": "enabled", "budget_tokens": wanted}, wanted
    raise PlanError(
        f"thinking must be {_LEAST_BUDGET} tokens or more, 'adaptive' or 'disabled', not {wanted!r}.", where=label
    )


def _image(image: Encoded) -> dict[str, Any]:
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": image.mime, "data": image.base64.decode("ascii")},
    }


def _cut(management: Any) -> dict[str, str] | None:
    """Return the ``cut`` of an output, by the edits of the prompt that the API states; ``None``: it states none."""
    edits = management.get("applied_edits") if isinstance(management, dict) else None
    return {PROMPT: "leave context_management out of extra_body"} if edits else None


def _usage(counts: Any) -> Usage:
    """Input tokens include those of the cache, read and written; output tokens include those of reasoning."""
    fresh, cached = count(counts, "input_tokens"), count(counts, "cache_read_input_tokens")
    written = count(counts, "cache_creation_input_tokens")
    total = None if fresh is None else fresh + (written or 0) + (cached or 0)
    details = counts.get("output_tokens_details") if isinstance(counts, dict) else None
    tier = counts.get("service_tier") if isinstance(counts, dict) else None
    return Usage(
        total,
        count(counts, "output_tokens"),
        count(details, "thinking_tokens"),
        cached,
        written,
        service_tier=tier if isinstance(tier, str) and tier else None,
    )
