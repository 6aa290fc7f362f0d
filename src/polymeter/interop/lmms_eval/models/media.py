"""Media as wrappers get them: as ``doc_to_visual`` returned them, and as items of chat messages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polymeter.core.content import Audio, Image, Media, Part, Text, Video
from polymeter.core.media.showing import ImageRule
from polymeter.core.media.sources import on_disk
from polymeter.core.names.parity import Parity
from polymeter.core.request import Message
from polymeter.tasks.yaml.prompts.visuals import is_shown_whole

_ORIGINAL_IMAGES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tiff", ".webp")
_ORIGINAL_AUDIO = (".wav", ".mp3", ".m4a", ".aac", ".flac", ".ogg", ".opus", ".webm")


def as_visual(medium: Media) -> Any:
    """A medium as ``doc_to_visual`` returned it. An image is a copy, because wrappers shrink theirs in place, and so is
    a mapping.

    Raises:
        DataError: if it cannot be read.
    """
    given = None if medium.given is None else medium.given.value
    if given is not None:
        given = on_disk(given) if isinstance(given, str) else given
        return dict(given) if isinstance(given, Mapping) else given
    if isinstance(medium, Image):
        return _as_image(medium)
    origin = medium.origin()
    if isinstance(medium, Audio):
        return _as_audio(medium, origin)
    location = str(origin) if isinstance(origin, Path) else origin
    if medium.start_s is None and medium.end_s is None:
        return location
    bounds = {"video_start": medium.start_s, "video_end": medium.end_s}
    return {"type": "video", "url": location, **{name: second for name, second in bounds.items() if second is not None}}


def _as_image(image: Image) -> Any:
    """The pixels of an image under the rule of its task; without one the original pixels."""
    if image.rule is None:
        return image.open().copy()
    from polymeter.data.showing import shown_image

    return shown_image(image, ImageRule()).copy()


def _as_audio(medium: Audio, origin: Any) -> Any:
    if isinstance(medium.source, Mapping) and "array" not in medium.source:
        return dict(medium.source)  # an undecoded cell of the dataset, {"bytes", "path"}
    if isinstance(origin, Path):
        return str(origin)
    if isinstance(origin, str) or (isinstance(origin, Mapping) and "array" in origin):
        return origin
    from polymeter.data.media import decode_audio

    return decode_audio(origin) if isinstance(origin, bytes) else medium.source


def chat_message(message: Message, parity: Parity) -> dict[str, Any]:
    """A message as the task's author wrote it. ``content`` is a list of items whatever the author wrote, unless it is
    to be as in lmms-eval.
    """
    content: Any = [chat_item(part, parity) for part in message.parts]
    if message.written is None:
        return {"role": message.role, "content": content}
    written = message.written.get("content")
    return {**message.written, "content": content if written is None or not parity.on("chat-form") else written}


def chat_item(part: Part, parity: Parity) -> dict[str, Any]:
    """A part as an item of a chat message: with all of its keys if the task's author wrote such an item, else made of
    what ``doc_to_visual`` returned.
    """
    if isinstance(part, Text):
        return _text_item(part, parity)
    if part.given is not None and part.given.item is not None:
        return _written_item(part, part.given.item, parity)
    value = None if part.given is None else part.given.value
    if parity.on("chat-media"):
        original = original_item(as_visual(part) if value is None else value)
        if original is not None:
            return original
    if isinstance(value, Mapping):
        return {"type": part.modality, "url": _place(part, value)}
    times: dict[str, float | None] = {}
    if isinstance(part, Video):
        times = {"start_time": part.start_s, "end_time": part.end_s}
    known = {name: second for name, second in times.items() if second is not None}
    source = _source(part)
    return {"type": part.modality, "url": str(source) if isinstance(source, Path) else source, **known}


def original_item(visual: Any) -> dict[str, Any] | None:
    """The item that lmms-eval makes of a mapping or path that ``doc_to_visual`` returned; ``None`` for other media."""
    if isinstance(visual, Mapping):
        is_segment = "video_start" in visual or "video_end" in visual
        place = None if is_segment else visual.get("url") or visual.get("path")
        return {"type": visual.get("type", "video"), "url": place or dict(visual)}
    if not isinstance(visual, str):
        return None
    ending = os.path.splitext(visual)[1].lower()
    kind = "image" if ending in _ORIGINAL_IMAGES else "audio" if ending in _ORIGINAL_AUDIO else "video"
    return {"type": kind, "url": visual}


def _text_item(text: Text, parity: Parity) -> dict[str, Any]:
    if text.item is None:
        return {"type": "text", "text": text.text}
    return dict(text.item) if parity.on("chat-form") else {**text.item, "text": text.text}


def _written_item(part: Media, item: Mapping[str, Any], parity: Parity) -> dict[str, Any]:
    is_as_written = parity.on("chat-form")
    source = _source(part)
    source = source if is_as_written or not isinstance(source, Path) else str(source)
    if "url" in item:
        return {**item, "url": source}
    shown = {name: source if name == item["type"] else value for name, value in item.items()}
    return shown if is_as_written else {**shown, "url": source}


def _source(part: Media) -> Any:
    has_value = part.given is not None and part.given.value is not None
    return part.origin() if isinstance(part, Video) and not has_value else as_visual(part)


def _place(part: Media, value: Mapping[str, Any]) -> Any:
    """The ``url`` of a medium that ``doc_to_visual`` gave as a mapping: the whole mapping if it is shown whole or names
    no place, else the place. A cell of a dataset is shown as what it holds.
    """
    if is_shown_whole(value, part.modality):
        return dict(value)
    place = value.get("url") or value.get("path")
    if isinstance(part, Image) and (value.get("bytes") is not None or not place):
        return _as_image(part)
    return place or dict(value)
