"""Parts of a video for models that do not get all of it: texts beside frames (times, subtitles), and no sound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from polymeter.core.content import Video
from polymeter.core.media.showing import stated

if TYPE_CHECKING:
    from polymeter.data.showing.subtitles import ShownSubtitles

BESIDE_VIDEO = frozenset({"whole", "at_frames"})
"""The ways of showing subtitles to a model that gets a video in one piece, whose frames are chosen here."""
ALL_WAYS = BESIDE_VIDEO | {"interleaved"}
"""The ways of showing them to a model that gets the frames one by one."""


class FramesWithTexts(Protocol):
    """Frames of a video, with when they appear and the subtitles that stand beside them."""

    @property
    def times(self) -> Sequence[float]: ...
    @property
    def subtitles(self) -> ShownSubtitles: ...


def frame_texts(
    shown: FramesWithTexts, video: Video, *, is_whole: bool = False, has_times: bool = True
) -> Mapping[int, tuple[str, ...]]:
    """The texts before the frames of a video, by the place of the frame; those behind the last stand at the number of
    frames. The subtitles that follow a frame come before the time of the next.

    Args:
        shown: The frames.
        video: The video.
        is_whole: Whether the model gets one video in place of its frames, which is the frame at place 0 then.
        has_times: Whether the times of frames are wanted; a model may write them itself.
    """
    texts = dict(time_texts(shown.times, video, is_whole=is_whole)) if has_times else {}
    placed = [shown.subtitles.before, *shown.subtitles.after]
    if is_whole:
        placed = ["", "".join(placed)]
    for place, text in enumerate(placed):
        if text:
            texts[place] = (text, *texts.get(place, ()))
    return texts


def time_texts(times: Sequence[float], video: Video, *, is_whole: bool = False) -> Mapping[int, tuple[str, ...]]:
    """The texts before the frames of a video, by the place of the frame; none unless the rule asks for them.

    A ``text`` is written as the processors of Qwen3-VL do, ``<1.5 seconds>``; a ``prefix`` lists all times.

    Args:
        times: When each frame appears, in seconds.
        video: The video. Frames that were decoded elsewhere have no times, and so no texts.
        is_whole: Whether the model gets one video in place of its frames: nothing can stand between them then.
    """
    wanted = None if video.rule is None else video.rule.timestamps
    is_untimed = video.sent is not None and not video.sent.times
    if wanted in (None, "none") or is_untimed or not times:
        return {}
    if wanted == "text":
        if is_whole:
            return {}
        return {place: (f"<{time:.1f} seconds>",) for place, time in enumerate(times)}
    listed = ", ".join(f"{time:.2f}" for time in times)
    if is_whole:
        return {0: (f"The {len(times)} frames of the next video are at these seconds: {listed}.",)}
    return {0: (f"The next {len(times)} images are frames of a video, at these seconds: {listed}.",)}


def silent(video: Video) -> Video:
    """The same video and its record, for a model that hears nothing: its sound is not even decoded."""
    if video.rule is None or video.rule.audio is None:
        return video
    rule = replace(video.rule, audio=None)
    return replace(video, rule=rule if stated(rule) else None)
