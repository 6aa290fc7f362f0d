"""A preview of a video for the report: a few frames side by side, quick to read from a video of any length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Video
from polymeter.core.errors import DataError
from polymeter.core.media.shown_images import as_shown
from polymeter.data.showing.rules import exact
from polymeter.data.video import frames, timed_frames
from polymeter.data.video_container import duration_of, opened_video, upright

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

_STRIP_FRAMES = 4
_STRIP_HEIGHT_PX = 160
_STRIP_WIDTH_PX = 1280
_GAP_PX = 4
_CHEAP_PIXELS = 64_000_000


@dataclass(frozen=True, slots=True)
class Strip:
    """A few frames side by side, and what the container says about the video.

    Attributes:
        image: The frames, scaled down.
        width: Width of the video, upright, in pixels.
        height: Its height.
        duration_s: Its whole duration; ``None`` if the container does not say.
    """

    image: PILImage
    width: int
    height: int
    duration_s: float | None


def strip(video: Video) -> Strip:
    """Up to four frames of the segment, side by side: a preview for the report.

    For a long video these are key frames near the desired times, so that a preview decodes a few frames and not the
    whole file.

    Raises:
        DataError: if the video cannot be read.
        PlanError: if PyAV is not installed.
    """
    origin = video.origin()
    if not isinstance(origin, (Path, str, bytes)):
        images = [image for _, image in timed_frames(video, n=_STRIP_FRAMES)]
        return Strip(_side_by_side(images), images[0].width, images[0].height, None)
    with opened_video(origin, video.describe()) as (container, stream):
        duration = duration_of(container, stream)
        n_frames = stream.frames or int((duration or 0) * (stream.average_rate or 30))
        is_cheap = 0 < n_frames * stream.codec_context.width * stream.codec_context.height <= _CHEAP_PIXELS
        images = [] if is_cheap else _key_frames(container, stream, duration, video)
    if is_cheap:
        images = frames(video, n=_STRIP_FRAMES)
    if not images:
        raise DataError(f"The video {video.describe()} has no frames.")
    width, height = images[0].size
    return Strip(_side_by_side(images), width, height, None if duration is None else round(float(duration), 3))


def _key_frames(container: Any, stream: Any, duration: Fraction | None, video: Video) -> list[PILImage]:
    """Key frames near the middles of the segment's quarters, each once."""
    start = exact(video.start_s or 0)
    end = duration if video.end_s is None else exact(video.end_s)
    length = max(end - start, Fraction(0)) if end is not None else Fraction(0)
    unit = Fraction(stream.time_base)
    by_stamp: dict[Any, PILImage] = {}
    for i in range(_STRIP_FRAMES if length else 1):
        moment = start + length * Fraction(2 * i + 1, 2 * _STRIP_FRAMES)
        container.seek(int(moment / unit) + (stream.start_time or 0), stream=stream, backward=True)
        frame = next(container.decode(stream), None)
        if frame is not None and frame.pts not in by_stamp:
            by_stamp[frame.pts] = upright(frame)
    return [by_stamp[stamp] for stamp in sorted(by_stamp)]


def _side_by_side(images: Sequence[PILImage]) -> PILImage:
    from PIL import Image as pil

    first = images[0]
    width = max(1, round(first.width * _STRIP_HEIGHT_PX / first.height))
    # White between frames: those of a still scene look like one wide image without it.
    step = width + _GAP_PX
    joined = pil.new("RGB", (step * len(images) - _GAP_PX, _STRIP_HEIGHT_PX), "white")
    for number, image in enumerate(images):
        joined.paste(as_shown(image).convert("RGB").resize((width, _STRIP_HEIGHT_PX)), (number * step, 0))
    joined.thumbnail((_STRIP_WIDTH_PX, _STRIP_HEIGHT_PX))
    return joined
