"""``lmms_eval.protocol``: conversations as chat tasks write them."""

from __future__ import annotations

import base64
import importlib
import io
import os
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel

from polymeter.core.media.pixels import opened_image
from polymeter.core.names.registry import missing_package

_QWEN_MERGED = 2  # Qwen3-VL merges two frames into one, and gets the time halfway between them


class ChatTextContent(BaseModel):
    """A piece of text."""

    type: Literal["text"] = "text"
    text: str


class ChatImageContent(BaseModel):
    """An image: a Pillow image or a path."""

    type: Literal["image"] = "image"
    url: Any


class ChatVideoContent(BaseModel):
    """A video: a path; optionally only from ``start_time`` to ``end_time`` (seconds)."""

    type: Literal["video"] = "video"
    url: Any
    start_time: float | None = None
    end_time: float | None = None


class ChatAudioContent(BaseModel):
    """Audio: a path, or samples with their rate."""

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
        """Images, videos and audio, each in order."""
        media: dict[str, list[Any]] = {"image": [], "video": [], "audio": []}
        for message in self.messages:
            for item in message.content:
                if not isinstance(item, ChatTextContent):
                    media[item.type].append(item.url)
        return media["image"], media["video"], media["audio"]

    def to_hf_messages(
        self, video_kwargs: Mapping[str, Any] | None = None, image_kwargs: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Messages for processors of Transformers; the arguments are part of each video's or image's item."""
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
        """Messages for endpoints: images as data URLs, videos as frames, or as URLs with ``pass_video_url``."""
        videos = dict(video_kwargs or {})

        def items(content: ChatContent) -> list[dict[str, Any]]:
            if not isinstance(content, ChatVideoContent):
                return [self._openai_item(content)]
            if pass_video_url:
                return [{"type": "video_url", "video_url": {"url": content.url}}]
            frames = _fetch_video(_video(content, videos))
            return [self._image_item(_frame_image(frame)) for frame in frames]

        return self._turns(items)

    def to_qwen3_vl_openai_messages(self, video_kwargs: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """As ``to_openai_messages``, with the time before each frame, as in Qwen3-VL's training."""
        videos = dict(video_kwargs or {})

        def items(content: ChatContent) -> list[dict[str, Any]]:
            if not isinstance(content, ChatVideoContent):
                return [self._openai_item(content)]
            (frames, metadata), _ = _fetch_video(
                _video(content, videos), return_video_metadata=True, return_video_sample_fps=True
            )
            timed: list[dict[str, Any]] = []
            for frame, second in zip(frames, _times(metadata), strict=False):
                timed.append({"type": "text", "text": f"<{second:.1f} seconds>"})
                timed.append(self._image_item(_frame_image(frame)))
            return timed

        return self._turns(items)

    def encode_image(self, image: Any) -> str:
        """A Pillow image or the image at a path in base64: PNG, or the format of ``LMMS_IMAGE_ENCODE_FORMAT``."""
        opened = opened_image(image).convert("RGB") if isinstance(image, (str, os.PathLike)) else image
        encoding = _image_format()
        buffer = io.BytesIO()
        (opened.convert("RGB") if encoding == "JPEG" else opened).save(buffer, format=encoding)
        return base64.b64encode(buffer.getvalue()).decode()

    def _turns(self, items: Any) -> list[dict[str, Any]]:
        return [
            {"role": turn.role, "content": [item for content in turn.content for item in items(content)]}
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


def _frame_image(frame: Any) -> Any:
    """A frame, a tensor of shape ``(channels, height, width)``, as a Pillow image."""
    import numpy
    from PIL import Image

    return Image.fromarray(numpy.asarray(frame).transpose(1, 2, 0).astype(numpy.uint8))


def _times(metadata: Mapping[str, Any]) -> list[float]:
    """The time of each pair of frames in seconds: halfway between the two. A last odd frame is paired with itself."""
    frames = [int(index) for index in metadata["frames_indices"]]
    frames += frames[-1:] * (-len(frames) % _QWEN_MERGED)
    pairs = zip(frames[::_QWEN_MERGED], frames[_QWEN_MERGED - 1 :: _QWEN_MERGED], strict=True)
    return [(first + last) / 2 / float(metadata["fps"]) for first, last in pairs]
