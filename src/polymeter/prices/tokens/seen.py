"""The size of media as a model is sent them, from their headers alone: pixels, frames and seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import overload

from polymeter.core.content import Audio, Image, Video
from polymeter.core.errors import PolymeterError
from polymeter.core.media.showing import ImageRule, VideoRule

_UNKNOWN_RATE = Fraction(30)


@dataclass(frozen=True, slots=True)
class SeenVideo:
    """A video as its header describes it.

    Attributes:
        width: Of a frame, in pixels, as shown.
        height: The same.
        n_frames: The number of frames that are shown.
        seconds: The length of the part that is shown; ``None``: frames without times.
        has_sound: Whether it has a track.
    """

    width: int
    height: int
    n_frames: int
    seconds: float | None
    has_sound: bool


def seen_image(image: Image, own: ImageRule) -> tuple[int, int] | None:
    """The width and height of an image as it is sent; ``None``: it is on another machine, or cannot be read. The error
    is that of its request.

    Args:
        image: The image; its rule wins over ``own``.
        own: The model's settings.
    """
    if image.is_url and not image.held_encoded_bytes():
        return None
    from polymeter.data.showing.rules import effective
    from polymeter.data.showing.sizes import shown_size

    try:
        size = image.size()
    except PolymeterError:
        return None
    rule = effective(own, image.rule)
    return shown_size(*size, max_side=rule.max_side, min_pixels=rule.min_pixels, max_pixels=rule.max_pixels)


def seen_video(video: Video, own: VideoRule, images: ImageRule) -> SeenVideo | None:
    """A video as it is shown; ``None`` if it is on another machine or cannot be read, or PyAV is not installed.

    Args:
        video: The video; its rule wins over ``own``.
        own: The model's settings.
        images: Its settings for single images, which limit frames as well.
    """
    from polymeter.data.showing.rules import choose_frames, effective, segment_of
    from polymeter.data.showing.sizes import shown_size

    rule = effective(own, video.rule)
    try:
        header = None if video.is_url else _header(video)
        if header is None:
            return None
        times = _Times(header.n_frames, header.rate)
        segment = segment_of(
            times, header.n_frames / header.rate, start_s=video.start_s, end_s=video.end_s, rate=header.rate
        )
        n_frames = len(choose_frames(segment, rule).numbers)
    except PolymeterError:
        return None
    share = None if rule.total_pixels is None else max(1, rule.total_pixels // max(n_frames, 1))
    limits = [limit for limit in (rule.max_pixels, share) if limit is not None]
    max_side = None if limits or rule.min_pixels else images.max_side
    width, height = shown_size(
        header.width, header.height, max_side=max_side, min_pixels=rule.min_pixels, max_pixels=min(limits, default=None)
    )
    seconds = float(segment.stop - segment.start) if header.is_timed else None
    return SeenVideo(width, height, n_frames, seconds, header.has_sound)


def seen_audio(audio: Audio) -> float | None:
    """The seconds of a recording that are sent; ``None``: unknown."""
    from polymeter.data.audio import duration_s

    try:
        seconds = duration_s(audio)
    except PolymeterError:
        return None
    rule = audio.rule
    if seconds is None or rule is None or rule.max_seconds is None or rule.long != "cut":
        return seconds
    return min(seconds, rule.max_seconds)


@dataclass(frozen=True, slots=True)
class _Header:
    width: int
    height: int
    n_frames: int
    rate: Fraction
    is_timed: bool = True
    has_sound: bool = False


def _header(video: Video) -> _Header | None:
    origin = video.origin()
    if isinstance(origin, (list, tuple)) or hasattr(origin, "dtype"):
        if not len(origin):
            return None
        first = origin[0]
        width, height = first.size if hasattr(first, "getbands") else (first.shape[1], first.shape[0])
        return _Header(width, height, len(origin), Fraction(1), is_timed=False)
    from polymeter.data.video_container import duration_of, opened_video

    with opened_video(origin, video.describe()) as (container, stream):
        rate = Fraction(stream.average_rate or stream.base_rate or _UNKNOWN_RATE)
        seconds = duration_of(container, stream)
        n_frames = stream.frames or (round(seconds * rate) if seconds else 0)
        if not n_frames:
            return None
        size = stream.codec_context.width, stream.codec_context.height
        return _Header(
            *size, n_frames, n_frames / seconds if seconds else rate, has_sound=bool(container.streams.audio)
        )


class _Times(Sequence[Fraction]):
    """The times of frames at a constant rate, none of which is held."""

    def __init__(self, count: int, rate: Fraction) -> None:
        self._count = count
        self._rate = rate

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Fraction: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Fraction]: ...
    def __getitem__(self, index: int | slice) -> Fraction | Sequence[Fraction]:
        if isinstance(index, slice):
            return [number / self._rate for number in range(*index.indices(self._count))]
        return index / self._rate
