"""A video that is open for showing: an encoded one, of which single frames are decoded, or frames that are decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Video
from polymeter.core.errors import DataError, boundary
from polymeter.data.audio import SoundBlock, decoded_blocks
from polymeter.data.video_container import Cursor, FrameIndex, opened_video, read_index, upright

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

_LEAD_S = 1.0
"""Decoders of sound need some of what comes before a moment."""
_CLOCK = 1_000_000


@dataclass(frozen=True, slots=True)
class OpenedVideo:
    """A video of which frames can be taken.

    Attributes:
        times: When each frame appears, in seconds from the first one. Of frames without times: their numbers.
        end: When the last one disappears.
        images: Returns the frames with ascending numbers one by one, upright; only one is held at a time.
        is_timed: False: somebody has decoded the frames, and they have no times.
        rate: Frames per second.
        begin: The time of the first frame on the container's clock, in seconds.
        track: Returns the blocks of its first track, from some time before a moment on the container's clock on, at a
            rate in Hz or its own; ``None``: it has no track.
        facts: What a record states of it: ``duration_s``, ``fps``, ``frames``, ``stated_frames``.
    """

    times: Sequence[Fraction]
    end: Fraction
    images: Callable[[Sequence[int]], Iterator[tuple[int, PILImage]]]
    is_timed: bool = True
    rate: Fraction = Fraction(1)
    begin: Fraction = Fraction(0)
    track: Callable[[float, int | None], Iterator[SoundBlock]] | None = None
    facts: dict[str, Any] = field(default_factory=dict)


@contextmanager
def opened(video: Video) -> Iterator[OpenedVideo]:
    """Open a video. Errors while it is open name it.

    Raises:
        DataError: if it is missing or broken, or has no frames.
        PlanError: if PyAV is not installed.
    """
    origin = video.origin()
    if not isinstance(origin, (Path, str, bytes)):
        yield _of_frames(origin, video)
        return
    with opened_video(origin, video.describe()) as (container, stream):
        index = read_index(container, stream)
        rate = rate_of(index, stream)
        facts = {"duration_s": float(index.end), "fps": float(rate), "frames": len(index.times)}
        if stream.frames and stream.frames != len(index.times):
            facts["stated_frames"] = stream.frames
        cursor = Cursor(container, stream, index)
        yield OpenedVideo(
            index.times,
            index.end,
            lambda numbers: ((number, upright(frame)) for number, frame in cursor.frames(numbers)),
            rate=rate,
            begin=index.stamps[0] * Fraction(stream.time_base or 1),
            track=_track(container) if container.streams.audio else None,
            facts=facts,
        )


def _track(container: Any) -> Callable[[float, int | None], Iterator[SoundBlock]]:
    def blocks(moment: float, rate: int | None) -> Iterator[SoundBlock]:
        container.seek(int((moment - _LEAD_S) * _CLOCK))
        return decoded_blocks(container, container.streams.audio[0], rate)

    return blocks


def rate_of(index: FrameIndex, stream: Any) -> Fraction:
    """Return the frames per second of a stream: the rate that the container states, if its frames last as long by it as
    their time stamps say, give or take one frame: the stamps of some containers are rounded to milliseconds. Else the
    number of frames by their time.
    """
    count = len(index.times)
    stated = stream.average_rate
    if stated and abs(count / Fraction(stated) - index.end) < 1 / Fraction(stated):
        return Fraction(stated)
    return count / index.end


def _of_frames(source: Any, video: Video) -> OpenedVideo:
    """Frames that are decoded already: a list of images, or an array of shape ``(frames, height, width, 3)``. They have
    no times.
    """
    from PIL import Image as pil

    if not hasattr(source, "dtype") and not isinstance(source, (list, tuple)):
        raise DataError(f"Cannot take frames from a {type(source).__name__}.", hint="Give a path, bytes, or frames.")

    def images(numbers: Sequence[int]) -> Iterator[tuple[int, PILImage]]:
        for number in numbers:
            with boundary(DataError, f"Reading the frames of {video.describe()}"):
                item = source[number]
                image = item if hasattr(item, "getbands") else pil.fromarray(item)
            yield number, image

    count = len(source)
    if not count:
        raise DataError(f"The video {video.describe()} has no frames.")
    return OpenedVideo(
        [Fraction(number) for number in range(count)],
        Fraction(count),
        images,
        is_timed=False,
        facts={"frames": count},
    )


def check_times(opened: OpenedVideo, video: Video, *, by_count: bool, is_part: bool) -> None:
    """Check that frames without times are asked for by count, and all of them.

    Raises:
        DataError: if they are asked for by time.
    """
    if not opened.is_timed and (is_part or not by_count):
        raise DataError(f"The frames of {video.describe()} have no times.", hint="Sample them by count, all of them.")
