"""Media as endpoints send and receive it: base64 text of encoded images, audio and frames.

``polymeter.data.showing`` decides what is sent. A JPEG, PNG, WebP or GIF that it leaves unchanged is not kept: writing
its base64 text again is cheaper than the memory. All of this runs on decoding threads, never on an event loop.
"""

from __future__ import annotations

import asyncio
import base64
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from polymeter.core.content import Audio, Image, Media, Video, recorded_apart, under_rule
from polymeter.core.errors import DataError, ModelError, Raised, attempt
from polymeter.core.media.showing import AudioRule, ImageRule, VideoRule, stated
from polymeter.core.media.sources import digest, sniff_audio_mime, sniff_mime
from polymeter.core.records.shown_media import ShownMedium
from polymeter.models.video_parts import frame_texts, silent

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

    from polymeter.data.showing import ShownVideo, SoundFile

IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/webp", "image/gif"})
"""The types of images that nearly every endpoint accepts."""

NO_RULE: Mapping[str, object] = MappingProxyType({})
_AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_MIB = 1 << 20
_STEP = 3 << 16
"""Bytes whose base64 text is written at a time: so many that each piece ends without padding."""
_Medium = TypeVar("_Medium", bound=Media)
Piece = bytes | bytearray
"""A piece of a body."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoded medium.

    Attributes:
        mime: MIME type.
        base64: Its bytes as base64, in ASCII.
    """

    mime: str
    base64: Piece = field(repr=False)

    @property
    def format(self) -> str:
        """The name of its format, usually what follows the slash of the MIME type (``jpeg``, ``wav``, ``mp3``)."""
        return _AUDIO_FORMATS.get(self.mime, self.mime.partition("/")[2])

    @property
    def is_sound(self) -> bool:
        """True for audio."""
        return self.mime.startswith("audio/")

    @property
    def data_url(self) -> tuple[bytes, Piece]:
        """The medium as a data URL in ASCII, in two pieces: the second is long and not copied."""
        return b"data:%s;base64," % self.mime.encode(), self.base64


Shown = str | Encoded
"""A piece of a video as it is shown: a text (the time of a frame, subtitles), a frame, or the sound."""


class MediaEncoder:
    """Encodes media and remembers the last ones that are not sent unchanged, by content and rule. Thread-safe: a medium
    that several threads need at the same time is encoded once.

    Args:
        max_side_px: Images and frames with a longer side are scaled down to it; ``None``: no limit.
        image_types: MIME types that the endpoint accepts; others are encoded as PNG.
        num_frames: Frames of a video, see ``polymeter.core.media.showing.VideoRule``.
        fps: Frames per second of a video.
        accepts_sound: Whether the endpoint accepts audio. Else the sound of videos is left out.
        budget_mb: How much base64 text is remembered, in MB.
    """

    def __init__(
        self,
        *,
        max_side_px: int | None = None,
        image_types: Collection[str] = IMAGE_TYPES,
        num_frames: int | None = 8,
        fps: float | None = None,
        accepts_sound: bool = True,
        budget_mb: int = 64,
    ) -> None:
        self._image_types = frozenset(image_types)
        self._images = ImageRule(max_side=max_side_px)
        self._videos = VideoRule(frames=num_frames, fps=fps)
        self._accepts_sound = accepts_sound
        self._memory = _EncodedMedia(budget_mb * _MIB)

    def image(self, image: Image) -> Encoded:
        """Return an image, as its own bytes if the rule changes nothing, the endpoint accepts them, and everyone
        decodes them alike.

        Raises:
            DataError: if the image is missing or broken.
        """
        from polymeter.data.showing import unchanged_image

        unchanged = unchanged_image(image, self._images, self._image_types)
        if unchanged is not None:
            data, mime = unchanged
            return Encoded(mime, base64.b64encode(data))
        key = f"image:{under_rule(image.key or image.content_hash(), image.rule)}"
        return self._memory.get(key, image, lambda own: (self._encode_image(own),))[0]  # type: ignore[return-value]

    def video(self, video: Video) -> tuple[Shown, ...]:
        """Frames of a video as JPEG images, in order of time, with times and subtitles as texts and the sound behind
        them if the rule says so.

        Raises:
            DataError: if the video or its subtitles are missing or broken.
            PlanError: if PyAV is not installed.
        """
        video = video if self._accepts_sound else silent(video)
        if not _has_content(video):
            return self._encode_video(video)
        named = f"{video.key}:{video.start_s}:{video.end_s}" if video.key else video.content_hash()
        if video.rule is not None and video.rule.shows_subtitles:  # a key names the video alone
            named = f"{named}:{video.rule.subtitles_from}:{video.subtitles}"
        return self._memory.get(f"video:{under_rule(named, video.rule)}", video, self._encode_video)

    def whole_video(self, video: Video, rule: Mapping[str, object] = NO_RULE) -> Encoded:
        """A video's own bytes, for endpoints that accept whole videos and choose frames themselves.

        Args:
            video: The video.
            rule: The settings that the endpoint follows, for the record.

        Raises:
            DataError: if it is missing, or there are only frames.
        """
        data = video.original_bytes()
        if data is None:
            raise DataError(
                f"The video {video.describe()} has no encoded bytes to send.",
                hint="Send it as frames: --model-args video=frames.",
            )
        mime = _video_mime(data)
        record_whole(video, {"format": mime.partition("/")[2], "bytes": len(data)}, digest(data), rule)
        return Encoded(mime, base64.b64encode(data))

    def audio(self, audio: Audio) -> tuple[Encoded, ...]:
        """Audio as WAV or MP3: its own bytes if it is one and the rule changes nothing, else 16-bit WAV; several pieces
        if the rule cuts it.

        Raises:
            DataError: if the recording is missing or broken, or longer than the rule allows.
            PlanError: if a package that its format needs is not installed.
        """
        if not _has_content(audio):
            return _encode_audio(audio)
        key = f"audio:{under_rule(audio.key or audio.content_hash(), audio.rule)}"
        return self._memory.get(key, audio, _encode_audio)  # type: ignore[return-value]

    def decodes(self, medium: Media) -> bool:
        """Return whether a medium is decoded here: videos always, images and audio unless their own bytes are sent."""
        if isinstance(medium, Video):
            return True
        if medium.is_url:
            return False
        data = medium.original_bytes()
        if data is None or (medium.rule is not None and stated(medium.rule)):
            return True
        if isinstance(medium, Image):
            return sniff_mime(data) not in self._image_types
        return sniff_audio_mime(data) not in _AUDIO_FORMATS

    def _encode_image(self, image: Image) -> Encoded:
        from polymeter.data.showing import encoded_image

        data, mime = encoded_image(image, self._images, self._image_types)
        return Encoded(mime, base64.b64encode(data))

    def _encode_video(self, video: Video) -> tuple[Shown, ...]:
        from polymeter.data.showing import as_wav, shown_video
        from polymeter.data.showing.images import encoded_pixels

        shown = shown_video(video, self._videos, as_integers=True)
        frames = [self._scaled(frame, video.rule) for frame in shown.frames]
        images = [encoded_pixels(frame, "JPEG") for frame in frames]
        encoded = [Encoded("image/jpeg", base64.b64encode(image)) for image in images]
        sent: dict[str, Any] = {"width": frames[0].width, "height": frames[0].height}
        sent |= {"format": "jpeg", "bytes": sum(map(len, images))}
        sound = None
        if shown.sound is not None:
            file = as_wav(shown.sound)
            shown = replace(shown, sound=None)  # an hour of it is large
            sound, n_bytes = _encoded_sound(file)
            del file
            sent["sound"] = {**_sent(video).get("sound", {}), "format": "wav", "bytes": n_bytes}
        if video.sent is not None:
            video.record_sent(replace(video.sent, sent={**video.sent.sent, **sent}))
        return (*_timed(encoded, shown, video), *([] if sound is None else [sound]))

    def _scaled(self, frame: PILImage, rule: VideoRule | None) -> PILImage:
        """A frame of no more pixels than the user allows, unless a rule limits them."""
        from polymeter.data.showing.sizes import scaled, shown_size

        if rule is not None and (rule.min_pixels or rule.max_pixels or rule.total_pixels):
            return frame
        return scaled(frame, shown_size(*frame.size, max_side=self._images.max_side))


def fetched_there(medium: Media, schemes: tuple[str, ...], followed: Mapping[str, object] | None = None) -> str | None:
    """Return the address of a medium that the endpoint fetches itself; ``None`` if it is sent its content: there is no
    address, or there is a rule for it.

    Args:
        medium: The medium.
        schemes: What the addresses that it fetches begin with.
        followed: The settings that the endpoint follows, for the record, if it follows the medium's rule.

    Raises:
        DataError: if a rule is stated for an image that nobody has fetched.
    """
    source = medium.source if isinstance(medium, Image) or isinstance(medium.source, str) else medium.origin()
    if not isinstance(source, str) or not source.startswith(schemes):
        return None
    if medium.rule is not None and followed is None:
        if not isinstance(medium, Image) or medium.held_encoded_bytes():  # a run has fetched it
            return None
        raise DataError(
            f"The image {medium.describe()} has a rule, and only the endpoint would fetch it, which follows none.",
            hint="Download the image first.",
        )
    record_whole(medium, rule=followed or {})
    return source


def record_whole(
    medium: Media,
    sent: Mapping[str, object] | None = None,
    content: str = "",
    rule: Mapping[str, object] = NO_RULE,
) -> None:
    """Record that an endpoint is sent a medium, or its address, whole, and shows it to its model in its own way.

    Args:
        medium: The medium.
        sent: What is known of it as it was sent.
        content: The digest of the bytes that were sent; empty: it fetches them itself.
        rule: The settings that the endpoint follows.
    """
    before = {} if sent is None else {"bytes": sent["bytes"]}
    medium.record_sent(
        ShownMedium(
            medium.modality,
            medium.describe(),
            dict(rule),
            before=before,
            sent=sent or {},
            digest=content,
            by="the endpoint",
        )
    )


def subtitles_beside(video: Video) -> str:
    """Return the text of the subtitles that stand behind a video that is sent whole, and record them; empty: none.

    Raises:
        DataError: if they cannot be read.
    """
    from polymeter.data.showing.subtitles import shown_subtitles

    shown = shown_subtitles(video, None)
    if shown.facts and video.sent is not None:
        sent = {**video.sent.sent, "subtitles": shown.facts}
        video.record_sent(replace(video.sent, sent=sent, notes=(*video.sent.notes, *shown.notes)))
    return "".join(shown.after)


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
    """The most recently used encoded media, by key, within a budget of bytes, with the records of what was shown."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._held = 0
        self._lock = threading.Lock()
        self._encoded: OrderedDict[str, _Remembered] = OrderedDict()
        self._in_work: dict[str, Future[_Remembered]] = {}

    def get(self, key: str, medium: _Medium, make: Callable[[_Medium], tuple[Shown, ...]]) -> tuple[Shown, ...]:
        """Return the pieces of a medium by its key, encoded if necessary; the medium gets the record of them, under its
        own name. A failure is raised in every waiting thread and not remembered.
        """
        own = recorded_apart(medium)  # another model may be shown it at the same time
        pieces, record = self._get(key, lambda: (make(own), own.sent))
        if record is not None:
            medium.record_sent(replace(record, source=medium.describe()))
        return pieces

    def _get(self, key: str, make: Callable[[], _Remembered]) -> _Remembered:
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

    def _keep(self, key: str, encoded: _Remembered) -> None:
        self._encoded[key] = encoded
        self._held += _length(encoded)
        while self._held > self._budget:
            self._held -= _length(self._encoded.popitem(last=False)[1])


_Remembered = tuple[tuple[Shown, ...], ShownMedium | None]


def _length(remembered: _Remembered) -> int:
    return sum(len(piece) if isinstance(piece, str) else len(piece.base64) for piece in remembered[0])


def _sent(video: Video) -> Mapping[str, Any]:
    return {} if video.sent is None else video.sent.sent


def _timed(frames: Sequence[Encoded], shown: ShownVideo, video: Video) -> Iterator[Shown]:
    """The frames, with their times and subtitles as the rule says."""
    texts = frame_texts(shown, video)
    for place, frame in enumerate(frames):
        yield from texts.get(place, ())
        yield frame
    yield from texts.get(len(frames), ())


def _has_content(part: Audio | Video) -> bool:
    """Return whether a part's hash depends on its content. Decoded frames have no such hash."""
    origin = part.origin()
    return isinstance(origin, (Path, str, bytes)) or (
        isinstance(origin, Mapping) and hasattr(origin["array"], "tobytes")
    )


def _encode_audio(audio: Audio) -> tuple[Encoded, ...]:
    from polymeter.data.showing import encoded_audio

    return tuple(_encoded_sound(file)[0] for file in encoded_audio(audio, AudioRule()))


def _encoded_sound(file: SoundFile) -> tuple[Encoded, int]:
    """A recording, encoded while it is written, and the number of its bytes: an hour of it is held once."""
    text, n_bytes, rest = bytearray(), 0, b""
    for block in file.blocks():
        n_bytes += len(block)
        view = memoryview(rest + block)
        n_whole = len(view) // 3 * 3
        for start in range(0, n_whole, _STEP):
            text += base64.b64encode(view[start : min(start + _STEP, n_whole)])
        rest = bytes(view[n_whole:])
    text += base64.b64encode(rest)
    return Encoded(file.mime, text), n_bytes


def _video_mime(data: bytes) -> str:
    return "video/webm" if data.startswith(b"\x1a\x45\xdf\xa3") else "video/mp4"
