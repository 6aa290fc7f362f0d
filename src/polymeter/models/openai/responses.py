"""OpenAI's API of responses: a conversation as items, in which calls, their results and signed reasoning stand beside
the messages. It accepts images in a tool's result, and neither seeds nor stop strings.

Nothing is kept at the server: each request holds the whole conversation, with reasoning as the server encrypted it.

Protocol: https://platform.openai.com/docs/api-reference/responses
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polymeter.core.acting.tools import read_call
from polymeter.core.content import Image
from polymeter.core.errors import ModelError
from polymeter.core.request import Message, Output
from polymeter.models.endpoint.media import Piece
from polymeter.models.endpoint.shapes import incomplete, kind_of, malformed, only_calls
from polymeter.models.openai.answers import usage_of
from polymeter.models.openai.content import ContentWriter, dumps

LENGTH_KEY = "max_output_tokens"
NO_SEED = "OpenAI's API of responses accepts none: sampled answers differ from run to run"
_ITEMS = "items"
"""The name, in what is carried with a turn, of the answer's items."""
_REASONS = re.compile(r"o\d|gpt-(?:[5-9]|\d\d)")
"""Names of OpenAI's models that reason. Others refuse to return their reasoning encrypted."""


def stateless(name: str, *, is_hosted: bool) -> dict[str, Any]:
    """Return the settings by which a server keeps nothing, and returns what the next request needs instead."""
    has_secrets = is_hosted and _REASONS.match(name)
    return {"store": False, **({"include": ["reasoning.encrypted_content"]} if has_secrets else {})}


class ItemWriter(ContentWriter):
    """Writes the messages of a request as items."""

    def messages(self, messages: Sequence[Message]) -> bytes:
        """A JSON list of items.

        Raises:
            DataError: if a medium is missing or broken.
            PlanError: if a package that a medium needs is not installed.
        """
        pieces: list[Piece] = []
        for message in messages:
            for item in self._written(message):
                pieces += (b"," if pieces else b"[", *item)
        return b"".join((*pieces, b"]")) if pieces else b"[]"

    def _written(self, message: Message) -> Iterator[Sequence[Piece]]:
        if message.role == "tool":
            begin = b'{"type":"function_call_output","call_id":%s,"output":' % dumps(message.call_id)
            yield (begin, *self._content(message), b"}")
            return
        if message.carried and message.calls:
            yield from ((dumps(item),) for item in message.carried[_ITEMS])
            return
        role = self._settings.system_role if message.role == "system" else message.role
        if message.parts or not message.calls:
            yield (b'{"role":%s,"content":' % dumps(role), *self._content(message), b"}")
        for call in message.calls:
            item = {"type": "function_call", "call_id": call.id, "name": call.sent_name, "arguments": call.sent_text}
            yield (dumps(item),)

    def _text(self, text: str) -> Sequence[Piece]:
        return (dumps({"type": "input_text", "text": text}),)

    def _image(self, url: Sequence[Piece], image: Image | None = None) -> Sequence[Piece]:
        detail = dumps(self._detail_of(image) or "auto")
        return b'{"type":"input_image","image_url":"', *url, b'","detail":%s}' % detail


def read_response(payload: Mapping[str, Any], *, where: str, offers_tools: bool = False) -> Output:
    """Return the output in an answer.

    Args:
        payload: The JSON.
        where: The endpoint, for messages.
        offers_tools: Whether the model may answer with calls only.

    Raises:
        ModelError: if there is none, it is not in the API's form, or the model declined.
    """
    items = payload.get("output")
    if not isinstance(items, list):
        raise ModelError("The endpoint's answer has no output.", kind="transient", where=where)
    if not all(isinstance(item, dict) for item in items):
        raise malformed("an item of the output is not an object", where=where)
    status, details = payload.get("status"), payload.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    if reason == "content_filter":
        raise ModelError("The endpoint's filter ended the answer.", kind="refused", where=where)
    if status in ("failed", "cancelled"):
        raise ModelError("The endpoint broke the answer off.", kind="transient", where=where)
    text = "".join(_texts(items, where))
    calls = tuple(
        read_call(item.get("call_id"), item.get("name"), item.get("arguments"))
        for item in items
        if item.get("type") == "function_call"
    )
    if not text and calls and not offers_tools:
        raise only_calls(where=where)
    if not text and not calls and status not in ("completed", "incomplete"):
        raise incomplete("neither a text nor why the model stopped", where=where)
    return Output(
        text,
        reasoning=_reasoning(items),
        calls=calls,
        finish_reason="length" if status == "incomplete" else "tool_calls" if calls else "stop",
        usage=usage_of(payload),
        carried={_ITEMS: items} if calls and any(map(_is_signed, items)) else None,
    )


def _texts(items: Sequence[Mapping[str, Any]], where: str) -> Iterator[str]:
    for item in items:
        content = item.get("content") if item.get("type") == "message" else ()
        if not isinstance(content, (list, tuple)):
            raise malformed(f"the content of a message is {kind_of(content)}", where=where)
        for part in content:
            if not isinstance(part, dict):
                raise malformed("a part of the content is not an object", where=where)
            if part.get("type") == "refusal":
                raise ModelError(f"The model declined: {str(part.get('refusal'))[:300]}", kind="refused", where=where)
            if isinstance(part.get("text"), str):
                yield part["text"]


def _reasoning(items: Sequence[Mapping[str, Any]]) -> str | None:
    """The reasoning that is shown: summaries, or the text that some servers return whole."""
    shown = [
        str(part.get("text") or "")
        for item in items
        if item.get("type") == "reasoning"
        for listed in (item.get("summary"), item.get("content"))
        for part in (listed if isinstance(listed, list) else ())
        if isinstance(part, dict)
    ]
    return "\n\n".join(filter(None, shown)) or None


def _is_signed(item: Mapping[str, Any]) -> bool:
    """Return whether an item is reasoning that can be sent back."""
    return item.get("type") == "reasoning" and bool(item.get("encrypted_content") or item.get("content"))
