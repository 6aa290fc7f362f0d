"""Reading a video's container with PyAV: its index without decoding, and single frames by way of key frames.

A URL or a playlist inside a file never makes PyAV fetch anything: what lies elsewhere is fetched first, by the rules
for addresses that data names.
"""

from __future__ import annotations

import io
import math
import re
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, boundary
from polymeter.core.media.pixels import check_pixels
from polymeter.core.media.sources import is_elsewhere
from polymeter.core.names.registry import missing_package
from polymeter.data.audio import ONLY_FILES
from polymeter.data.fetching.fetch import fetch_named_by_data

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

_WHOLE = Fraction(9, 10)
_MAX_VIDEO_BYTES = 4 << 30
_QUARTER_TURNS = (90, 180, 270)
_DURATION_TAG = re.compile(r"(\d+):(\d+):(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class FrameIndex:
    """The frames of a stream in order of display, known without decoding them.

    Attributes:
        stamps: Time stamp of each frame, in the stream's unit.
        keys: Time stamps of key frames, at which decoding can start.
        times: When each appears, in seconds from the first.
        end: When the last one disappears.
        is_reordered: True: packets are stored in another order, so that their time stamps are those of their frames.
            Containers that store none for B-frames (AVI) count packets.
    """

    stamps: list[int]
    keys: list[int]
    times: list[Fraction]
    end: Fraction
    is_reordered: bool


class Cursor:
    """Moves through a stream from frame to frame; seeks only where that saves decoding."""

    def __init__(self, container: Any, stream: Any, index: FrameIndex) -> None:
        self._container = container
        self._stream = stream
        self._index = index
        self._decoder: Iterator[Any] = iter(())
        self._before: tuple[int, Any] | None = None
        self._now: tuple[int, Any] | None = None
        self._can_seek = True
        self._wanted: frozenset[int] = frozenset()

    def frames(self, numbers: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """The frames with these numbers, which ascend, one by one."""
        self._wanted = frozenset(self._index.stamps[number] for number in numbers)
        self._seek(None)  # reading the index has left the container at its end
        for number in numbers:
            frame = self._frame(self._index.stamps[number])
            self._check_whole(number, frame)
            yield number, frame

    def frame(self, number: int) -> Any:
        """One frame. Numbers that ascend from call to call are decoded in one pass.

        Raises:
            DataError: if it was not stored whole.
        """
        if self._now is None and self._before is None:
            self._wanted = frozenset(self._index.stamps)
            self._seek(None)
        frame = self._frame(self._index.stamps[number])
        self._check_whole(number, frame)
        return frame

    def _check_whole(self, number: int, frame: Any) -> None:
        if frame.is_corrupt:
            raise DataError(
                f"It is broken: its frame at {float(self._index.times[number]):.2f} s was not stored whole.",
                hint="Fetch the file again.",
            )

    def _frame(self, stamp: int) -> Any:
        """The frame on screen at a time stamp: the one that has it, else (if the decoder gives none with it) the one
        before.
        """
        keys = self._index.keys if self._can_seek else []
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
        self._decoder = self._decoded()
        self._before = self._now = None
        self._advance()
        if stamp is not None and self._now is not None and not self._is_known(self._now[0]):
            # After a seek in such a container (MPEG-PS) time stamps are guesses.
            self._can_seek = False
            self._seek(None)

    def _decoded(self) -> Iterator[Any]:
        """Decode from here. Of frames that nobody wants, those are left out that no other frame is decoded from: half
        of a video with B-frames.
        """
        context = self._stream.codec_context
        for packet in self._container.demux(self._stream):
            if self._index.is_reordered:
                is_needed = packet.pts is None or packet.pts in self._wanted
                context.skip_frame = "DEFAULT" if is_needed else "NONREF"
            yield from packet.decode()

    def _is_known(self, stamp: int) -> bool:
        stamps = self._index.stamps
        place = bisect_left(stamps, stamp)
        return place < len(stamps) and stamps[place] == stamp

    def _advance(self) -> None:
        self._before = self._now
        frame = next(self._decoder, None)
        if frame is None:
            self._now = None
            return
        self._now = (self._index.stamps[0] if frame.pts is None else frame.pts, frame)


@contextmanager
def opened_video(origin: Path | str | bytes, name: str) -> Iterator[tuple[Any, Any]]:
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


def read_index(container: Any, stream: Any) -> FrameIndex:
    """Read the headers of all packets of a stream, without decoding any.

    Raises:
        DataError: if it has no frames, or they have no time stamps, or it is cut off.
    """
    unit = Fraction(stream.time_base or Fraction(1, 1000))
    n_listed = len(getattr(stream, "index_entries", ()))  # before anything is read: FFmpeg adds what it meets
    durations: dict[int, int] = {}
    keys: list[int] = []
    n_packets = 0
    latest, is_reordered = -math.inf, False
    for packet in container.demux(stream):
        if not packet.size:
            continue
        n_packets += 1
        if packet.is_discard:
            continue
        if packet.pts is None:
            raise DataError("Its frames have no time stamps.", hint="Put the stream into a container such as MP4.")
        is_reordered = is_reordered or packet.pts < latest
        latest = max(latest, packet.pts)
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
    # A table of contents that lists every packet was read from a whole file, whatever its header says.
    declared = end if n_listed == n_packets else _declared(container, stream) or end
    if end < declared * _WHOLE:
        raise DataError(
            f"It is cut off: it should last {float(declared):.1f} s, but only {float(end):.1f} s exist.",
            hint="Fetch the file again.",
        )
    return FrameIndex(stamps, sorted(keys), [(stamp - begin) * unit for stamp in stamps], end, is_reordered)


def _declared(container: Any, stream: Any) -> Fraction | None:
    """Return how long a stream lasts as its container states. Matroska states it in a tag, or for all streams together,
    which counts if there is one.
    """
    if stream.duration:
        return Fraction(stream.duration * stream.time_base)
    tag = _DURATION_TAG.fullmatch(stream.metadata.get("DURATION", ""))
    if tag:
        return int(tag[1]) * 3600 + int(tag[2]) * 60 + Fraction(tag[3])
    return duration_of(container, stream) if len(container.streams) == 1 else None


def upright(frame: Any) -> PILImage:
    """A frame as an RGB image, rotated as the container says."""
    from PIL import Image as pil

    image: PILImage = pil.fromarray(frame.to_ndarray(format="rgb24"))  # to_image() takes ten times as long
    rotation = round(frame.rotation) % 360
    return image.rotate(rotation, expand=True) if rotation in _QUARTER_TURNS else image


def duration_of(container: Any, stream: Any) -> Fraction | None:
    """Return the length of a video in seconds; ``None`` if its container does not state it."""
    if stream.duration:
        return Fraction(stream.duration * stream.time_base)
    return Fraction(container.duration, 1_000_000) if container.duration else None


@contextmanager
def _local(origin: Path | str | bytes) -> Iterator[Any]:
    """Return the source that PyAV reads: a file on this machine. It would follow a URL, and those inside of playlists,
    anywhere.
    """
    if isinstance(origin, str) and is_elsewhere(origin):
        with tempfile.NamedTemporaryFile(suffix=".video") as file:
            fetch_named_by_data(origin, file, max_bytes=_MAX_VIDEO_BYTES)
            file.flush()
            yield file.name
    else:
        yield io.BytesIO(origin) if isinstance(origin, bytes) else str(origin)
