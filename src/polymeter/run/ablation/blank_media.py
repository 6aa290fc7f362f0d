"""Media without content that have the size of others: grey images, grey videos without sound, silence.

An image is made when it is read. A recording and a video are made with their request, because a part holds no function
that makes them; the last videos are kept, since samples often share one.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Audio, Given, Image, Media, Video
from polymeter.core.errors import DataError
from polymeter.core.media.sources import is_elsewhere

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

GREY = (128, 128, 128)
"""The middle of the range of each channel, which is neither a dark image nor a bright one."""
_MOST_FRAMES, _FEWEST_A_SECOND = 2_000, Fraction(4)
"""Encoding grey takes seconds for this many frames, so a longer video has fewer, but at least four a second: more than
benchmarks sample.
"""
_MOST_VIDEOS = 8
_FrameGrid = tuple[int, int, int, Fraction]
"""Width, height, number of frames, and frames per second."""


@dataclass(frozen=True, slots=True)
class GreyImage:
    """The source of a grey image.

    Attributes:
        like: The image whose size it has.
    """

    like: Image

    def __call__(self) -> PILImage:
        from PIL import Image as pil

        return pil.new("RGB", self.like.size(), GREY)

    def place(self) -> str:
        """The place of the other image: if this one cannot be made, that one cannot be read."""
        return self.like.place()


@dataclass(slots=True)
class BlankMedia:
    """Makes the blank media of a task."""

    _videos: dict[_FrameGrid, bytes] = field(default_factory=dict)

    def of(self, medium: Media) -> Media:
        """Return a blank medium of the size of another one.

        Raises:
            DataError: if that one cannot be read, or its size is unknown because it is on another machine.
            PlanError: if a package is missing that reads it.
        """
        if is_elsewhere(medium.source):
            raise DataError(
                f"The size of the {medium.modality} at {medium.describe()} is unknown, so no blank one can be made.",
                hint="Use a copy on this machine.",
            )
        key = medium.key and f"{medium.key}:blank"
        if isinstance(medium, Image):
            return Image(GreyImage(medium), key, given=_place_of(medium.given))
        if isinstance(medium, Audio):
            return Audio(_silence(medium), key, given=_place_of(medium.given))
        return Video(self._grey_video(medium), key, given=_place_of(medium.given))

    def _grey_video(self, video: Video) -> Any:
        """Return the frames of a video as grey ones. Frames that somebody has decoded stay a list; the others are
        encoded, since some models take videos as files.
        """
        from polymeter.data.showing.opened import opened
        from polymeter.data.showing.rules import segment_of

        with opened(video) as source:
            _, first = next(source.images([0]))
            if not source.is_timed:
                return [_grey(first.size)] * len(source.times)
            shown = segment_of(
                source.times, source.end, start_s=video.start_s, end_s=video.end_s, rate=Fraction(source.rate)
            )
        n, rate = shown.count, shown.rate
        if n > _MOST_FRAMES and rate > _FEWEST_A_SECOND:
            slower = max(_FEWEST_A_SECOND, rate * _MOST_FRAMES / n)
            n, rate = max(round(n * slower / rate), 1), slower
        grid = (*first.size, n, rate)
        if grid not in self._videos:
            if len(self._videos) >= _MOST_VIDEOS:
                self._videos.clear()
            self._videos[grid] = _encoded(grid)
        return self._videos[grid]


def _place_of(given: Given | None) -> Given | None:
    """Return the place of a medium in what its author gave, without the medium, which wrapped models would get."""
    return None if given is None else Given(None, given.place, given.item)


def _grey(size: tuple[int, int]) -> PILImage:
    from PIL import Image as pil

    return pil.new("RGB", size, GREY)


def _silence(audio: Audio) -> Mapping[str, Any]:
    """Return as many samples of silence as a recording has, at its rate."""
    import numpy as np

    from polymeter.data.audio import decoded_sound

    array, rate = decoded_sound(audio)
    return {"array": np.zeros(array.shape[1], dtype=np.float32), "sampling_rate": rate}


def _encoded(grid: _FrameGrid) -> bytes:
    """Encode grey frames as MP4 (H.264, which needs even sizes)."""
    import av

    width, height, n, rate = grid
    size = (width + width % 2, height + height % 2)
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as file:
        stream: Any = file.add_stream("libx264", rate=rate, options={"preset": "ultrafast"})
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        grey = av.VideoFrame.from_image(_grey(size)).reformat(format="yuv420p")
        for number in range(n):
            grey.pts, grey.time_base = number, 1 / rate
            file.mux(stream.encode(grey))
        file.mux(stream.encode())
    return out.getvalue()
