"""Frames of videos: which ones, by count or by rate.

Times are exact fractions of a second from the video's first frame. A frame is on screen from its own time until the
next frame's, the last one for as long as the container says. Needs PyAV (the extra ``video``).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Video
from polymeter.core.errors import DataError, boundary
from polymeter.data.video_container import Cursor, opened_video, read_index

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

VideoLike = Video | Path | str | bytes
Pick = Callable[[Sequence[Fraction], Fraction], Sequence[int]]


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
      at which the segment has too few frames gives each once.
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
    _check_frames(n, fps)
    part = video if isinstance(video, Video) else Video(video)
    start = part.start_s if start_s is None else start_s
    end = part.end_s if end_s is None else end_s
    origin = part.origin()
    if not isinstance(origin, (Path, str, bytes)):
        return _of_frames(origin, part, n)
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
    _check_frames(n, fps)
    start = max(exact(start_s or 0), Fraction(0))
    stop = end if end_s is None else min(exact(end_s), end)
    if not times or start >= stop:
        raise DataError(
            f"The video shows nothing from {float(start):g} s to {float(stop):g} s.",
            hint=f"It is {float(end):g} s long.",
        )
    first = bisect_right(times, start) - 1
    count = bisect_left(times, stop) - first
    if fps is not None:
        rate = exact(fps)
        n_moments = -((start - stop) * rate // 1)  # rounded up
        if n_moments < count and (n is None or n_moments <= n):
            return [bisect_right(times, start + k / rate) - 1 for k in range(int(n_moments))]
    if n is None or n >= count:
        return list(range(first, first + count))
    if n == 1:
        return [first + (count - 1) // 2]
    return [first + (2 * i * (count - 1) + n - 1) // (2 * (n - 1)) for i in range(n)]


def _picked(part: Video, pick: Pick) -> list[tuple[float, PILImage]]:
    """The frames of an encoded video that a rule picks, each with its time."""
    with opened_video(part.origin(), part.describe()) as (container, stream):
        index = read_index(container, stream)
        chosen = pick(index.times, index.end)
        images = Cursor(container, stream, index).images(chosen)
    return [(float(index.times[number]), images[number]) for number in chosen]


def _of_frames(source: Any, part: Video, n: int | None) -> list[tuple[float, PILImage]]:
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


def _check_frames(n: int | None, fps: float | None) -> None:
    if n is None and fps is None:
        raise ValueError("Give the number of frames (n) or the rate (fps).")
    if (n is not None and n < 1) or (fps is not None and fps <= 0):
        raise ValueError("n and fps must be positive.")


def exact(value: float) -> Fraction:
    """The number as written in decimal: 0.1 is exactly a tenth."""
    return Fraction(str(value))
