"""Media in the form that processors accept: RGB images, frames with their times, samples at the model's rate."""

from __future__ import annotations

import inspect
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Audio, Image, Video
from polymeter.core.media.showing import AudioRule, ImageRule, VideoRule
from polymeter.data.showing.subtitles import NO_SUBTITLES, ShownSubtitles
from polymeter.models.hf.settings import HfSettings

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

    from polymeter.data.showing import ShownSound

_TICKS = 100_000
_UNTIMED_STEP = 1.0


@dataclass(frozen=True, slots=True)
class VideoFrames:
    """Frames of a video.

    Attributes:
        frames: In order of time, RGB.
        times: When each appears, in seconds.
        sound: Its track, if the rule asks for it and there is one.
        subtitles: The texts that stand beside the frames.
        duration: Of the whole video, in seconds; ``None``: it has no times.
    """

    frames: list[PILImage]
    times: list[float]
    sound: ShownSound | None = None
    subtitles: ShownSubtitles = NO_SUBTITLES
    duration: float | None = None

    @property
    def step(self) -> float:
        """The time from one frame to the next in seconds, on average; a second for frames without times."""
        n_steps = len(self.times) - 1
        return (self.times[-1] - self.times[0]) / n_steps or _UNTIMED_STEP if n_steps else _UNTIMED_STEP

    def filled(self, n: int) -> VideoFrames:
        """The same, with its last frame repeated up to ``n`` frames."""
        n_more = max(0, n - len(self.frames))
        if not n_more:
            return self
        return replace(
            self, frames=self.frames + self.frames[-1:] * n_more, times=self.times + self.times[-1:] * n_more
        )

    def metadata(self) -> dict[str, Any]:
        """The metadata with which processors accept frames that are already sampled. It counts in small parts of the
        step from frame to frame: the timestamps that processors insert are those of the frames, and the rate that they
        compute is exact, since networks round the times that follow from it down.
        """
        step, times, n_frames = self.step, self.times, len(self.times)
        if self.duration is None and not any(times):  # frames that were decoded elsewhere have no times
            times = [number * step for number in range(n_frames)]
        return {
            "total_num_frames": n_frames * _TICKS,
            "fps": _TICKS / step,
            "frames_indices": [round(time / step * _TICKS) for time in times],
            "width": self.frames[0].width,
            "height": self.frames[0].height,
            "duration": step * n_frames if self.duration is None else self.duration,
        }


def image_of(part: Image) -> PILImage:
    """An image, decoded, in RGB, as the rule of its task says, and else as every model sees it.

    Raises:
        DataError: if it cannot be read.
    """
    from polymeter.data.showing import shown_image

    return shown_image(part, ImageRule())


def clip_of(part: Video, settings: HfSettings, rate: int | None = None) -> VideoFrames:
    """The frames of a video that the rule of its task selects, else the settings.

    Args:
        part: The video.
        settings: The model's settings.
        rate: At which the model hears the track, in Hz, in one channel.

    Raises:
        DataError: if it cannot be read.
        PlanError: if PyAV is not installed.
    """
    from polymeter.data.showing import shown_video

    own = VideoRule(frames=settings.video_frames, fps=settings.video_fps or None)
    shown = shown_video(part, own, None if rate is None else AudioRule(rate=rate, channels=1))
    return VideoFrames(shown.frames, shown.times, shown.sound, shown.subtitles, shown.duration)


def writes_times(processor: type) -> bool:
    """Return whether processors of a class write the times of a video's frames into the text. Those of Transformers
    that do so have no attribute in common, but their code names the timestamps.
    """
    for base in processor.__mro__:
        if base.__name__ == "ProcessorMixin":
            return False
        with suppress(OSError, TypeError):  # it has no source
            if "timestamp" in inspect.getsource(base):
                return True
    return False


def sounds_of(part: Audio, rate: int) -> list[Any]:
    """The samples of audio at the model's rate in Hz, one channel, shape ``(n,)``; several if the rule of its task cuts
    it into pieces. Where the rule states another rate, the samples have passed through it.

    Raises:
        DataError: if it cannot be read.
    """
    from polymeter.data.showing import shown_audio

    return [_heard_at(sound, rate) for sound in shown_audio(part, AudioRule(rate=rate, channels=1))]


def _heard_at(sound: ShownSound, rate: int) -> Any:
    """A sound at a rate in Hz, one channel, shape ``(n,)``."""
    from polymeter.data.audio import samples

    if sound.rate == rate and sound.samples.ndim == 1:
        return sound.samples
    return samples({"array": sound.samples, "sampling_rate": sound.rate}, rate=rate)[0]
