"""Opening images: in which formats, and with how many pixels, for a file of a few kilobytes can stand for gigabytes.

An image is looked at before it is decoded, when only its header was read. One that is too large is an error of its
sample. The check is made wherever Polymeter opens an image; Pillow's own limit is set to the same number, so that it
holds in code of others too, unless that code lifts it. The bytes decide on the format, not the name of a file.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from polymeter.core.errors import PIXEL_HINT, DataError
from polymeter.core.guest_context import MOST_PIXELS, guest_context, guest_context_with
from polymeter.core.media.sources import on_disk

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

    from polymeter.core.content import Image

_OF_ONE_SAMPLE = 4
"""The images of one request may have so many times the pixels of the largest image that is allowed: a document of 200
scanned pages has no page that is large.
"""
FORMATS = (
    "AVIF", "BMP", "DDS", "DIB", "GIF", "HEIF", "ICNS", "ICO", "JPEG", "JPEG2000", "JXL", "PCX", "PNG", "PPM",
    "PSD", "QOI", "SGI", "TGA", "TIFF", "WEBP",
)  # fmt: skip
"""The formats that are read, by Pillow's names: images of pixels, which a decoder turns into pixels and nothing else.
PostScript is a program, for which Pillow starts Ghostscript; others need programs or packages of the system as well.
HEIF and JXL are read if a package adds them."""
_MAGIC_BYTES = 16
_OF_NO_PIXELS = {b"%PDF": "PDF", b"<svg": "SVG", b"<?xml": "XML"}
"""Formats that Pillow has no name for and that are met as images."""


def opened_image(
    source: bytes | str | os.PathLike[str] | IO[bytes], name: str | Callable[[], str] | None = None
) -> ImageFile:
    """An image of which the header was read.

    Args:
        source: Its encoded bytes, or the file.
        name: The image in messages, or what returns that; ``None``: it may have any number of pixels.

    Raises:
        PIL.UnidentifiedImageError: if it is in none of the formats that are read.
        OSError: if the file cannot be read.
        DataError: if it has more pixels than ``--max-image-pixels`` allows.
    """
    from PIL import Image as pil
    from PIL import UnidentifiedImageError

    file: Any = source
    if isinstance(source, bytes):
        file = io.BytesIO(source)
    elif isinstance(source, (str, os.PathLike)):
        file = on_disk(os.fspath(source))
    for load in (pil.preinit, pil.init):  # the usual formats, and only if it is in none of them all others
        load()
        with suppress(UnidentifiedImageError):
            image = pil.open(file, formats=[kind for kind in FORMATS if kind in pil.OPEN])
            if name is not None:
                check_pixels(image.size, name)
            return image
    raise UnidentifiedImageError(_why_unread(file))


def _why_unread(file: str | IO[bytes]) -> str:
    """Return the reason why a file is not opened as an image: its format, if that is known, and those that are read."""
    from PIL import Image as pil

    if isinstance(file, str):
        with Path(file).open("rb") as opened:
            head = opened.read(_MAGIC_BYTES)
    else:
        file.seek(0)
        head = file.read(_MAGIC_BYTES)
    found = next((kind for magic, kind in _OF_NO_PIXELS.items() if head.startswith(magic)), "")
    for kind, (factory, accepts) in pil.OPEN.items():
        # Some look at numbers behind the magic bytes, which a short file does not have.
        if not found and kind not in FORMATS and accepts and accepts(head.ljust(_MAGIC_BYTES, b"\0")) is True:
            found = f"{getattr(factory, 'format_description', kind)} ({kind})"
    known = [kind for kind in FORMATS if kind in pil.OPEN]
    if not found:
        return "it is of a format that Pillow does not support"
    return f"it is {found}, not {', '.join(known[:-1])} or {known[-1]}"


def refuse_ghostscript() -> None:
    """Keep Pillow from starting Ghostscript for a PostScript image that code of others opens by itself. Does nothing
    before something has imported Pillow.
    """
    if "PIL.Image" in sys.modules:
        from PIL import EpsImagePlugin

        EpsImagePlugin.gs_binary = False


def check_pixels(size: tuple[int, int], name: str | Callable[[], str]) -> None:
    """Refuse an image that is too large to be decoded.

    Args:
        size: Width and height in pixels, as its header says.
        name: The image, for the message, or what returns it.

    Raises:
        DataError: if it has more pixels than ``--max-image-pixels`` allows.
    """
    most = guest_context().max_image_pixels
    width, height = size
    if width * height > most:
        shown = name() if callable(name) else name
        raise DataError(
            f"{shown} is {width}x{height}: {width * height:,} pixels, where --max-image-pixels allows {most:,}.",
            hint=PIXEL_HINT,
        )


def check_sample(images: Iterable[Image]) -> None:
    """Refuse images that together are too large to be decoded for one request.

    Raises:
        DataError: if one of them, or all of them, have too many pixels, or one has no header that can be read.
    """
    most = _OF_ONE_SAMPLE * guest_context().max_image_pixels
    total = 0
    for image in images:
        width, height = image.size()
        total += width * height
        if total > most:
            raise DataError(
                f"The images of this sample have more than {most:,} pixels, {_OF_ONE_SAMPLE} times what "
                "--max-image-pixels allows for one.",
                hint=PIXEL_HINT,
            )


@contextmanager
def pixel_budget(most: int) -> Iterator[None]:
    """Inside the block, no image may have more pixels than this.

    Args:
        most: Width times height.
    """
    with guest_context_with(max_image_pixels=most):
        if most == MOST_PIXELS:  # Pillow's own limit is the same, and importing it takes 25 ms
            yield
            return
        from PIL import Image as pil

        before = pil.MAX_IMAGE_PIXELS
        pil.MAX_IMAGE_PIXELS = (most + 1) // 2  # Pillow warns from here on, and refuses twice as many
        try:
            yield
        finally:
            pil.MAX_IMAGE_PIXELS = before
