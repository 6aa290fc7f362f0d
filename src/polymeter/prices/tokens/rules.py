"""The rule by which a model's requests become tokens, from its name and its arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.core.media.showing import ImageRule, VideoRule
from polymeter.core.model import Model
from polymeter.prices.tokens.counts import TokenCount
from polymeter.prices.tokens.images import ImageTokens, image_tokens_of, qwen, unknown_rule
from polymeter.prices.tokens.texts import TextRule

_FRAMES = 8
"""The frames of a video that endpoints are sent by default."""
_BY_CHARACTERS, _WHOLE_IMAGES, _USUAL_FRAMES = TextRule(), ImageRule(), VideoRule(frames=_FRAMES)


@dataclass(frozen=True, slots=True)
class PerSecond:
    """Tokens for each second of audio or video.

    Attributes:
        expected: The likely number.
        low: The fewest.
        high: The most.
        is_stated: Whether the provider states it.
    """

    expected: float
    low: float
    high: float
    is_stated: bool = True

    def of(self, seconds: float, kind: str) -> TokenCount:
        """The tokens of so many seconds."""
        count = TokenCount(
            self.expected * seconds,
            self.low * seconds,
            self.high * seconds,
            int(self.high * (seconds + 1) * (1.1 if self.is_stated else 2)) + 16,
        )
        return count if self.is_stated else count.but_assumed(kind)


_ANY_SOUND = PerSecond(25, 8, 50, is_stated=False)
"""Encoders of speech give 12.5 to 50 tokens a second (Whisper's 50, Qwen2-Audio's 25, OpenAI's 10)."""
_ANY_VIDEO = PerSecond(300, 50, 2000, is_stated=False)
_GEMINI_SOUND = PerSecond(32, 25, 32)
_GEMINI_VIDEO = {"low": PerSecond(100, 66, 110), "": PerSecond(263, 66, 300)}
_GEMINI_THREE_VIDEO = {"high": PerSecond(280 + 32, 280, 320), "": PerSecond(70 + 32, 70, 110)}
"""Tokens a second at one frame a second, the sound included (ai.google.dev/gemini-api/docs/video-understanding)."""


@dataclass(frozen=True, slots=True)
class TokenRule:
    """The way in which a model's requests are counted.

    Attributes:
        text: How text is counted.
        image: The tokens of an image; ``None``: the rule is unknown.
        images: What the model's settings show of images.
        frames: The frames of a video that are sent as images; ``None``: videos are sent whole.
        video: The tokens of a video that is sent whole, by its seconds.
        audio: The tokens of a recording, by its seconds.
        detail: The level of detail that the model's settings ask for; empty: the provider's default.
        scores_apart: Whether each continuation of a request for log-probabilities is sent with its context.
    """

    text: TextRule = _BY_CHARACTERS
    image: ImageTokens | None = None
    images: ImageRule = _WHOLE_IMAGES
    frames: VideoRule | None = _USUAL_FRAMES
    video: PerSecond = _ANY_VIDEO
    audio: PerSecond = _ANY_SOUND
    detail: str = ""
    scores_apart: bool = True

    def image_of(self, size: tuple[int, int], detail: str = "") -> TokenCount:
        """The tokens of an image of a size in pixels."""
        return (self.image or unknown_rule)(*size, detail or self.detail)


def token_rule(model: Model, text: TextRule | None = None) -> TokenRule:
    """The rule of a model. It is found by the model's name, wherever it is served; a name without a known rule has the
    widest ranges.

    Args:
        model: The model, made and not necessarily loaded.
        text: How its text is counted; default: by characters.
    """
    spec = model.made_from
    args: Mapping[str, Any] = {} if spec is None else spec.args
    name = model_name_of(model)
    is_endpoint = model.traits.is_endpoint
    image = image_tokens_of(name)
    own = re.search(r"qwen", name.lower()) and (args.get("min_pixels") or args.get("max_pixels"))
    if own and image is not None:
        factor = 32 if re.search(r"qwen-?3", name.lower()) else 28
        image = qwen(factor, int(args.get("min_pixels") or 4 * factor**2), int(args.get("max_pixels") or 2**24))
    sends_whole = model.traits.takes_whole_videos and args.get("video") != "frames"
    is_gemini = "gemini" in name.lower()
    detail = str(args.get("image_detail") or _resolution(args))
    return TokenRule(
        text=text or _BY_CHARACTERS,
        image=image,
        images=ImageRule(max_side=_whole(args.get("max_image_side"))),
        frames=None if sends_whole and is_endpoint else _frames_of(args),
        video=_whole_video(name, detail) if is_gemini else _ANY_VIDEO,
        audio=_GEMINI_SOUND if is_gemini else _ANY_SOUND,
        detail=detail,
        scores_apart=is_endpoint,
    )


def model_name_of(model: Model) -> str:
    """The name of a model at its endpoint or on the hub; of one that its author's code made, from its identity."""
    if model.made_from is not None:
        return model.made_from.name or model.made_from.backend
    identity = model.identity
    return str(identity.get("name") or identity.get("model") or identity.get("backend") or "")


def _resolution(args: Mapping[str, Any]) -> str:
    """The level of detail that Gemini's setting names (``MEDIA_RESOLUTION_LOW``)."""
    body = args.get("extra_body")
    config = body.get("generationConfig") if isinstance(body, Mapping) else None
    named = config.get("mediaResolution") if isinstance(config, Mapping) else None
    return str(named or "").lower().removeprefix("media_resolution_")


def _whole_video(name: str, detail: str) -> PerSecond:
    rates = _GEMINI_VIDEO if re.search(r"gemini-(1|2)", name.lower()) else _GEMINI_THREE_VIDEO
    return rates.get(detail, rates[""])


def _frames_of(args: Mapping[str, Any]) -> VideoRule:
    frames = _whole(args.get("num_frames") or args.get("video_frames")) or _FRAMES
    fps = args.get("fps") or args.get("video_fps")
    return VideoRule(frames=frames, fps=float(fps) if fps else None)


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, float, str)) and str(value).strip().isdigit() else None
