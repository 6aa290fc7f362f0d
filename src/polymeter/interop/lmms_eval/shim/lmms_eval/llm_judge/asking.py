"""From a question in OpenAI's form to a request in the role *judge*. The one place where stand-ins ask a judge."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.core import request as core
from polymeter.core.errors import ScoreError
from polymeter.core.guest_context import current_role_client
from polymeter.core.parts import Image, Part, Text
from polymeter.core.sources import sniff_mime
from polymeter.judge.llm_judge import ROLE

__all__ = ["ROLE", "ask_judge"]


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
