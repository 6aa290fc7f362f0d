"""Frames of videos: which ones, by count or by rate, and how to reach them without decoding all others.

Times are exact fractions of a second from the video's first frame. A frame is on screen from its own time until the
next frame's, the last one for as long as the container says. Needs PyAV (``polymeter[video]``).
"""

from __future__ import annotations

import io
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, boundary
from polymeter.core.parts import Video
from polymeter.core.pixels import check_pixels
from polymeter.core.registry import missing_package
from polymeter.core.sources import is_elsewhere
from polymeter.data.audio import ONLY_FILES
from polymeter.data.fetch import fetch_named_by_data

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

VideoLike = Video | Path | str | bytes
Pick = Callable[[Sequence[Fraction], Fraction], Sequence[int]]

_STRIP_FRAMES = 4
_STRIP_HEIGHT_PX = 160
_STRIP_WIDTH_PX = 1280
_CHEAP_PIXELS = 64_000_000
_WHOLE = Fraction(9, 10)
_MAX_VIDEO_BYTES = 4 << 30
_QUARTER_TURNS = (90, 180, 270)


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


def frames(
    video: VideoLike,
    *,
    n: int | None = None,
    fps: float | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
) -> list[PILImage]:
    """Frames of a video as upright RGB images, in order of time.

    The segment goes from ``start_s`` up to but not including ``end_s``: from the frame that is on screen at the start
    to the last one that appears before the end. An end after the video's is the video's.

    * ``n`` alone: of the segment's ``N`` frames the numbers ``round(i * (N - 1) / (n - 1))`` (halves up) for ``i = 0 …
      n - 1``, so the first and the last are included; for ``n = 1`` the middle one, number ``(N - 1) // 2``. A segment
      with ``n`` frames or fewer gives each once.
    * ``fps`` alone: the frame that is on screen at ``start_s + k / fps`` for ``k = 0, 1, …`` before the end. A rate
      above the video's repeats frames.
    * both: by rate, unless that gives more than ``n`` frames; then by count.

    Args:
        video: A part, a path, a URL that PyAV can open, or encoded bytes. A part may also hold frames: a list of
            Pillow images, or an array of shape ``(frames, height, width, 3)``; these have no times and are sampled by
            count.
        n: Number of frames.
        fps: Frames per second.
        start_s: Start in seconds; default: the part's, else 0.
        end_s: End in seconds; default: the part's, else the video's.

    Raises:
        DataError: if the video is missing, broken, has no frames, or shows none between start and end.
        PlanError: if PyAV is not installed.
        ValueError: if neither ``n`` nor ``fps`` is given, or one is not positive.
    """
    return [frame for _, frame in timed_frames(video, n=n, fps=fps, start_s=start_s, end_s=end_s)]


def timed_frames(
    video: VideoLike,
    *,
    n: int | None = None,
    fps: float | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
) -> list[tuple[float, PILImage]]:
    """Like ``frames``, each with the time in seconds at which it appears."""
    _check(n, fps)
    part = video if isinstance(video, Video) else Video(video)
    start = part.start_s if start_s is None else start_s
    end = part.end_s if end_s is None else end_s
    origin = part.origin()
    if not isinstance(origin, (Path, str, bytes)):
        return _of_frames(origin, part, n, fps)
    return _picked(part, lambda times, stop: choose(times, stop, n=n, fps=fps, start_s=start, end_s=end))


def picked_frames(video: Path | str, pick: Pick) -> list[PILImage]:
    """The frames of a video file that a given rule chooses, as upright RGB images, in the order of their numbers.

    Args:
        video: A path, or a URL that PyAV can open.
        pick: The rule: receives the times at which frames appear and the time at which the last one disappears (see
            ``choose``), and returns the numbers of frames.

    Raises:
        DataError: if the video is missing, broken, or has no frames.
        PlanError: if PyAV is not installed.
    """
    return [frame for _, frame in _picked(Video(video), pick)]


def choose(
    times: Sequence[Fraction],
    end: Fraction,
    *,
    n: int | None = None,
    fps: float | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
) -> list[int]:
    """The numbers of the frames that ``frames`` gives.

    Args:
        times: When each frame appears, ascending from 0.
        end: When the last one disappears.
        n: See ``frames``.
        fps: See ``frames``.
        start_s: See ``frames``.
        end_s: See ``frames``.

    Raises:
        DataError: if nothing is shown between start and end.
        ValueError: if neither ``n`` nor ``fps`` is given, or one is not positive.
    """
    _check(n, fps)
    start = max(_exact(start_s or 0), Fraction(0))
    stop = end if end_s is None else min(_exact(end_s), end)
    if not times or start >= stop:
        raise DataError(
            f"The video shows nothing from {float(start):g} s to {float(stop):g} s.",
            hint=f"It is {float(end):g} s long.",
        )
    first = bisect_right(times, start) - 1
    count = bisect_left(times, stop) - first
    if fps is not None:
        rate = _exact(fps)
        n_moments = -((start - stop) * rate // 1)  # rounded up
        if n is None or n_moments <= n:
            return [bisect_right(times, start + k / rate) - 1 for k in range(int(n_moments))]
    assert n is not None
    if n >= count:
        return list(range(first, first + count))
    if n == 1:
        return [first + (count - 1) // 2]
    return [first + (2 * i * (count - 1) + n - 1) // (2 * (n - 1)) for i in range(n)]


def strip(video: Video) -> Strip:
    """Up to four frames of the segment, side by side: a preview for the report.

    For a long video these are key frames near the desired times, so that a preview costs a few frames and not the
    whole file.

    Raises:
        DataError: if the video cannot be read.
        PlanError: if PyAV is not installed.
    """
    origin = video.origin()
    if not isinstance(origin, (Path, str, bytes)):
        images = [image for _, image in _of_frames(origin, video, _STRIP_FRAMES, None)]
        return Strip(_side_by_side(images), images[0].width, images[0].height, None)
    with _opened(origin, video.describe()) as (container, stream):
        duration = _duration(container, stream)
        n_frames = stream.frames or int((duration or 0) * (stream.average_rate or 30))
        is_cheap = 0 < n_frames * stream.codec_context.width * stream.codec_context.height <= _CHEAP_PIXELS
        images = [] if is_cheap else _key_frames(container, stream, duration, video)
    if is_cheap:
        images = frames(video, n=_STRIP_FRAMES)
    if not images:
        raise DataError(f"The video {video.describe()} has no frames.")
    width, height = images[0].size
    return Strip(_side_by_side(images), width, height, None if duration is None else round(float(duration), 3))


def _picked(part: Video, pick: Pick) -> list[tuple[float, PILImage]]:
    """The frames of an encoded video that a rule picks, each with its time."""
    with _opened(part.origin(), part.describe()) as (container, stream):
        index = _read_index(container, stream)
        chosen = pick(index.times, index.end)
        images = _Cursor(container, stream, index).images(chosen)
    return [(float(index.times[number]), images[number]) for number in chosen]


@dataclass(frozen=True, slots=True)
class _Index:
    """The frames of a stream in order of display, known without decoding them.

    Attributes:
        stamps: Time stamp of each frame, in the stream's unit.
        keys: Time stamps of key frames, at which decoding can start.
        times: When each appears, in seconds from the first.
        end: When the last one disappears.
    """

    stamps: list[int]
    keys: list[int]
    times: list[Fraction]
    end: Fraction


class _Cursor:
    """Moves through a stream from frame to frame; seeks only where that saves decoding."""

    def __init__(self, container: Any, stream: Any, index: _Index) -> None:
        self._container = container
        self._stream = stream
        self._index = index
        self._decoder: Iterator[Any] = iter(())
        self._before: tuple[int, Any] | None = None
        self._now: tuple[int, Any] | None = None

    def images(self, numbers: Sequence[int]) -> dict[int, PILImage]:
        """The frames with these numbers."""
        self._seek(None)  # reading the index has left the container at its end
        return {number: _upright(self._frame(self._index.stamps[number])) for number in sorted(set(numbers))}

    def _frame(self, stamp: int) -> Any:
        """The frame on screen at a time stamp: the one that has it, else (if the decoder gives none with it) the one
        before.
        """
        keys = self._index.keys
        key = bisect_right(keys, stamp) - 1
        if key >= 0 and (self._now is None or self._now[0] < keys[key]):
            self._seek(keys[key])
        while True:
            while self._now is not None and self._now[0] < stamp:
                self._advance()
            if self._now is not None and self._now[0] == stamp:
                return self._now[1]
            if self._before is not None and self._before[0] < stamp:
                return self._before[1]
            # The seek landed too late because the container's index is coarse. Start at an earlier key frame.
            key -= 1
            if key < -1:
                raise DataError("It ends before a frame that its table of contents promises.")
            self._seek(keys[key] if key >= 0 else None)

    def _seek(self, stamp: int | None) -> None:
        if stamp is None:
            self._container.seek(0)
        else:
            self._container.seek(stamp, stream=self._stream, backward=True)
        self._decoder = self._container.decode(self._stream)
        self._before = self._now = None
        self._advance()

    def _advance(self) -> None:
        self._before = self._now
        frame = next(self._decoder, None)
        if frame is None:
            self._now = None
            return
        self._now = (self._index.stamps[0] if frame.pts is None else frame.pts, frame)


@contextmanager
def _local(origin: Path | str | bytes) -> Iterator[Any]:
    """What PyAV reads: a file on this machine. It would follow a URL, and those inside of playlists, anywhere."""
    if isinstance(origin, str) and is_elsewhere(origin):
        with tempfile.NamedTemporaryFile(suffix=".video") as file:
            fetch_named_by_data(origin, file, max_bytes=_MAX_VIDEO_BYTES)
            file.flush()
            yield file.name
    else:
        yield io.BytesIO(origin) if isinstance(origin, bytes) else str(origin)


@contextmanager
def _opened(origin: Path | str | bytes, name: str) -> Iterator[tuple[Any, Any]]:
    """A container and its first video stream; errors inside the block name this video."""
    try:
        import av
    except ModuleNotFoundError:
        raise missing_package("av", "videos", "video") from None
    if isinstance(origin, Path) and not origin.is_file():
        raise DataError(
            f"The video file {str(origin)[:200]!r} does not exist.", hint="Check the path in the dataset's row."
        )
    try:
        with (
            boundary(DataError, "Decoding the video", hint="The file is broken, or no video."),
            _local(origin) as file,
            av.open(file, options=ONLY_FILES) as container,
        ):
            if not container.streams.video:
                raise DataError("The file holds no video.")
            stream = container.streams.video[0]
            check_pixels((stream.codec_context.width, stream.codec_context.height), "A frame of the video")
            stream.thread_type = "AUTO"
            yield container, stream
    except DataError as error:
        raise DataError(error.what, where=name, hint=error.hint) from error


def _read_index(container: Any, stream: Any) -> _Index:
    """Read the headers of all packets of a stream, without decoding any."""
    unit = Fraction(stream.time_base or Fraction(1, 1000))
    durations: dict[int, int] = {}
    keys: list[int] = []
    for packet in container.demux(stream):
        if not packet.size or packet.is_discard:
            continue
        if packet.pts is None:
            raise DataError("Its frames have no time stamps.", hint="Put the stream into a container such as MP4.")
        durations[packet.pts] = packet.duration or 0
        if packet.is_keyframe:
            keys.append(packet.pts)
    if not durations:
        raise DataError("It has no frames.")
    stamps = sorted(durations)
    begin = stamps[0]
    last_duration = durations[stamps[-1]] or (stamps[-1] - stamps[-2] if len(stamps) > 1 else 0)
    # A single frame without a duration is shown for 1/25 s.
    last_s = last_duration * unit if last_duration else Fraction(1, 25)
    end = (stamps[-1] - begin) * unit + last_s
    declared = Fraction(stream.duration * unit) if stream.duration else end
    if end < declared * _WHOLE:
        raise DataError(
            f"It is cut off: it should last {float(declared):.1f} s, but only {float(end):.1f} s are there.",
            hint="Fetch the file again.",
        )
    return _Index(stamps, sorted(keys), [(stamp - begin) * unit for stamp in stamps], end)


def _key_frames(container: Any, stream: Any, duration: Fraction | None, video: Video) -> list[PILImage]:
    """Key frames near the middles of the segment's quarters, each once."""
    start = _exact(video.start_s or 0)
    end = duration if video.end_s is None else _exact(video.end_s)
    length = max(end - start, Fraction(0)) if end is not None else Fraction(0)
    unit = Fraction(stream.time_base)
    by_stamp: dict[Any, PILImage] = {}
    for i in range(_STRIP_FRAMES if length else 1):
        moment = start + length * Fraction(2 * i + 1, 2 * _STRIP_FRAMES)
        container.seek(int(moment / unit) + (stream.start_time or 0), stream=stream, backward=True)
        frame = next(container.decode(stream), None)
        if frame is not None and frame.pts not in by_stamp:
            by_stamp[frame.pts] = _upright(frame)
    return [by_stamp[stamp] for stamp in sorted(by_stamp)]


def _of_frames(source: Any, part: Video, n: int | None, fps: float | None) -> list[tuple[float, PILImage]]:
    """Frames that are decoded already: a list of images, or an array of shape ``(frames, height, width, 3)``. They have
    no times.
    """
    from PIL import Image as pil

    if not hasattr(source, "dtype") and not isinstance(source, (list, tuple)):
        raise DataError(f"Cannot take frames from a {type(source).__name__}.", hint="Give a path, bytes, or frames.")
    if n is None or part.start_s is not None or part.end_s is not None:
        raise DataError(f"The frames of {part.describe()} have no times.", hint="Sample them by count, all of them.")
    with boundary(DataError, f"Reading the frames of {part.describe()}"):
        numbers = choose([Fraction(i) for i in range(len(source))], Fraction(len(source)), n=n)
        chosen = [source[number] for number in numbers]
        return [(0.0, item if hasattr(item, "getbands") else pil.fromarray(item)) for item in chosen]


def _upright(frame: Any) -> PILImage:
    """A frame as an RGB image, rotated as the container says."""
    image: PILImage = frame.to_image()
    rotation = round(frame.rotation) % 360
    return image.rotate(rotation, expand=True) if rotation in _QUARTER_TURNS else image


def _duration(container: Any, stream: Any) -> Fraction | None:
    if stream.duration:
        return Fraction(stream.duration * stream.time_base)
    return Fraction(container.duration, 1_000_000) if container.duration else None


def _side_by_side(images: Sequence[PILImage]) -> PILImage:
    from PIL import Image as pil

    first = images[0]
    width = max(1, round(first.width * _STRIP_HEIGHT_PX / first.height))
    joined = pil.new("RGB", (width * len(images), _STRIP_HEIGHT_PX))
    for number, image in enumerate(images):
        joined.paste(image.convert("RGB").resize((width, _STRIP_HEIGHT_PX)), (number * width, 0))
    joined.thumbnail((_STRIP_WIDTH_PX, _STRIP_HEIGHT_PX))
    return joined


def _check(n: int | None, fps: float | None) -> None:
    if n is None and fps is None:
        raise ValueError("Give the number of frames (n) or the rate (fps).")
    if (n is not None and n < 1) or (fps is not None and fps <= 0):
        raise ValueError("n and fps must be positive.")


def _exact(value: float) -> Fraction:
    """The number as written in decimal: 0.1 is exactly a tenth."""
    return Fraction(str(value))
