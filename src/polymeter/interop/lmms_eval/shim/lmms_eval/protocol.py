"""``lmms_eval.protocol``: conversations as chat tasks write them."""

from __future__ import annotations

import base64
import importlib
import io
import os
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel

from polymeter.core.registry import missing_package

_QWEN_MERGED = 2  # frames that Qwen3-VL sees as one, and between whose times the time that it is told lies


class ChatTextContent(BaseModel):
    """A piece of text."""

    type: Literal["text"] = "text"
    text: str


class ChatImageContent(BaseModel):
    """An image: a Pillow image or a path."""

    type: Literal["image"] = "image"
    url: Any


class ChatVideoContent(BaseModel):
    """A video: a path; from ``start_time`` to ``end_time`` (seconds) if these are given."""

    type: Literal["video"] = "video"
    url: Any
    start_time: float | None = None
    end_time: float | None = None


class ChatAudioContent(BaseModel):
    """A sound: a path, or samples with their rate."""

    type: Literal["audio"] = "audio"
    url: Any


ChatContent = ChatTextContent | ChatImageContent | ChatVideoContent | ChatAudioContent


class ChatMessage(BaseModel):
    """One turn."""

    role: Literal["user", "system", "assistant"]
    content: list[ChatContent]


class ChatMessages(BaseModel):
    """A conversation."""

    messages: list[ChatMessage]

    def extract_media(self) -> tuple[list[Any], list[Any], list[Any]]:
        """Images, videos and sounds, each in order."""
        found: dict[str, list[Any]] = {"image": [], "video": [], "audio": []}
        for message in self.messages:
            for item in message.content:
                if not isinstance(item, ChatTextContent):
                    found[item.type].append(item.url)
        return found["image"], found["video"], found["audio"]

    def to_hf_messages(
        self, video_kwargs: Mapping[str, Any] | None = None, image_kwargs: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """As processors of Transformers take them; the arguments stand in each video's or image's item."""
        videos, images = dict(video_kwargs or {}), dict(image_kwargs or {})

        def item(content: ChatContent) -> dict[str, Any]:
            if isinstance(content, ChatTextContent):
                return {"type": "text", "text": content.text}
            if isinstance(content, ChatImageContent):
                return {"type": "image", "image": content.url, **images}
            if isinstance(content, ChatVideoContent):
                return _video(content, videos)
            return {"type": "audio", "audio": content.url}

        return [{"role": turn.role, "content": [item(content) for content in turn.content]} for turn in self.messages]

    def to_openai_messages(
        self, video_kwargs: Mapping[str, Any] | None = None, pass_video_url: bool = False
    ) -> list[dict[str, Any]]:
        """As endpoints take them: images as data URLs, videos as their frames, or by their URL if that is asked for."""
        videos = dict(video_kwargs or {})

        def items(content: ChatContent) -> list[dict[str, Any]]:
            if not isinstance(content, ChatVideoContent):
                return [self._openai_item(content)]
            if pass_video_url:
                return [{"type": "video_url", "video_url": {"url": content.url}}]
            frames = _fetch_video(_video(content, videos))
            return [self._image_item(_picture(frame)) for frame in frames]

        return self._turns(items)

    def to_qwen3_vl_openai_messages(self, video_kwargs: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """As ``to_openai_messages``, with the time in front of each frame, as Qwen3-VL was trained."""
        videos = dict(video_kwargs or {})

        def items(content: ChatContent) -> list[dict[str, Any]]:
            if not isinstance(content, ChatVideoContent):
                return [self._openai_item(content)]
            (frames, metadata), _ = _fetch_video(
                _video(content, videos), return_video_metadata=True, return_video_sample_fps=True
            )
            made: list[dict[str, Any]] = []
            for frame, second in zip(frames, _times(metadata), strict=False):
                made.append({"type": "text", "text": f"<{second:.1f} seconds>"})
                made.append(self._image_item(_picture(frame)))
            return made

        return self._turns(items)

    def encode_image(self, image: Any) -> str:
        """A Pillow image or the image at a path in base64: PNG, or what ``LMMS_IMAGE_ENCODE_FORMAT`` says."""
        from PIL import Image

        picture = Image.open(image).convert("RGB") if isinstance(image, (str, os.PathLike)) else image
        encoding = _image_format()
        buffer = io.BytesIO()
        (picture.convert("RGB") if encoding == "JPEG" else picture).save(buffer, format=encoding)
        return base64.b64encode(buffer.getvalue()).decode()

    def _turns(self, items: Any) -> list[dict[str, Any]]:
        return [
            {"role": turn.role, "content": [made for content in turn.content for made in items(content)]}
            for turn in self.messages
        ]

    def _openai_item(self, content: ChatContent) -> dict[str, Any]:
        if isinstance(content, ChatTextContent):
            return {"type": "text", "text": content.text}
        if isinstance(content, ChatImageContent):
            return self._image_item(content.url)
        return {"type": "audio_url", "audio_url": {"url": content.url}}

    def _image_item(self, image: Any) -> dict[str, Any]:
        url = f"data:image/{_image_format().lower()};base64,{self.encode_image(image)}"
        return {"type": "image_url", "image_url": {"url": url}}


def _image_format() -> str:
    name = os.environ.get("LMMS_IMAGE_ENCODE_FORMAT", "PNG").upper()
    return "JPEG" if name == "JPG" else name


def _video(content: ChatVideoContent, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    limits = {"video_start": content.start_time, "video_end": content.end_time}
    return {
        "type": "video",
        "video": content.url,
        **kwargs,
        **{name: second for name, second in limits.items() if second is not None},
    }


def _fetch_video(item: dict[str, Any], **options: Any) -> Any:
    try:
        package = importlib.import_module("qwen_vl_utils")
    except ModuleNotFoundError as error:
        raise missing_package("qwen-vl-utils", "videos in OpenAI messages") from error
    return package.fetch_video(item, **options)


def _picture(frame: Any) -> Any:
    """A frame, a tensor of channels, rows and columns, as a Pillow image."""
    import numpy
    from PIL import Image

    return Image.fromarray(numpy.asarray(frame).transpose(1, 2, 0).astype(numpy.uint8))


def _times(metadata: Mapping[str, Any]) -> list[float]:
    """The second that each pair of frames shows: the middle of the two; the last frame is doubled to make a pair."""
    places = [int(place) for place in metadata["frames_indices"]]
    places += places[-1:] * (-len(places) % _QWEN_MERGED)
    pairs = zip(places[::_QWEN_MERGED], places[_QWEN_MERGED - 1 :: _QWEN_MERGED], strict=True)
    return [(first + last) / 2 / float(metadata["fps"]) for first, last in pairs]
