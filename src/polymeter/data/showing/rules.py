"""The choice of a video's frames: pure functions from times and a rule to numbers of frames.

Each named rule computes what the tool does that it is named for, on the true frames: those whose packets the file
holds. The tools themselves often take the number of frames and the rate from the header. Where that is wrong they show
other frames, repeat some, or fail, and two containers of one video differ; here they agree.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import TypeVar

from polymeter.core.errors import DataError
from polymeter.core.media.showing import AudioRule, ImageRule, VideoRule, merged

_Rule = TypeVar("_Rule", VideoRule, ImageRule, AudioRule)


@dataclass(frozen=True, slots=True)
class Segment:
    """The frames of a video that are on screen from ``start`` up to but not including ``stop``.

    Attributes:
        times: When each frame of the video appears, in seconds, ascending from 0.
        first: The number of the frame that is on screen at the start.
        count: Number of frames, at least 1.
        start: In seconds.
        stop: In seconds.
        rate: Frames per second.
    """

    times: Sequence[Fraction]
    first: int
    count: int
    start: Fraction
    stop: Fraction
    rate: Fraction


@dataclass(frozen=True, slots=True)
class ChosenFrames:
    """The frames that a rule chooses.

    Attributes:
        numbers: Their numbers in the video, ascending. A number that stands twice is shown twice.
        n_wanted: How many the rule asks for, whatever the video has.
        n_there: How many the segment has.
    """

    numbers: list[int]
    n_wanted: int
    n_there: int

    @property
    def has_fewer(self) -> bool:
        """True if fewer frames are shown than the rule asks for, or some are shown repeatedly in their place."""
        return self.n_wanted > min(len(self.numbers), self.n_there)


def effective(own: _Rule, rule: _Rule | None) -> _Rule:
    """The model's own settings, with every setting that the medium's rule states in place of theirs."""
    made: _Rule = merged(own, rule)
    return made


def segment_of(
    times: Sequence[Fraction],
    end: Fraction,
    *,
    start_s: float | None = None,
    end_s: float | None = None,
    rate: Fraction | None = None,
) -> Segment:
    """The part of a video.

    Args:
        times: When each frame appears, ascending from 0.
        end: When the last one disappears.
        start_s: Start of the part in seconds; default: the video's.
        end_s: Its end; default: the video's.
        rate: Frames per second; default: as many as there are, by the time for which they are on screen.

    Raises:
        DataError: if nothing is shown between start and end, or one of them is no moment.
    """
    start = max(exact(start_s or 0), Fraction(0))
    stop = end if end_s is None else min(exact(end_s), end)
    if not times or start >= stop:
        raise DataError(
            f"The video shows nothing from {float(start):g} s to {float(stop):g} s.",
            hint=f"It is {float(end):g} s long.",
        )
    first = bisect_right(times, start) - 1
    count = bisect_left(times, stop) - first
    return Segment(times, first, count, start, stop, rate or len(times) / end)


def choose_frames(segment: Segment, rule: VideoRule) -> ChosenFrames:
    """The numbers of the frames that a rule chooses; see ``VideoRule``. Without ``frames`` and ``fps`` these are all.

    ``even``, ``cut`` and ``dense_end`` show each frame once at most, so that a video may have too few. ``inner`` and
    ``rate`` repeat frames then, as VLMEvalKit does. A rate asks for at least one frame.
    """
    if rule.rule in (None, "even"):
        return _even(segment, rule)
    n = by_rate = _n_by_rate(segment, rule)
    if rule.frames is not None:
        n = rule.frames if n is None else min(n, rule.frames)
    n = _limited(segment.count if n is None else n, rule)
    if rule.rule == "rate":
        numbers = _at_rate(segment, rule.fps, n) if n == by_rate else [i * segment.count // n for i in range(n)]
    elif rule.rule == "inner":
        step = segment.count / (n + 1)
        numbers = [int(i * step) for i in range(1, n + 1)]
    elif rule.rule == "cut":
        numbers = _cut(segment.count, _there(n, segment.count, rule.multiple_of))
    else:
        numbers = _dense_end(segment.count, _there(n, segment.count, rule.multiple_of))
    return ChosenFrames([segment.first + number for number in numbers], n, segment.count)


def exact(value: float) -> Fraction:
    """The number as written in decimal: 0.1 is exactly a tenth.

    Raises:
        DataError: if it is not finite.
    """
    if not isfinite(value):
        raise DataError(f"A video has no moment at {value} s.", hint="Give its start and its end in seconds.")
    return Fraction(str(value))


def evenly(count: int, n: int) -> list[int]:
    """``n`` of ``count`` numbers from 0, evenly spaced with both ends, halves rounded up; one number is the middle."""
    if n >= count:
        return list(range(count))
    if n == 1:
        return [(count - 1) // 2]
    return [(2 * i * (count - 1) + n - 1) // (2 * (n - 1)) for i in range(n)]


def _even(segment: Segment, rule: VideoRule) -> ChosenFrames:
    """By count; by rate those that are on screen at ``start + k / fps`` for every ``k`` before the end, unless a limit
    leaves fewer, or the segment has no more frames than that.
    """
    count = segment.count
    n = count if rule.frames is None else rule.frames
    if rule.fps is not None:
        rate = exact(rule.fps)
        n_moments = int(-((segment.start - segment.stop) * rate // 1))  # rounded up
        n = _limited(n_moments if rule.frames is None else min(n, n_moments), rule)
        if n == n_moments < count:
            moments = (segment.start + k / rate for k in range(n))
            return ChosenFrames([bisect_right(segment.times, moment) - 1 for moment in moments], n, count)
    n = _limited(n, rule)
    return ChosenFrames(
        [segment.first + number for number in evenly(count, _there(n, count, rule.multiple_of))], n, count
    )


def _n_by_rate(segment: Segment, rule: VideoRule) -> int | None:
    """The number of frames that the rate gives, computed as lmms-eval and VLMEvalKit do, whose roundings differ."""
    if rule.fps is None:
        return None
    if rule.rule == "cut":
        return int(segment.count / segment.rate * rule.fps)
    return int(segment.count / float(segment.rate) * rule.fps)


def _limited(n: int, rule: VideoRule) -> int:
    if rule.max_frames is not None:
        n = min(n, rule.max_frames)
    step = rule.multiple_of or 1
    return max(n - n % step, step)


def _there(n: int, count: int, multiple_of: int | None) -> int:
    """``n``, or as many as there are, in whole multiples if there are so many."""
    if n <= count:
        return n
    step = multiple_of or 1
    return count - count % step or count


def _at_rate(segment: Segment, fps: float | None, n: int) -> list[int]:
    step = float(segment.rate) / (fps or 1)
    return [min(int(i * step), segment.count - 1) for i in range(n)]


def _cut(count: int, n: int) -> list[int]:
    import numpy as np

    return [int(number) for number in np.linspace(0, count - 1, n, dtype=int)]


def _dense_end(count: int, n: int) -> list[int]:
    """``count - 1 - round((count - 1) * (1 - i / (n - 1)) ** 2)``. Numbers that would be equal move to the front, so
    that each is shown once: where frames are few, the end is shown whole.
    """
    if n == 1:
        return [count - 1]
    last, whole = count - 1, (n - 1) ** 2
    numbers = [last - (2 * last * (n - 1 - i) ** 2 + whole) // (2 * whole) for i in range(n)]
    for i in range(n - 2, -1, -1):
        numbers[i] = min(numbers[i], numbers[i + 1] - 1)
    return numbers
