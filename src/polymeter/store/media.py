"""The media of a run: previews of inputs and full generated images, content-addressed, each written once."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Audio, Image, Media, Video
from polymeter.core.errors import DataError, StorageError, boundary
from polymeter.core.machine.files import temporary_name
from polymeter.core.machine.places import storage_error
from polymeter.core.media.image_headers import is_plain_file
from polymeter.core.media.pixels import check_pixels, opened_image
from polymeter.core.media.shown_images import as_shown
from polymeter.core.media.sources import digest, sniff_audio_mime, sniff_mime, sniff_video_mime

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

    from polymeter.core.stored_image import StoredImage

UNCHANGED_BYTES = 64 * 1024
UNCHANGED_BYTES_IF_SMALL = 256 * 1024
"""An image whose sides are no longer than a preview's is kept unchanged up to this size: encoding it again takes more
time than the space is worth.
"""
AUDIO_BYTES = 256 * 1024
VIDEO_BYTES = 1024 * 1024
PREVIEW_SIDE_PX = 768
_REDUCING_GAP = 1.01
"""A preview is scaled smoothly from the next larger fraction of the image, which costs a third of the time of scaling
the image.
"""
_OWN_NAME = re.compile(r"[0-9a-f]{32}[.0-9a-z]*")
"""The form of a digest with an ending, the names of media files."""
_PNG_LEVEL = 1  # generated images are written beside the model: time counts more than space
_SUFFIX = {"image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp"}
_LOSSLESS = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
"""The modes of Pillow that a PNG stores exactly."""
_VIDEO_SUFFIX = {"video/mp4": ".mp4", "video/webm": ".webm"}
_AUDIO_SUFFIX = {
    "audio/wav": ".wav",
    "audio/mpeg": ".mp3",
    "audio/flac": ".flac",
    "audio/ogg": ".ogg",
    "audio/mp4": ".m4a",
}


class MediaStore:
    """Writes media files of one run. Thread-safe.

    Args:
        folder: The run's media folder.
        keeps_previews: Whether previews of inputs are written.
    """

    def __init__(self, folder: Path, *, keeps_previews: bool = True) -> None:
        self.folder = folder
        self.keeps_previews = keeps_previews
        self._shelves: set[str] = set()
        self._failure: StorageError | None = None

    def check(self) -> None:
        """Check that every file was written: the caller may have continued without it.

        Raises:
            StorageError: if one could not.
        """
        if self._failure is not None:
            raise self._failure

    def keep_preview(self, image: Image) -> None:
        """Write a preview of an input image and annotate the image with it: its own bytes if they are few and every
        browser shows them as models see them, otherwise a JPEG of the image that models see, which may be smaller.

        Bytes that are kept unchanged are not decoded; a large JPEG is decoded at the nearest fraction of its size,
        unless it has already been decoded in full.

        Raises:
            DataError: if the image has no readable header.
        """
        if image.note is not None:
            return
        width, height = image.size()
        note: dict[str, Any] = {"width": width, "height": height}
        name = image.file_name()
        if name:
            note["name"] = name
        if self.keeps_previews:
            try:
                with boundary(DataError, "Making a preview"):
                    note["file"] = self._preview_file(image, max(width, height))
            except DataError as error:  # a model may accept an image that a JPEG cannot hold
                note["source"] = str(error)
        image.annotate(note)

    def _preview_file(self, image: Image, side_px: int) -> str:
        source = image.original_bytes() or b""
        mime = sniff_mime(source)
        limit = UNCHANGED_BYTES_IF_SMALL if side_px <= PREVIEW_SIDE_PX else UNCHANGED_BYTES
        if mime is not None and len(source) <= limit and is_plain_file(source, mime):
            return self._write(image.content_hash() + _SUFFIX[mime], lambda: source)
        return self._write(image.content_hash() + ".preview.jpg", lambda: _preview(image, source, mime))

    def keep_strip(self, video: Video, strip: PILImage, *, width: int, height: int, duration_s: float | None) -> None:
        """Write a strip of a video's frames and annotate the video with it, and with the video's size and duration.

        A small file in a format that browsers play is kept unchanged, too: as ``clip``.
        """
        data = _jpeg(strip)
        note: dict[str, Any] = {"source": video.describe(), "width": width, "height": height}
        if duration_s is not None:
            note["duration_s"] = duration_s
        note["file"] = self._write(digest(data) + ".strip.jpg", lambda: data)
        clip = _small(video, VIDEO_BYTES)
        suffix = _VIDEO_SUFFIX.get(sniff_video_mime(clip) or "")
        if suffix:
            note["clip"] = self._write(digest(clip) + suffix, lambda: clip)
        video.annotate(note)

    def keep_audio(self, audio: Audio) -> None:
        """Write audio unchanged if it is a small file in a format that browsers play, and annotate it with the file.

        Raises:
            DataError: if its file does not exist.
        """
        note: dict[str, Any] = {"source": audio.describe()}
        data = _small(audio, AUDIO_BYTES)
        suffix = _AUDIO_SUFFIX.get(sniff_audio_mime(data) or "")
        if suffix:
            note["file"] = self._write(digest(data) + suffix, lambda: data)
        audio.annotate(note)

    def describe(self, medium: Media) -> dict[str, Any]:
        """The description of a medium that the journal keeps."""
        return medium.note if medium.note is not None else {"source": medium.describe()}

    def keep_generated(self, image: PILImage) -> StoredImage:
        """Write a generated image losslessly; returns a reference to its file. Durable before this returns.

        The name of the file is a digest of the pixels, not of the encoding, so equal pixels are written once.

        Raises:
            DataError: if a PNG cannot hold its mode exactly, or it has more pixels than the run allows.
        """
        if image.mode not in _LOSSLESS:
            raise DataError(
                f"An image of mode {image.mode!r} cannot be stored without loss.",
                hint=f"The model should return one of {', '.join(_LOSSLESS)}: image.convert('RGB').",
            )
        from polymeter.core.stored_image import stored_image

        check_pixels(image.size, "The generated image")
        name = self._write(f"{_pixel_digest(image)}.png", lambda: _png(image), is_synced=True)
        return stored_image(media_path(self.folder, name), image.size, image.mode)

    def keep_input(self, medium: Media) -> Media:
        """Write a medium of a model's own prompt, byte for byte; returns it with the written file as its source.

        A medium at a URL is not copied. The file is durable before this returns.

        Raises:
            DataError: if it cannot be read.
        """
        if medium.is_url and not str(medium.source).startswith("data:"):
            return medium
        if isinstance(medium, Image):
            data, mime = medium.encoded()
            suffix = _SUFFIX[mime]
        else:
            encoded, origin = medium.original_bytes(), medium.origin()
            if encoded is None:
                raise DataError(f"The {medium.modality} {medium.describe()} of a model's own prompt is not a file.")
            data, suffix = encoded, origin.suffix if isinstance(origin, Path) else ""
        name = self._write(f"{digest(data)}.prompt{suffix}", lambda: data, is_synced=True)
        kept = media_path(self.folder, name)
        if isinstance(medium, Video):
            return Video(kept, medium.key, medium.start_s, medium.end_s)
        return type(medium)(kept, medium.key)

    def has(self, folder: Path, name: str) -> bool:
        """Return whether a media folder of another run has a file."""
        return _stored_file(folder, name) is not None

    def take(self, folder: Path, name: str, *, is_synced: bool = False) -> str:
        """Take a file of another run's media over; both share it where the disk allows. Returns its name.

        Raises:
            DataError: if it does not exist there, or is not a media file.
        """
        if _stored_file(folder, name) is None:
            raise DataError(f"The media file {name!r} does not exist.", where=str(folder))
        source, path = media_path(folder, name), media_path(self.folder, name)
        if not path.exists():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                os.link(source, path)  # safe, because no media file is ever changed
            except FileExistsError:
                pass
            except OSError:  # another disk, or one without links
                self._write(name, source.read_bytes, is_synced=is_synced)
        return name

    def path_of(self, name: str) -> Path:
        """The path of a kept input."""
        return media_path(self.folder, name)

    def name_of(self, stored: StoredImage) -> str:
        """The name of a kept image's file within the media folder."""
        return stored.path.name

    def load(self, name: str) -> StoredImage:
        """A stored image: a reference to its file until its pixels are accessed.

        Raises:
            DataError: if the file is missing or not an image.
        """
        from polymeter.core.stored_image import open_stored

        return open_stored(media_path(self.folder, name))

    def _write(self, name: str, make: Callable[[], bytes], *, is_synced: bool = False) -> str:
        shelf = name[:2]
        folder = f"{self.folder}/{shelf}"
        path = f"{folder}/{name}"
        if os.path.exists(path):
            return name
        data = make()
        try:
            if shelf not in self._shelves:
                os.makedirs(folder, exist_ok=True)
                self._shelves.add(shelf)
            _put(path, data, is_synced=is_synced)
        except OSError as error:
            self._failure = storage_error(error, path, "Writing a media file")
            raise self._failure from error
        return name


def _small(medium: Audio | Video, limit: int) -> bytes:
    """The encoded bytes of a medium; empty if they are more than the limit, or there are none on this machine.

    Raises:
        DataError: if its file does not exist.
    """
    origin = medium.origin()
    if isinstance(origin, Path) and origin.is_file() and origin.stat().st_size > limit:
        return b""
    data = medium.original_bytes() or b""
    return data if len(data) <= limit else b""


def _put(path: str, data: bytes, *, is_synced: bool) -> None:
    """Write a file completely or not at all."""
    folder, name = os.path.split(path)
    temporary = f"{folder}/{temporary_name(name)}"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            if is_synced:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _pixel_digest(image: PILImage) -> str:
    """Digest of what an image shows: its pixels, and what gives them colours (palette, transparent colour, colour
    profile).
    """
    info = image.info
    palette = image.getpalette(None)  # None: with the opacity of the colours, if they have one
    meaning = (image.mode, image.size, palette, info.get("transparency"), info.get("icc_profile"))
    return digest(repr(meaning).encode(), image.tobytes())


def shows(path: Path) -> str | None:
    """The digest of the pixels in an image file, the name of generated images; ``None`` if the file is not a readable
    image.
    """
    try:
        with boundary(DataError, "Decoding a media file"), opened_image(path) as image:
            image.load()
            return _pixel_digest(image)
    except DataError:
        return None


def media_path(folder: Path, name: str) -> Path:
    """The path of the media file with this name."""
    return folder / name[:2] / name


def read_media(folder: Path, name: str) -> tuple[bytes, str] | None:
    """A media file's bytes and MIME type; ``None`` if it does not exist or its name leads out of the folder."""
    if _stored_file(folder, name) is None:
        return None
    data = media_path(folder, name).read_bytes()
    mime = sniff_mime(data) or sniff_audio_mime(data) or sniff_video_mime(data)
    return data, mime or "application/octet-stream"


def media_size(folder: Path, name: str) -> int | None:
    """The number of bytes of a media file; ``None`` if ``read_media`` has none."""
    found = _stored_file(folder, name)
    return None if found is None else found.st_size


def _stored_file(folder: Path, name: str) -> os.stat_result | None:
    """Return the system's status of a media file; ``None`` if it does not exist or its name leads out of the folder."""
    path = media_path(folder, name)
    if _OWN_NAME.fullmatch(name):
        # Such a name leads out only by a link. Checking for one takes a fifth of the time of resolving paths.
        with suppress(OSError):
            shelf, file = os.lstat(path.parent), os.lstat(path)
            if stat.S_ISDIR(shelf.st_mode) and stat.S_ISREG(file.st_mode):
                return file
    if "\0" in name or not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        return None
    return path.stat()


def _preview(image: Image, source: bytes, mime: str | None) -> bytes:
    """The JPEG of an image, no larger than a preview.

    A JPEG that is not decoded yet is decoded at half, a quarter or an eighth of its size if that is enough.
    """
    if mime == "image/jpeg" and not image.is_decoded:
        decoded = opened_image(source)
        decoded.draft("RGB", (PREVIEW_SIDE_PX, PREVIEW_SIDE_PX))
        decoded.load()
        shown = as_shown(decoded)
    else:
        shown = image.shown(keeps_grey=True)
    scale = PREVIEW_SIDE_PX / max(shown.size)
    if scale >= 1:
        return _jpeg(shown)
    size = (max(1, round(shown.width * scale)), max(1, round(shown.height * scale)))
    # ``thumbnail`` works in place, on a copy of all pixels, and scales smoothly from twice the size.
    return _jpeg(shown.resize(size, reducing_gap=_REDUCING_GAP))


def _jpeg(image: PILImage) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", quality=80)
    return buffer.getvalue()


def _png(image: PILImage) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", compress_level=_PNG_LEVEL)
    return buffer.getvalue()
