"""Media in the form that processors accept: RGB images, frames with their times, samples at the model's rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Audio, Image, Video
from polymeter.core.media.shown_images import as_shown
from polymeter.models.hf.settings import HfSettings

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

_TICKS_PER_S = 1000
_UNTIMED_FPS = 1.0


@dataclass(frozen=True, slots=True)
class VideoFrames:
    """Frames of a video.

    Attributes:
        frames: In order of time, RGB.
        times: When each appears, in seconds.
    """

    frames: list[PILImage]
    times: list[float]

    def metadata(self) -> dict[str, Any]:
        """The metadata with which processors accept frames that are already sampled. It counts frames in milliseconds,
        so that the timestamps that processors insert are those of the frames.
        """
        times = self.times
        if len(times) > 1:
            step = (times[-1] - times[0]) / (len(times) - 1) or 1 / _UNTIMED_FPS
        else:
            step = 1 / _UNTIMED_FPS
        if len(times) > 1 and times[-1] == times[0]:  # frames that were decoded elsewhere have no times
            times = [number * step for number in range(len(times))]
        return {
            "total_num_frames": round(step * len(times) * _TICKS_PER_S),
            "fps": float(_TICKS_PER_S),
            "frames_indices": [round(time * _TICKS_PER_S) for time in times],
            "width": self.frames[0].width,
            "height": self.frames[0].height,
            "duration": step * len(times),
        }


def image_of(part: Image) -> PILImage:
    """An image, decoded, in RGB, as every model sees it.

    Raises:
        DataError: if it cannot be read.
    """
    return part.shown()


def clip_of(part: Video, settings: HfSettings) -> VideoFrames:
    """The frames of a video that the settings select.

    Raises:
        DataError: if it cannot be read.
        PlanError: if PyAV is not installed.
    """
    from polymeter.data.video import timed_frames

    frames = timed_frames(part, n=settings.video_frames, fps=settings.video_fps or None)
    return VideoFrames([as_shown(image).convert("RGB") for _, image in frames], [time for time, _ in frames])


def sound_of(part: Audio, rate: int) -> Any:
    """The samples of audio at a rate in Hz, one channel, shape ``(n,)``.

    Raises:
        DataError: if it cannot be read.
    """
    from polymeter.data.audio import samples

    return samples(part, rate=rate)[0]
