"""The parts of a message: text, reasoning, image, audio, video, data."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, JsonValue


class ContentBase(BaseModel):
    """A part of a message.

    Attributes:
        internal: What a provider wants to have back, unchanged.
    """

    internal: JsonValue | None = None


class ContentText(ContentBase):
    """A text; ``refusal`` marks one by which the model declined."""

    type: Literal["text"] = "text"
    text: str
    refusal: bool | None = None


class ContentReasoning(ContentBase):
    """A model's reasoning, apart from its answer."""

    type: Literal["reasoning"] = "reasoning"
    reasoning: str
    signature: str | None = None
    redacted: bool = False
    reasoning_tokens: int | None = None


class ContentImage(ContentBase):
    """An image: an address, a path or a data URI."""

    type: Literal["image"] = "image"
    image: str
    detail: Literal["auto", "low", "high"] = "auto"


class ContentAudio(ContentBase):
    """A sound: an address, a path or a data URI."""

    type: Literal["audio"] = "audio"
    audio: str
    format: Literal["wav", "mp3"]


class ContentVideo(ContentBase):
    """A video: an address, a path or a data URI; ``start`` and ``end`` in seconds, ``fps`` as a hint."""

    type: Literal["video"] = "video"
    video: str
    format: Literal["mp4", "mpeg", "mov", "avi"]
    start: float | None = None
    end: float | None = None
    fps: float | None = None


class ContentData(ContentBase):
    """Data of a provider's own."""

    type: Literal["data"] = "data"
    data: dict[str, Any]


Content = ContentText | ContentReasoning | ContentImage | ContentAudio | ContentVideo | ContentData
