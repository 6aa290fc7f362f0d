"""Checks of image headers: images that every decoder shows alike.

Such bytes are sent unchanged. Others are decoded here and encoded again, because servers differ: transparent parts
lie on black or on white, 16 bits are cut or clipped, an orientation is applied or not, of an animation one frame or
several are seen. No pixel is decoded to find out, and a malformed image counts as plain: its decoder reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from polymeter.core.media.pixels import opened_image

_EXIF_MARKS: Mapping[str, tuple[bytes, ...]] = {
    "image/jpeg": (b"Exif\0",),
    "image/png": (b"eXIf", b"Raw profile type"),
    "image/webp": (b"EXIF",),
}
_XMP_MARK = b"tiff:Orientation"
"""The places where Pillow looks for an orientation if there is no EXIF data."""
_JPEG_HEADERS = 1 << 16
_ORIENTATION = 0x0112
_PNG_BODY = 8
_PNG_OPAQUE = (0, 2, 3)
"""The colour types of a PNG without an alpha channel: grey, RGB, palette."""
_WEBP_ALPHA = 0x10
_WEBP_ANIMATION = 0x02
_JPEG_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})
_JPEG_SCAN = 0xDA
_JPEG_NOT_FRAMES = (0xC4, 0xC8, 0xCC)
_JPEG_START = b"\xff\xd8\xff"
_JPEG_FRAMES = (0xC0, 0xC1, 0xC2)
"""Baseline, extended and progressive: others are rare, and not every reader has them."""
_JPEG_APP0, _JPEG_TABLE = 0xE0, 0xDB
_JPEG_SKIPPED = (0xC4, 0xDD, 0xFE)
"""Codes, restart intervals and comments, which Pillow reads without looking inside."""
_JFIF_LENGTH, _SCAN_LENGTH = 16, 8
_TABLE_LENGTH, _FIRST_WIDE_TABLE = 65, 0x10
_GIF_EXTENSION, _GIF_IMAGE = 0x21, 0x2C
_GIF_CONTROL = 0xF9


def is_plain_file(data: bytes, mime: str) -> bool:
    """Return whether an encoded image is opaque, has 8 bits a channel at most, is grey or RGB, and is not an animation.

    Args:
        data: Its bytes.
        mime: Its type, as ``sniff_mime`` says.
    """
    check = _CHECKS.get(mime)
    try:
        return check is None or check(data)
    except IndexError:  # it ends too early
        return True


def is_turned(data: bytes, mime: str, *, by_exif: bool | None = None) -> bool:
    """Return whether a reader that ignores orientations would show the image rotated. More than a search of the bytes
    is done only if there is a mark of an orientation, which in a JPEG is near the beginning.

    Args:
        data: Its bytes.
        mime: Its type.
        by_exif: Count only orientations in EXIF data (true), or only those outside it (false); ``None``: both.
    """
    end = _end_of_headers(data) if mime == "image/jpeg" else len(data)
    has_exif = any(data.find(mark, 0, end) >= 0 for mark in _EXIF_MARKS.get(mime, ()))
    if by_exif is not None and has_exif is not by_exif:
        return False
    if not has_exif and (mime not in _EXIF_MARKS or data.find(_XMP_MARK, 0, end) < 0):
        return False
    with opened_image(data) as image:
        return bool(image.getexif().get(_ORIENTATION, 1) != 1)


def stated_size(data: bytes) -> tuple[int, int] | None:
    """Return the width and height that the headers of an ordinary JPEG state, in pixels; ``None`` if Pillow has to be
    asked: the bytes are anything else, a reader may turn the image, or its headers hold what Pillow might refuse.

    Pillow builds objects for every table of a JPEG. Nearly all images that are sent unchanged need their size alone.
    """
    if not data.startswith(_JPEG_START):
        return None
    size = None
    try:
        for marker, place in _jpeg_segments(data):
            length = int.from_bytes(data[place + 2 : place + 4], "big")
            if marker == _JPEG_SCAN:
                return size if _SCAN_LENGTH <= length <= len(data) - place - 2 else None
            if marker in _JPEG_FRAMES:
                n_channels = data[place + 9]
                if data[place + 4] != 8 or n_channels not in (1, 3) or length != 8 + 3 * n_channels or size:
                    return None
                height, width = (int.from_bytes(data[start : start + 2], "big") for start in (place + 5, place + 7))
                size = width, height
                if not all(size):
                    return None
            elif not _is_usual(data, marker, place, length):
                return None
    except IndexError:  # it ends too early
        return None
    return None


def _is_usual(data: bytes, marker: int, place: int, length: int) -> bool:
    """Return whether a segment of a JPEG is one that every writer uses, and whole."""
    if marker == _JPEG_APP0:
        return length >= _JFIF_LENGTH and data.startswith(b"JFIF\0", place + 4)
    if marker == _JPEG_TABLE:  # several tables may stand in one segment; of 8 bits each takes 65 bytes
        starts = range(place + 4, place + 2 + length, _TABLE_LENGTH)
        return length % _TABLE_LENGTH == 2 and length > 2 and all(data[start] < _FIRST_WIDE_TABLE for start in starts)
    return marker in _JPEG_SKIPPED and length >= 2


def grey_bits(data: bytes) -> int:
    """Return the number of bits that a PNG uses for each grey value; 8 for everything else."""
    is_grey_png = data[:4] == b"\x89PNG" and data[25:26] == b"\0"
    return data[24] if is_grey_png else 8


def _is_plain_png(data: bytes) -> bool:
    depth, colours = data[24], data[25]
    if depth > 8 or colours not in _PNG_OPAQUE:
        return False
    return not any(kind in (b"tRNS", b"acTL") for kind in _png_chunks(data))


def _png_chunks(data: bytes) -> Iterator[bytes]:
    """The types of the chunks before the pixels."""
    place = _PNG_BODY
    while place + 8 <= len(data) and (kind := data[place + 4 : place + 8]) != b"IDAT":
        yield kind
        place += 12 + int.from_bytes(data[place : place + 4], "big")


def _is_plain_jpeg(data: bytes) -> bool:
    for marker, place in _jpeg_segments(data):
        if marker == _JPEG_SCAN:
            return True
        if 0xC0 <= marker <= 0xCF and marker not in _JPEG_NOT_FRAMES:
            return data[place + 4] == 8 and data[place + 9] in (1, 3)  # CMYK has four components
    return True


def _end_of_headers(data: bytes) -> int:
    """The place in a JPEG behind which no mark of an orientation is searched: its pixels, which are nearly all of it,
    or a limit if they are not found before that.
    """
    with suppress(IndexError):  # it ends too early
        for marker, place in _jpeg_segments(data):
            if marker == _JPEG_SCAN or place >= _JPEG_HEADERS:
                return min(place, _JPEG_HEADERS)
    return _JPEG_HEADERS


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, int]]:
    """The markers of a JPEG's segments, and where each begins; what follows a scan has no such form.

    Raises:
        IndexError: if it ends too early.
    """
    place = 2
    while data[place] == 0xFF:
        marker = data[place + 1]
        if marker == 0xFF:  # fill bytes may stand before a marker
            place += 1
        elif marker in _JPEG_WITHOUT_LENGTH:
            place += 2
        else:
            yield marker, place
            place += 2 + int.from_bytes(data[place + 2 : place + 4], "big")


def _is_plain_webp(data: bytes) -> bool:
    kind = data[12:16]
    if kind == b"VP8X":
        return not data[20] & (_WEBP_ALPHA | _WEBP_ANIMATION)
    if kind == b"VP8L":
        return not data[24] & _WEBP_ALPHA
    return True


def _is_plain_gif(data: bytes) -> bool:
    """Return whether it has one frame, which covers the whole image, and no transparent colour."""
    canvas = data[6:10]
    place = 13 + _table(data[10])
    n_frames = 0
    while place < len(data):
        block = data[place]
        if block == _GIF_EXTENSION:
            if not n_frames and data[place + 1] == _GIF_CONTROL and data[place + 3] & 1:
                return False
            place = _behind_blocks(data, place + 2)
        elif block == _GIF_IMAGE:
            n_frames += 1
            if n_frames > 1 or data[place + 1 : place + 9] != bytes(4) + canvas:
                return False
            place = _behind_blocks(data, place + 11 + _table(data[place + 9]))
        else:
            break
    return True


def _table(flags: int) -> int:
    """The length of the table of colours that some flags announce."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _behind_blocks(data: bytes, place: int) -> int:
    while length := data[place]:
        place += length + 1
    return place + 1


_CHECKS: Mapping[str, Callable[[bytes], bool]] = {
    "image/jpeg": _is_plain_jpeg,
    "image/png": _is_plain_png,
    "image/webp": _is_plain_webp,
    "image/gif": _is_plain_gif,
}
