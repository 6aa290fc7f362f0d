"""Videos as models are shown them: frames chosen by rule, scaled one by one while the file is decoded, and the track.

No more is held than the frames that are shown, at the size at which they are shown, and the sound, at its shown rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from polymeter.core.content import Video
from polymeter.core.media.showing import AudioRule, VideoRule, stated
from polymeter.core.media.shown_images import as_shown
from polymeter.core.records.shown_media import ShownMedium
from polymeter.data.showing.digests import new_sent_digest
from polymeter.data.showing.opened import OpenedVideo, check_times, opened
from polymeter.data.showing.rules import ChosenFrames, Segment, choose_frames, effective, segment_of
from polymeter.data.showing.sizes import scaled, shown_size
from polymeter.data.showing.sounds import ShownSound, facts_of, track_of
from polymeter.data.showing.subtitles import NO_SUBTITLES, ShownSubtitles, shown_subtitles

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

_Frame = TypeVar("_Frame")


@dataclass(frozen=True, slots=True)
class ShownVideo:
    """Frames of a video, in order of time.

    Attributes:
        frames: RGB, upright, scaled as the rule says.
        times: When each appears, in seconds from the video's first frame. 0 for frames that somebody has decoded.
        sound: Its track, if the rule asks for it and there is one.
        subtitles: The texts that stand before the first frame and after each.
        duration: Of the whole video, in seconds; ``None`` for frames that somebody has decoded.
    """

    frames: list[PILImage]
    times: list[float]
    sound: ShownSound | None = None
    subtitles: ShownSubtitles = NO_SUBTITLES
    duration: float | None = None


def shown_video(
    video: Video, own: VideoRule, heard: AudioRule | None = None, *, as_integers: bool = False
) -> ShownVideo:
    """The frames that a model is shown of a video, and its sound.

    Args:
        video: The video; its rule wins over ``own``.
        own: The model's settings.
        heard: The rate and channels at which the model hears a track; default: the track's own.
        as_integers: Whether the samples of a track are 16-bit integers, for a file.

    Raises:
        DataError: if the video or its subtitles are missing or broken, or it shows nothing in its part.
        PlanError: if PyAV is not installed.
    """
    rule = effective(own, video.rule)
    hashed = new_sent_digest()

    def keep(image: PILImage) -> PILImage:
        hashed.update(f"{image.width}x{image.height}:".encode())
        hashed.update(image.tobytes())
        return image

    with opened(video) as source:
        by_count = rule.frames is not None and rule.fps is None
        check_times(source, video, by_count=by_count, is_part=video.start_s is not None or video.end_s is not None)
        segment = segment_of(source.times, source.end, start_s=video.start_s, end_s=video.end_s, rate=source.rate)
        chosen = choose_frames(segment, rule)
        before, frames = _decoded(source, chosen, rule, keep)
        has_track = rule.audio == "track"
        heard = heard or AudioRule()
        sound = track_of(video, source, segment, heard, as_integers=as_integers) if has_track else None
    times = [float(source.times[number]) if source.is_timed else 0.0 for number in chosen.numbers]
    if len({*chosen.numbers}) < len(chosen.numbers):  # each frame was hashed once, however often it is shown
        hashed.update(repr([number - min(chosen.numbers) for number in chosen.numbers]).encode())
    subtitles = shown_subtitles(video, times if source.is_timed else None, len(frames))
    notes = [*_notes(chosen, segment), *subtitles.notes]
    if rule.audio == "track":
        notes += _notes_of_sound(sound, segment, has_track=source.track is not None)
    sent: dict[str, Any] = {"width": frames[0].width, "height": frames[0].height, "frames": len(frames)}
    if sound is not None:
        sent["sound"] = facts_of([sound])
        hashed.update(f"{sound.rate}:".encode())
        hashed.update(memoryview(sound.samples.T))  # in the order in which they lie: nothing is copied
    if subtitles.facts:
        sent["subtitles"] = subtitles.facts
    video.record_sent(
        ShownMedium(
            "video",
            video.describe(),
            stated(rule),
            before={**before, **source.facts},
            sent={**sent, "format": "pixels"},
            digest=hashed.hexdigest(),
            numbers=tuple(chosen.numbers),
            times=tuple(times) if source.is_timed else (),
            n_wanted=chosen.n_wanted if chosen.has_fewer else None,
            notes=tuple(notes),
        )
    )
    return ShownVideo(frames, times, sound, subtitles, float(source.end) if source.is_timed else None)


def _decoded(
    source: OpenedVideo, chosen: ChosenFrames, rule: VideoRule, keep: Callable[[PILImage], _Frame]
) -> tuple[dict[str, int], list[_Frame]]:
    """The size of the first frame, and every frame as it is kept."""
    kept: dict[int, _Frame] = {}
    before: dict[str, int] = {}
    n_frames = len(chosen.numbers)
    share = None if rule.total_pixels is None else max(1, rule.total_pixels // n_frames)
    limits = [limit for limit in (rule.max_pixels, share) if limit is not None]
    for number, frame in source.images(sorted(set(chosen.numbers))):
        image = as_shown(frame)
        image = image if image.mode == "RGB" else image.convert("RGB")
        before = before or {"width": image.width, "height": image.height}
        size = shown_size(*image.size, min_pixels=rule.min_pixels, max_pixels=min(limits, default=None))
        kept[number] = keep(scaled(image, size))
    return before, [kept[number] for number in chosen.numbers]


def _notes(chosen: ChosenFrames, segment: Segment) -> list[str]:
    if not chosen.has_fewer:
        return []
    n_distinct = len(set(chosen.numbers))
    if n_distinct < len(chosen.numbers):
        return [f"It has {segment.count} frames, and {chosen.n_wanted} were asked for: some are shown repeatedly."]
    return []


_MOST_SILENCE_S = 0.25
"""Tracks often end some hundredths of a second before the frames, because sound is stored in blocks of its own."""


def _notes_of_sound(sound: ShownSound | None, segment: Segment, *, has_track: bool) -> list[str]:
    if sound is None:
        return ["Its sound ends before this part."] if has_track else ["It has no sound."]
    seconds, wanted = sound.samples.shape[-1] / sound.rate, float(segment.stop - segment.start)
    if wanted - seconds > _MOST_SILENCE_S:
        return [f"Its sound ends after {seconds:.2f} s, its frames after {wanted:.2f} s."]
    return []
