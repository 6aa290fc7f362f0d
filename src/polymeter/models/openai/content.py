"""The JSON text of a request, written as bytes from messages: base64 is inserted between pieces of text, which are
joined once, and never passes through a JSON encoder. Runs on decoding threads.

Each body is written once and not kept. The text of a prompt belongs to the requests that are prepared from it: its
repeats share one through a weak reference. Images that are sent unchanged are not remembered at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from polymeter.core.acting.results import media_after
from polymeter.core.content import Audio, Image, Media, Part, Text, Video
from polymeter.core.errors import ModelError
from polymeter.core.request import Message
from polymeter.models.endpoint.media import Encoded, MediaEncoder, Piece, fetched_there
from polymeter.models.openai.settings import DETAILS, OpenAISettings

BESIDE_CALLS = "beside_calls"
"""The name, in what is carried with a turn, of the fields that stand beside each of its calls."""


@dataclass(eq=False)
class Content:
    """A JSON text, and the messages that it was written from."""

    text: bytes = field(repr=False)
    messages: Sequence[Message] = ()


class ContentWriter:
    """Writes the messages of a request.

    Args:
        settings: How media and roles are written.
        media: Encodes media, each distinct one once.
    """

    def __init__(self, settings: OpenAISettings, media: MediaEncoder) -> None:
        self._settings = settings
        self._media = media
        self._held: WeakValueDictionary[int, Content] = WeakValueDictionary()

    def shared(self, messages: Sequence[Message]) -> Content:
        """The same as ``messages``, written once for as long as somebody holds it: the repeats of a prompt have the
        same messages, not only equal ones.

        Raises:
            DataError: if a medium is missing or broken.
            PlanError: if a package that a medium needs is not installed.
        """
        content = self._held.get(id(messages))  # no other object has that id while the content holds this one
        if content is None:
            content = self._held[id(messages)] = Content(self.messages(messages), messages)
        return content

    def messages(self, messages: Sequence[Message]) -> bytes:
        """A JSON list of messages, their parts in order.

        Raises:
            DataError: if a medium is missing or broken.
            PlanError: if a package that a medium needs is not installed.
        """
        pieces: list[Piece] = []
        for message in media_after(messages):
            pieces += (b"," if pieces else b"[", *self._message(message))
        return b"".join((*pieces, b"]")) if pieces else b"[]"

    def prompt(self, messages: Sequence[Message]) -> str:
        """The text of all messages, for endpoints that continue text.

        Raises:
            ModelError: if there are media.
        """
        if any(not isinstance(part, Text) for message in messages for part in message.parts):
            raise ModelError(
                "An endpoint that continues texts accepts no media.", hint="Leave out --model-args api=completions."
            )
        return "\n\n".join(text for message in messages if (text := message.text))

    def _message(self, message: Message) -> Iterator[Piece]:
        role = self._settings.system_role if message.role == "system" else message.role
        yield b'{"role":%s,"content":' % dumps(role)
        if message.calls and not message.parts:
            yield b"null"
            yield _calls(message)
            return
        yield from self._content(message)
        yield _calls(message)

    def _content(self, message: Message) -> Iterator[Piece]:
        """The content of a message: one text, or a list of items."""
        has_items = message.is_listed and len(message.parts) > 1
        if not has_items and all(isinstance(part, Text) for part in message.parts):
            yield dumps(message.text)
            return
        before = b"["
        for part in message.parts:
            for item in self._part(part):
                yield before
                yield from item
                before = b","
        yield b"]" if before == b"," else b"[]"

    def decodes(self, medium: Media) -> bool:
        """Return whether a medium is not sent unchanged."""
        is_whole = isinstance(medium, Video) and self._is_sent_whole(medium)
        return not is_whole and self._media.decodes(medium)

    def _is_sent_whole(self, video: Video) -> bool:
        # A URL can neither select a part of a video nor follow a rule.
        return self._settings.video == "url" and video.start_s is None and video.end_s is None and video.rule is None

    def _part(self, part: Part) -> Iterator[Sequence[Piece]]:
        if isinstance(part, Text):
            yield self._text(part.text)
        elif isinstance(part, Image):
            yield self._image(_remote(part) or self._media.image(part).data_url, part)
        elif isinstance(part, Audio):
            url = _remote(part)
            if url is not None:
                yield _linked(b"audio_url", url)
            else:
                yield from map(_sound, self._media.audio(part))
        elif self._is_sent_whole(part):
            yield _linked(b"video_url", _remote(part) or self._media.whole_video(part).data_url)
        else:
            for piece in self._media.video(part):
                if isinstance(piece, str):
                    yield self._text(piece)
                else:
                    yield _sound(piece) if piece.is_sound else self._image(piece.data_url)

    def _text(self, text: str) -> Sequence[Piece]:
        return (dumps({"type": "text", "text": text}),)

    def _image(self, url: Sequence[Piece], image: Image | None = None) -> Sequence[Piece]:
        detail = self._detail_of(image)
        return _linked(b"image_url", url, b',"detail":%s' % dumps(detail) if detail else b"")

    def _detail_of(self, image: Image | None) -> str:
        """The ``detail`` of an image: the model's argument, else the one in the item of a message that an author wrote;
        empty: none.
        """
        item = image.given.item if image is not None and image.given is not None else None
        written = item.get("detail") if item else None
        return self._settings.image_detail or (str(written) if written in DETAILS else "")


def _calls(message: Message) -> bytes:
    """The end of a message: its calls, the id of the call that it answers, and what the server requires back."""
    more: dict[str, Any] = {"tool_call_id": message.call_id} if message.role == "tool" else {}
    if message.calls:
        carried = dict(message.carried or {})
        beside = carried.pop(BESIDE_CALLS, None) or [{}] * len(message.calls)
        functions = [{"name": call.sent_name, "arguments": call.sent_text} for call in message.calls]
        more |= carried
        more["tool_calls"] = [
            {"id": call.id, "type": "function", "function": function, **other}
            for call, function, other in zip(message.calls, functions, beside, strict=False)
        ]
    return b",%s" % dumps(more)[1:] if more else b"}"


def dumps(value: Any) -> bytes:
    """JSON as bytes. Lone surrogates, which UTF-8 cannot hold, stay escaped."""
    return json.dumps(value, separators=(",", ":")).encode()


def _sound(encoded: Encoded) -> Sequence[Piece]:
    kind = encoded.format.encode()
    return b'{"type":"input_audio","input_audio":{"data":"', encoded.base64, b'","format":"%s"}}' % kind


def _linked(kind: bytes, url: Sequence[Piece], more: bytes = b"") -> Sequence[Piece]:
    return b'{"type":"%s","%s":{"url":"' % (kind, kind), *url, b'"%s}}' % more


def _remote(part: Image | Audio | Video) -> Sequence[bytes] | None:
    """The URL of a medium that the endpoint fetches itself, escaped for JSON, without quotes."""
    address = fetched_there(part, ("http://", "https://"))
    return None if address is None else (dumps(address)[1:-1],)
