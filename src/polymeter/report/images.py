"""The media of a page: data URIs, each file once.

Images that fit are embedded unchanged, without being decoded. If they do not fit, large ones are scaled down, several
at a time because the run waits for its report.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polymeter.core.content import Image, readable_image
from polymeter.core.errors import DataError, boundary
from polymeter.core.machine.hardware import available_cores
from polymeter.core.media.pixels import opened_image
from polymeter.core.media.shown_images import as_shown
from polymeter.core.media.sources import sniff_audio_mime, sniff_mime, sniff_video_mime

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

LoadMedia = Callable[[str], "tuple[bytes, str] | None"]
_SMALL_BYTES = 12_000
_SIDE_PX = 448
_LEAST_SIDE_PX = 300
"""A half, quarter or eighth of a JPEG with a longer side of at least so much is shown without further scaling."""
_MOST_THREADS = 4
_AT_ONCE = 16
_QUALITY = 70
_LONGEST_MIME = "audio/mpeg"
_EXIF_ORIENTATION = 0x0112
_SIDEWAYS = (5, 6, 7, 8)
_PUNCTUATION = len('"":"",')


@dataclass(frozen=True, slots=True)
class Embedded:
    """One medium of a page.

    Attributes:
        uri: Its data URI.
        size: Width and height of the file in pixels if the URI has a smaller image, else ``None``.
    """

    uri: str
    size: tuple[int, int] | None = None

    def json(self) -> str:
        """As a page's script reads it: the URI, or in a list with the size of the file."""
        return f'"{self.uri}"' if self.size is None else f'["{self.uri}",{self.size[0]},{self.size[1]}]'


@dataclass(frozen=True, slots=True)
class PageMedia:
    """The media files of a run.

    Attributes:
        load: Bytes and MIME type of a file; ``None`` if there is no such file.
        size: The number of its bytes, without reading it.
    """

    load: LoadMedia
    size: Callable[[str], int | None]

    def uri_size(self, name: str) -> int:
        """Return the most bytes that an unchanged file adds to a page; 0 if the file does not exist."""
        n_bytes = self.size(name)
        return 0 if n_bytes is None else len(name) + _size(n_bytes, _LONGEST_MIME) + _PUNCTUATION

    def whole(self, name: str) -> Embedded | None:
        """A file unchanged; ``None`` if it is missing or not in a format that every browser shows."""
        medium = self.load(name)
        return None if medium is None or not _is_shown(medium) else Embedded(_uri(*medium))

    def small(self, name: str) -> Embedded | None:
        """A file, scaled down if it is a large image; ``None`` if it is missing or browsers cannot show its format."""
        medium = self.load(name)
        if medium is None or not _is_shown(medium):
            return None
        smaller = _smaller(medium)
        return Embedded(_uri(*medium)) if smaller is None else Embedded(_uri(smaller.data, smaller.mime), smaller.of)


def thumbnail_pool() -> ThreadPoolExecutor:
    """Threads to scale images down on."""
    return ThreadPoolExecutor(min(_MOST_THREADS, available_cores()))


@dataclass(frozen=True, slots=True)
class EmbeddedImages:
    """Images as data URIs.

    Attributes:
        uris: Data URI by file name.
        n_smaller: How many were scaled down.
        n_left_out: How many did not fit.
        n_missing: How many do not exist or are not in a format that every browser shows.
    """

    uris: dict[str, str]
    n_smaller: int = 0
    n_left_out: int = 0
    n_missing: int = 0


def embed(names: Iterable[str], load: LoadMedia, budget: int) -> EmbeddedImages:
    """Embed images until the budget is spent.

    Args:
        names: File names, the most important first.
        load: Bytes and MIME type of a file; ``None`` if there is no such file.
        budget: Total length of the data URIs in bytes.
    """
    unique_names = [*dict.fromkeys(names)]
    # Only sizes are kept: each file is read again when it is embedded, so that a run's images are never all in memory.
    uri_sizes = {name: size for name in unique_names if (size := _uri_size(load(name))) is not None}
    must_shrink = sum(uri_sizes.values()) > budget
    uris: dict[str, str] = {}
    spent = n_smaller = n_left_out = 0
    for name, medium, is_smaller in _loaded(list(uri_sizes), load, must_shrink=must_shrink):
        if medium is None:
            continue
        data, mime = medium
        if spent + _size(len(data), mime) > budget:
            n_left_out += 1
            continue
        uris[name] = _uri(data, mime)
        spent += len(uris[name])
        n_smaller += is_smaller
    return EmbeddedImages(uris, n_smaller, n_left_out, len(unique_names) - len(uri_sizes))


def _loaded(
    names: Sequence[str], load: LoadMedia, *, must_shrink: bool
) -> Iterator[tuple[str, tuple[bytes, str] | None, bool]]:
    """Each name with its file, and whether that was scaled down; in their order, a few in memory at a time."""

    def one(name: str) -> tuple[str, tuple[bytes, str] | None, bool]:
        medium = load(name)
        smaller = _smaller(medium) if must_shrink and medium is not None else None
        return name, medium if smaller is None else (smaller.data, smaller.mime), smaller is not None

    if not must_shrink:
        yield from map(one, names)
        return
    context = copy_context()
    with thumbnail_pool() as pool:
        for start in range(0, len(names), _AT_ONCE):
            yield from pool.map(lambda name: context.copy().run(one, name), names[start : start + _AT_ONCE])


def _uri_size(medium: tuple[bytes, str] | None) -> int | None:
    """Length of the data URI; ``None`` if the file is missing or not in a format that every browser shows."""
    if medium is None or sniff_mime(medium[0]) != medium[1]:
        return None
    return _size(len(medium[0]), medium[1])


def _is_shown(medium: tuple[bytes, str]) -> bool:
    """Return whether every browser shows or plays a file, and its content matches its type."""
    data, mime = medium
    return mime in (sniff_mime(data), sniff_audio_mime(data), sniff_video_mime(data))


def _uri(data: bytes, mime: str) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def _size(n_bytes: int, mime: str) -> int:
    return 4 * -(-n_bytes // 3) + len(mime) + len("data:;base64,")


@dataclass(frozen=True, slots=True)
class _Smaller:
    """A smaller image: its bytes, their type, and width and height of the image that it was made of."""

    data: bytes
    mime: str
    of: tuple[int, int]


def _smaller(medium: tuple[bytes, str]) -> _Smaller | None:
    data, mime = medium
    if len(data) <= _SMALL_BYTES or mime == "image/gif" or not mime.startswith("image/"):
        return None
    try:
        image, size = _decoded(data, mime)
    except DataError:
        return None
    from PIL.Image import Resampling

    is_transparent = image.has_transparency_data
    if is_transparent:
        small = image if image.mode == "RGBA" else image.convert("RGBA")
    else:
        small = as_shown(image).convert("RGB")
    small.thumbnail((_SIDE_PX, _SIDE_PX), Resampling.HAMMING)
    buffer = io.BytesIO()
    # WebP keeps transparency; JPEG is an order of magnitude faster to write, and every run ends with this report.
    small.save(buffer, format="WEBP" if is_transparent else "JPEG", quality=_QUALITY)
    shrunk = buffer.getvalue()
    kind = "image/webp" if is_transparent else "image/jpeg"
    return _Smaller(shrunk, kind, size) if len(shrunk) < len(data) else None


def _decoded(data: bytes, mime: str) -> tuple[PILImage, tuple[int, int]]:
    """An image, upright, and its whole size. A JPEG is decoded at a fraction of its size: one that needs no further
    scaling, if there is one, for that takes six times as long.

    Raises:
        DataError: if it cannot be decoded.
    """
    from PIL import ImageOps

    whole = Image(data)
    if mime != "image/jpeg":
        return whole.open(), whole.size()
    with boundary(DataError, "Decoding an image of the report"), readable_image(whole.describe):
        image = opened_image(data, whole.describe)
        width, height = size = image.size
        sides = {fraction: max(size) // fraction for fraction in (2, 4, 8)}
        fitting = [fraction for fraction, side in sides.items() if _LEAST_SIDE_PX <= side <= _SIDE_PX]
        larger = [1, *(fraction for fraction, side in sides.items() if side > _SIDE_PX)]
        fraction = (fitting or larger)[-1]
        image.draft("RGB", (max(1, width // fraction), max(1, height // fraction)))
        is_turned = image.getexif().get(_EXIF_ORIENTATION, 1) in _SIDEWAYS
        ImageOps.exif_transpose(image, in_place=True)  # else it would copy every image that is upright already
        return image, (height, width) if is_turned else size
