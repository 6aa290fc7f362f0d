"""Media as endpoints send and receive it: base64 text of encoded images, audio and frames.

A JPEG, PNG, WebP or GIF is sent unchanged, and not kept: writing its base64 text again is cheaper than the memory. It
is encoded again only if servers would differ about it (``polymeter.core.media.image_headers``) or it is larger than the
user allows. It is then encoded once, in the form that every model sees (``polymeter.core.media.shown_images``). All of
this runs on decoding threads, never on an event loop.
"""

from __future__ import annotations

import asyncio
import base64
import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from polymeter.core.content import Audio, Image, Video
from polymeter.core.errors import DataError, ModelError, Raised, attempt, boundary
from polymeter.core.media.image_headers import is_plain_file, is_turned
from polymeter.core.media.pixels import opened_image
from polymeter.core.media.shown_images import as_shown, is_plain
from polymeter.core.media.sources import sniff_audio_mime, sniff_mime

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/webp", "image/gif"})
"""The types of images that nearly every endpoint accepts."""

_JPEG_QUALITY = 95
_AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoded medium.

    Attributes:
        mime: MIME type.
        base64: Its bytes as base64, in ASCII.
    """

    mime: str
    base64: bytes = field(repr=False)

    @property
    def format(self) -> str:
        """The name of its format, usually what follows the slash of the MIME type (``jpeg``, ``wav``, ``mp3``)."""
        return _AUDIO_FORMATS.get(self.mime, self.mime.partition("/")[2])

    @property
    def data_url(self) -> tuple[bytes, bytes]:
        """The medium as a data URL in ASCII, in two pieces: the second is long and not copied."""
        return b"data:%s;base64," % self.mime.encode(), self.base64


class MediaEncoder:
    """Encodes media and remembers the last ones that are not sent unchanged, by their content. Thread-safe: a medium
    that several threads need at the same time is encoded once.

    Args:
        max_side_px: Images and frames with a longer side are scaled down to it; ``None``: no limit.
        image_types: MIME types that the endpoint accepts; others are encoded as PNG.
        num_frames: Frames of a video, see ``polymeter.data.video.frames``.
        fps: Frames per second of a video.
        budget_mb: How much base64 text is remembered, in MB.
    """

    def __init__(
        self,
        *,
        max_side_px: int | None = None,
        image_types: Collection[str] = IMAGE_TYPES,
        num_frames: int | None = 8,
        fps: float | None = None,
        budget_mb: int = 64,
    ) -> None:
        self._max_side_px = max_side_px
        self._image_types = frozenset(image_types)
        self._num_frames = num_frames
        self._fps = fps
        self._memory = _EncodedMedia(budget_mb * _MIB)

    def image(self, image: Image) -> Encoded:
        """Return an image, as its own bytes if the endpoint accepts them and everyone decodes them alike.

        Raises:
            DataError: if the image is missing or broken.
        """
        data = image.original_bytes()
        mime = sniff_mime(data) if data is not None else None
        if data is None or mime not in self._image_types:
            return self._encode_image(image, "PNG")
        with boundary(DataError, f"Looking at the image {image.describe()}"):
            is_changed = not is_plain_file(data, mime) or is_turned(data, mime) or self._is_too_large(data)
        if is_changed:
            return self._encode_image(image, "JPEG" if mime == "image/jpeg" else "PNG")
        return Encoded(mime, base64.b64encode(data))

    def frames(self, video: Video) -> tuple[Encoded, ...]:
        """Frames of a video as JPEG images, in order of time.

        Raises:
            DataError: if the video is missing or broken.
            PlanError: if PyAV is not installed.
        """
        if not _has_content(video):
            return self._encode_frames(video)
        return self._memory.get(f"frames:{video.content_hash()}", lambda: self._encode_frames(video))

    def whole_video(self, video: Video) -> Encoded:
        """A video's own bytes, for endpoints that accept whole videos.

        Raises:
            DataError: if it is missing, or there are only frames.
        """
        data = video.original_bytes()
        if data is None:
            raise DataError(
                f"The video {video.describe()} has no encoded bytes to send.",
                hint="Send it as frames: --model-args video=frames.",
            )
        return Encoded(_video_mime(data), base64.b64encode(data))

    def audio(self, audio: Audio) -> Encoded:
        """Audio as WAV or MP3: its own bytes if it is one, else 16-bit WAV of all its channels at its own rate.

        Raises:
            DataError: if the recording is missing or broken.
            PlanError: if a package that its format needs is not installed.
        """
        if not _has_content(audio):
            return _encode_audio(audio)
        return self._memory.get(f"audio:{audio.content_hash()}", lambda: (_encode_audio(audio),))[0]

    def _encode_image(self, image: Image, kind: str) -> Encoded:
        key = f"image:{image.content_hash()}"
        return self._memory.get(key, lambda: (_encode_pixels(self._pixels(image, kind), kind),))[0]

    def _pixels(self, image: Image, kind: str) -> PILImage:
        """Return the form in which an image is sent. A PNG keeps two levels or a palette, which need less space than
        RGB.
        """
        decoded = image.open()
        is_kept = kind == "PNG" and is_plain(decoded) and not self._is_longer(decoded.size)
        return decoded if is_kept else self._scaled(image.shown(keeps_grey=True))

    def _encode_frames(self, video: Video) -> tuple[Encoded, ...]:
        from polymeter.data.video import frames

        images = frames(video, n=self._num_frames, fps=self._fps)
        return tuple(_encode_pixels(self._scaled(as_shown(image)), "JPEG") for image in images)

    def _is_too_large(self, data: bytes) -> bool:
        if self._max_side_px is None:
            return False
        with opened_image(data) as image:  # reads the header only
            return self._is_longer(image.size)

    def _is_longer(self, size: tuple[int, int]) -> bool:
        return self._max_side_px is not None and max(size) > self._max_side_px

    def _scaled(self, image: PILImage) -> PILImage:
        longest = max(image.size)
        if self._max_side_px is None or longest <= self._max_side_px:
            return image
        from PIL import Image as pil

        factor = self._max_side_px / longest
        size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
        return image.resize(size, pil.Resampling.LANCZOS)


async def received_image(encoded: bytes | str, *, where: str) -> PILImage:
    """Decode the image in bytes, or in their base64 text, that an endpoint answered with. Decodes on a thread.

    Raises:
        ModelError: if they are not an image, which may be transient.
    """
    return await asyncio.to_thread(lambda: decode_received(encoded, where=where))


def decode_received(encoded: bytes | str, *, where: str) -> PILImage:
    """Decode like ``received_image``, on this thread.

    Raises:
        ModelError: if they are not an image, which may be transient.
    """
    try:
        data = base64.b64decode("".join(encoded.split()), validate=True) if isinstance(encoded, str) else encoded
        return Image(data).open()
    except (ValueError, DataError) as error:  # ValueError: the text is not base64, or not even ASCII
        what = f"The endpoint's image cannot be read: {error}"
        raise ModelError(what, kind="transient", where=where) from None


class _EncodedMedia:
    """The most recently used encoded media, by key, within a budget of bytes."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._held = 0
        self._lock = threading.Lock()
        self._encoded: OrderedDict[str, tuple[Encoded, ...]] = OrderedDict()
        self._in_work: dict[str, Future[tuple[Encoded, ...]]] = {}

    def get(self, key: str, make: Callable[[], tuple[Encoded, ...]]) -> tuple[Encoded, ...]:
        """Return the media of a key, encoded if necessary. A failure is raised in every waiting thread and not
        remembered.
        """
        with self._lock:
            remembered = self._encoded.get(key)
            if remembered is not None:
                self._encoded.move_to_end(key)
                return remembered
            waited_for = self._in_work.get(key)
            if waited_for is None:
                mine = self._in_work[key] = Future()
        if waited_for is not None:
            try:
                return waited_for.result()
            finally:
                del waited_for  # a frame that holds what its own exception holds is a cycle, with the image in it
        encoded = attempt(make)
        with self._lock:
            del self._in_work[key]
            if not isinstance(encoded, Raised):
                self._keep(key, encoded)
        if isinstance(encoded, Raised):
            mine.set_exception(encoded.error)
            try:
                raise encoded.error
            finally:
                del encoded, mine  # for the same reason
        mine.set_result(encoded)
        return encoded  # type: ignore[no-any-return]

    def _keep(self, key: str, encoded: tuple[Encoded, ...]) -> None:
        self._encoded[key] = encoded
        self._held += _base64_length(encoded)
        while self._held > self._budget:
            self._held -= _base64_length(self._encoded.popitem(last=False)[1])


def _base64_length(media: tuple[Encoded, ...]) -> int:
    return sum(len(one.base64) for one in media)


def _has_content(part: Audio | Video) -> bool:
    """Return whether a part's hash depends on its content. Decoded frames have no such hash."""
    origin = part.origin()
    return isinstance(origin, (Path, str, bytes)) or (
        isinstance(origin, Mapping) and hasattr(origin["array"], "tobytes")
    )


def _encode_pixels(image: PILImage, kind: str) -> Encoded:
    buffer = io.BytesIO()
    if kind == "JPEG":
        image.save(buffer, "JPEG", quality=_JPEG_QUALITY)
    else:
        image.save(buffer, "PNG", compress_level=1)
    return Encoded(f"image/{kind.lower()}", base64.b64encode(buffer.getvalue()))


def _encode_audio(audio: Audio) -> Encoded:
    data = audio.original_bytes()
    mime = sniff_audio_mime(data) if data is not None else None
    if data is None or mime not in _AUDIO_FORMATS:
        from polymeter.data.audio import samples, wav_bytes

        mime, data = "audio/wav", wav_bytes(*samples(audio, mono=False))
    return Encoded(mime, base64.b64encode(data))


def _video_mime(data: bytes) -> str:
    return "video/webm" if data.startswith(b"\x1a\x45\xdf\xa3") else "video/mp4"
