"""Frames of videos: which ones, by count or by rate.

Times are exact fractions of a second from the video's first frame. A frame is on screen from its own time until the
next frame's, the last one for as long as the container says. Needs PyAV (the extra ``video``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from polymeter.core.content import Video
from polymeter.core.media.showing import VideoRule
from polymeter.data.showing.opened import OpenedVideo, check_times, opened
from polymeter.data.showing.rules import choose_frames, segment_of

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
    with opened(part) as source:
        is_part = part.start_s is not None or part.end_s is not None
        check_times(source, part, by_count=n is not None, is_part=is_part)
        return _taken(source, choose(source.times, source.end, n=n, fps=fps, start_s=start, end_s=end))


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
    with opened(Video(video)) as source:
        return [frame for _, frame in _taken(source, pick(source.times, source.end))]


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
    segment = segment_of(times, end, start_s=start_s, end_s=end_s)
    return choose_frames(segment, VideoRule(frames=n, fps=fps)).numbers


def _taken(source: OpenedVideo, numbers: Sequence[int]) -> list[tuple[float, PILImage]]:
    """Frames by their numbers, each with its time; 0 if it has none."""
    images = dict(source.images(sorted(set(numbers))))
    return [(float(source.times[number]) if source.is_timed else 0.0, images[number]) for number in numbers]


def _check_frames(n: int | None, fps: float | None) -> None:
    if n is None and fps is None:
        raise ValueError("Give the number of frames (n) or the rate (fps).")
    if (n is not None and n < 1) or (fps is not None and fps <= 0):
        raise ValueError("n and fps must be positive.")
