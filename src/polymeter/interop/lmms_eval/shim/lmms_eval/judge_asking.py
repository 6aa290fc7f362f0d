"""From a question in OpenAI's form to a request in the role *judge*. The one place where the shim asks a judge.

``lmms_eval.azure_openai_compat``, which tasks import and lmms-eval does not have, is a client as the ``openai`` package
makes them, as far as a judge needs one.
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
from polymeter.core.errors import ModelError, ScoreError
from polymeter.core.guest_context import current_role_client
from polymeter.core.parts import Image, Part, Text
from polymeter.core.sources import sniff_mime
from polymeter.judge.llm_judge import ROLE


def ask_judge(
    messages: Sequence[Mapping[str, Any]],
    images: Sequence[Any] = (),
    *,
    max_tokens: int | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    extra: Mapping[str, Any] | None = None,
) -> core.Response:
    """The judge's answer, or a response that is an error.

    Args:
        messages: ``{role, content}``, the content a text or a list of ``text`` and ``image_url`` items.
        images: Further images for the last message of the user: paths, encoded bytes, base64 or Pillow images.
        max_tokens: Most tokens of the answer.
        temperature: 0 is greedy.
        top_p: Nucleus sampling.
        extra: Further settings.

    Raises:
        PlanError: The run has no judge.
        ScoreError: An item of a message is of no known kind.
    """
    turns = [core.Message(message["role"], tuple(_parts(message.get("content")))) for message in messages]
    if images:
        place = max((number for number, turn in enumerate(turns) if turn.role == "user"), default=None)
        if place is None:
            raise ScoreError("Images for a judge need a message of the user.")
        turns[place] = core.Message("user", (*turns[place].parts, *map(_image, images)))
    ask = core.Generate(max_tokens, temperature, top_p, extra=dict(extra or {}))
    return current_role_client()(ROLE, core.Request(tuple(turns), ask))


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
    """Bytes out of base64, if they are in it."""
    if sniff_mime(data):
        return data
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        return data


def has_endpoint_support() -> bool:
    """Yes: the run's judge is asked. Only asking shows whether the run has one."""
    return True


def build_client(base_url: str | None = None, model: str | None = None) -> tuple[JudgeClient, str]:
    """A client, and the name to put into ``model=``. Neither the address nor the name chooses who answers: ``--judge``
    does.
    """
    return JudgeClient(), model or os.environ.get("OPENAI_JUDGE_MODEL") or ROLE


@dataclass(frozen=True)
class ChatMessage:
    """What the judge said."""

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
            ModelError: The judge could not answer.
            PlanError: The run has no judge.
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
    """``client.chat.completions.create(model=…, messages=…)``, asking the run's judge."""

    def __init__(self) -> None:
        self.chat = _Chat()
