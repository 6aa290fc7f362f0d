"""Questions in OpenAI's form as requests in the role *judge*. The shim calls a judge nowhere else.

``lmms_eval.azure_openai_compat``, which tasks import although lmms-eval does not have it, gives a client with the part
of the ``openai`` package's interface that a judge needs.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core import request as core
from polymeter.core.content import Image, Part, Text
from polymeter.core.errors import ModelError, ScoreError
from polymeter.core.guest_context import current_role_client, guest_context, refuse_verdict
from polymeter.core.media.sources import sniff_mime
from polymeter.judge.llm_judge import ROLE
from polymeter.judge.reply import CUT_OFF, is_cut_off


def ask_judge(
    messages: Sequence[Mapping[str, Any]],
    images: Sequence[Any] = (),
    *,
    max_tokens: int | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    extra: Mapping[str, Any] | None = None,
) -> core.Response:
    """Return the judge's answer, or a response that is an error. An answer that ended inside the judge's reasoning is
    an error, and the sample that is being scored has no score; with parity it is passed on unchanged.

    Args:
        messages: ``{role, content}``; the content is a text or a list of ``text`` and ``image_url`` items.
        images: Further images for the user's last message: paths, encoded bytes, base64 or Pillow images.
        max_tokens: Maximum number of tokens of the answer.
        temperature: 0 is greedy.
        top_p: Nucleus sampling.
        extra: Further settings.

    Raises:
        PlanError: if the run has no judge.
        ScoreError: if an item of a message has an unknown type.
    """
    turns = [
        core.Message(
            message["role"],
            tuple(_parts(message.get("content"))),
            is_listed=not isinstance(message.get("content"), str),
        )
        for message in messages
    ]
    if images:
        last = max((number for number, turn in enumerate(turns) if turn.role == "user"), default=None)
        if last is None:
            raise ScoreError("Images for a judge need a message of the user.")
        turns[last] = core.Message("user", (*turns[last].parts, *map(_image, images)))
    parameters = core.Generate(max_tokens, temperature, top_p, extra=dict(extra or {}))
    answer = current_role_client()(ROLE, core.Request(tuple(turns), parameters))
    if answer.error is None and is_cut_off(answer) and not guest_context().parity.on("loose-verdict"):
        refuse_verdict(CUT_OFF)
        return core.Response(error=core.Error("permanent", CUT_OFF))
    return answer


def _parts(content: Any) -> Iterator[Part]:
    if isinstance(content, str):
        yield Text(content)
        return
    for item in content or ():
        kind = item.get("type") if isinstance(item, Mapping) else None
        if isinstance(item, str):
            yield Text(item)
        elif kind == "text":
            yield Text(item["text"])
        elif kind == "image_url":
            url = item["image_url"]
            yield _image(url["url"] if isinstance(url, Mapping) else url)
        elif kind == "image":
            yield _image(item.get("image", item.get("url")))
        else:
            raise ScoreError(
                f"A judge cannot be shown {kind or type(item).__name__!r}.", hint="Known: text, image_url."
            )


def _image(source: Any) -> Image:
    """An image from a path, a URL, bytes (also in base64) or a Pillow image."""
    if isinstance(source, str) and source.startswith("data:"):
        return Image(base64.b64decode(source.partition(",")[2]))
    if isinstance(source, (bytes, bytearray)):
        return Image(_unpacked(bytes(source)))
    if isinstance(source, str) and not source.startswith("http") and not _is_file(source):
        packed = _unpacked(source.encode())
        return Image(packed if sniff_mime(packed) else source)
    return Image(source)


def _is_file(text: str) -> bool:
    return len(text) < 4096 and Path(text).is_file()


def _unpacked(data: bytes) -> bytes:
    """The bytes, decoded if they are base64."""
    if sniff_mime(data):
        return data
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        return data


def has_endpoint_support() -> bool:
    """Always true: questions go to the run's judge. Whether the run has one shows at the first question."""
    return True


def build_client(base_url: str | None = None, model: str | None = None) -> tuple[JudgeClient, str]:
    """A client, and the name for ``model=``. Neither the address nor the name decides which model answers: ``--judge``
    does.
    """
    return JudgeClient(), model or os.environ.get("OPENAI_JUDGE_MODEL") or ROLE


@dataclass(frozen=True)
class ChatMessage:
    """The judge's message."""

    content: str
    role: str = "assistant"


@dataclass(frozen=True)
class Choice:
    """One answer."""

    message: ChatMessage
    index: int = 0
    finish_reason: str | None = "stop"


@dataclass(frozen=True)
class ChatCompletion:
    """The answers."""

    choices: list[Choice]
    model: str
    usage: None = None


class _Completions:
    def create(
        self,
        *,
        messages: list[dict[str, Any]],
        model: str = ROLE,
        max_tokens: int | None = None,
        max_completion_tokens: int | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        **extra: Any,
    ) -> ChatCompletion:
        """The judge's answer.

        Raises:
            ModelError: if the judge could not answer.
            PlanError: if the run has no judge.
        """
        answer = ask_judge(
            messages,
            max_tokens=max_tokens if max_tokens is not None else max_completion_tokens,
            temperature=temperature,
            top_p=top_p,
            extra=extra,
        )
        if answer.error is not None:
            raise ModelError(answer.error.message, kind=answer.error.kind, where=ROLE)
        return ChatCompletion([Choice(ChatMessage(answer.text), finish_reason=answer.outputs[0].finish_reason)], ROLE)


class _Chat:
    def __init__(self) -> None:
        self.completions = _Completions()


class JudgeClient:
    """A client whose ``chat.completions.create(model=…, messages=…)`` calls the run's judge."""

    def __init__(self) -> None:
        self.chat = _Chat()
