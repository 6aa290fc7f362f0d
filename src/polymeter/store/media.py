"""The media of a run: previews of inputs and full generated images, content-addressed, each written once."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, boundary
from polymeter.core.parts import Audio, Image, Media, Video
from polymeter.core.sources import digest, sniff_audio_mime, sniff_mime

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

    from polymeter.core.stored_image import StoredImage

AS_IS_BYTES = 64 * 1024
AS_IS_BYTES_IF_SMALL = 256 * 1024
"""An image that is no larger than a preview is kept as it is up to this size: encoding it anew would cost more time
than it saves space."""
SOUND_BYTES = 256 * 1024
PREVIEW_SIDE_PX = 768
_SUFFIX = {"image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp"}
_LOSSLESS = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
"""The modes of Pillow that come back from a PNG as they were."""
_SOUND_SUFFIX = {
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

    def keep_preview(self, image: Image) -> None:
        """Write a preview of an input: its own bytes when they are few, else a smaller JPEG. Notes it on the image.

        Bytes that are kept as they are are not decoded; a large JPEG is decoded at the nearest fraction of its size,
        unless the whole of it has been decoded already.

        Raises:
            DataError: The image has no header that can be read.
        """
        if image.note is not None:
            return
        width, height = image.size()
        note: dict[str, Any] = {"width": width, "height": height}
        if self.keeps_previews:
            try:
                with boundary(DataError, "Making a preview"):
                    note["file"] = self._preview_file(image, max(width, height))
            except DataError as error:  # a picture that a model can be shown, and a JPEG cannot hold
                note["source"] = str(error)
        image.annotate(note)

    def _preview_file(self, image: Image, side_px: int) -> str:
        source = image.original_bytes() or b""
        mime = sniff_mime(source)
        most = AS_IS_BYTES_IF_SMALL if side_px <= PREVIEW_SIDE_PX else AS_IS_BYTES
        if mime is not None and len(source) <= most:
            return self._write(image.content_hash() + _SUFFIX[mime], lambda: source)
        return self._write(image.content_hash() + ".preview.jpg", lambda: _preview(image, source, mime))

    def keep_strip(self, video: Video, strip: PILImage, *, width: int, height: int, duration_s: float | None) -> None:
        """Write a strip of a video's frames and note it on the video, with the size and duration of the video
        itself.
        """
        data = _jpeg(strip)
        note: dict[str, Any] = {"source": video.describe(), "width": width, "height": height}
        if duration_s is not None:
            note["duration_s"] = duration_s
        video.annotate({**note, "file": self._write(digest(data) + ".strip.jpg", lambda: data)})

    def keep_sound(self, audio: Audio) -> None:
        """Write a sound as it is, if it comes as a small file of a kind that browsers play. Notes it on the sound.

        Raises:
            DataError: Its file does not exist.
        """
        note: dict[str, Any] = {"source": audio.describe()}
        origin = audio.origin()
        is_small = not isinstance(origin, Path) or not origin.is_file() or origin.stat().st_size <= SOUND_BYTES
        data = (audio.original_bytes() or b"") if is_small else b""
        suffix = _SOUND_SUFFIX.get(sniff_audio_mime(data) or "")
        if suffix and len(data) <= SOUND_BYTES:
            note["file"] = self._write(digest(data) + suffix, lambda: data)
        audio.annotate(note)

    def describe(self, medium: Media) -> dict[str, Any]:
        """What to keep of a medium in the journal."""
        return medium.note if medium.note is not None else {"source": medium.describe()}

    def keep_generated(self, picture: PILImage) -> StoredImage:
        """Write a generated image losslessly; gives a reference to its file. Durable before this returns.

        The name of the file says what the image shows and not how it is encoded: equal pixels are written once.

        Raises:
            DataError: Its pixels are of a kind that a PNG cannot hold exactly.
        """
        if picture.mode not in _LOSSLESS:
            raise DataError(
                f"An image of mode {picture.mode!r} cannot be stored without loss.",
                hint=f"The model should give one of {', '.join(_LOSSLESS)}: image.convert('RGB').",
            )
        from polymeter.core.stored_image import stored_image

        name = self._write(f"{_pixel_digest(picture)}.png", lambda: _png(picture), is_synced=True)
        return stored_image(media_path(self.folder, name), picture.size, picture.mode)

    def keep_input(self, medium: Media) -> Media:
        """Write what a model's own prompt shows, byte for byte; gives the medium with its kept file as source. What lies
        at a URL stays there. Durable before this returns.

        Raises:
            DataError: if it cannot be read.
        """
        if medium.is_url and not str(medium.source).startswith("data:"):
            return medium
        if isinstance(medium, Image):
            data, mime = medium.encoded()
            suffix = _SUFFIX[mime]
        else:
            known, origin = medium.original_bytes(), medium.origin()
            if known is None:
                raise DataError(f"The {medium.modality} {medium.describe()} of a model's own prompt is no file.")
            data, suffix = known, origin.suffix if isinstance(origin, Path) else ""
        name = self._write(f"{digest(data)}.prompt{suffix}", lambda: data, is_synced=True)
        kept = media_path(self.folder, name)
        if isinstance(medium, Video):
            return Video(kept, medium.key, medium.start_s, medium.end_s)
        return type(medium)(kept, medium.key)

    def place_of(self, name: str) -> Path:
        """Where a kept input lies."""
        return media_path(self.folder, name)

    def name_of(self, stored: StoredImage) -> str:
        """The name of a kept image's file within the media folder."""
        return stored.path.name

    def load(self, name: str) -> StoredImage:
        """A stored image, which is a reference to its file until somebody looks at its pixels.

        Raises:
            DataError: The file is missing or holds no image.
        """
        from polymeter.core.stored_image import open_stored

        return open_stored(media_path(self.folder, name))

    def _write(self, name: str, make: Callable[[], bytes], *, is_synced: bool = False) -> str:
        shelf = name[:2]
        folder = f"{self.folder}/{shelf}"
        path = f"{folder}/{name}"
        if shelf not in self._shelves:
            os.makedirs(folder, exist_ok=True)
            self._shelves.add(shelf)
        if not os.path.exists(path):
            temporary = f"{folder}/.{name}.{threading.get_ident()}"
            with open(temporary, "wb", buffering=0) as file:
                file.write(make())
                if is_synced:
                    os.fsync(file.fileno())
            os.replace(temporary, path)
        return name


def _pixel_digest(picture: PILImage) -> str:
    """Digest of what an image shows: pixels, and what gives them their colours (palette, transparent colour, colour
    profile).
    """
    info = picture.info
    palette = picture.getpalette(None)  # with the opacity of its colours, where they have one
    meaning = (picture.mode, picture.size, palette, info.get("transparency"), info.get("icc_profile"))
    return digest(repr(meaning).encode() + picture.tobytes())


def _png(picture: PILImage) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", compress_level=1)
    return buffer.getvalue()


def media_path(folder: Path, name: str) -> Path:
    """Where a media file of that name lies."""
    return folder / name[:2] / name


def read_media(folder: Path, name: str) -> tuple[bytes, str] | None:
    """A media file's bytes and MIME type; ``None`` if it is not there or its name leads out of the folder."""
    path = media_path(folder, name)
    if "\0" in name or not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        return None
    data = path.read_bytes()
    return data, sniff_mime(data) or sniff_audio_mime(data) or "application/octet-stream"


def _preview(image: Image, source: bytes, mime: str | None) -> bytes:
    """The smaller JPEG of an image.

    A JPEG that nobody has decoded yet is decoded at half, a quarter or an eighth of its size where that is enough.
    """
    if mime == "image/jpeg" and not image.is_decoded:
        from PIL import Image as pil
        from PIL import ImageOps

        picture: PILImage = pil.open(io.BytesIO(source))
        picture.draft("RGB", (PREVIEW_SIDE_PX, PREVIEW_SIDE_PX))
        picture = ImageOps.exif_transpose(picture)
    else:
        picture = image.open()
    small = picture.convert("RGB") if picture.mode not in ("RGB", "L") else picture.copy()
    small.thumbnail((PREVIEW_SIDE_PX, PREVIEW_SIDE_PX))
    return _jpeg(small)


def _jpeg(picture: PILImage) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, format="JPEG", quality=80)
    return buffer.getvalue()
