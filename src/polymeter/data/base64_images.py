"""Images to and from base64, the form in which tables carry them.

Names, arguments and defaults are those of ``ulmeval.smp.ulm``: encoding writes a JPEG, alpha is dropped both ways, and
an image whose shorter side has fewer than 100 pixels is enlarged when it is encoded (``VLMEVAL_MIN_IMAGE_EDGE``; the
longest text, in characters, is ``VLMEVAL_MAX_IMAGE_SIZE``). Where exact pixels matter, encode a file's bytes: decoding
never enlarges.
"""

from __future__ import annotations

import base64
import binascii
import io
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from polymeter.core.errors import DataError, boundary
from polymeter.core.machine.files import replacing
from polymeter.core.media.pixels import opened_image
from polymeter.core.media.sources import from_data_url, on_disk

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

log = logging.getLogger(__name__)

_MIN_EDGE = "VLMEVAL_MIN_IMAGE_EDGE", 100
_MAX_CHARS = "VLMEVAL_MAX_IMAGE_SIZE", 1_000_000_000
_WITH_ALPHA = ("RGBA", "P", "LA")
_JPEG_MODES = ("1", "L", "RGB", "RGBX", "CMYK", "YCbCr")
_SHRINK = 0.7


def encode_image_to_base64(img: PILImage, target_size: int = -1, fmt: str = "JPEG") -> str:
    """An image as base64. The original image stays unchanged.

    Args:
        img: The image.
        target_size: Upper limit of either side in pixels; -1: none.
        fmt: Pillow's name of the file format.

    Raises:
        DataError: if the image cannot be written in that format.
    """
    image = img.convert("RGB") if img.mode in _WITH_ALPHA or not _fits(img.mode, fmt) else img.copy()
    if target_size > 0:
        image.thumbnail((target_size, target_size))
    min_edge, max_chars = _setting(*_MIN_EDGE), _setting(*_MAX_CHARS)
    edge = min(image.size)
    text = _encoded(_scaled(image, min_edge / edge) if edge < min_edge else image, fmt)
    factor = 1.0
    while len(text) > max_chars and min(image.size) * factor * _SHRINK >= 1:
        factor *= _SHRINK
        text = _encoded(_scaled(image, factor), fmt)
    if factor < 1:
        log.warning(
            "an image was shrunk to %.2f of its size to fit in %d characters (%s)", factor, max_chars, _MAX_CHARS[0]
        )
    return text


def encode_image_file_to_base64(image_path: str | Path, target_size: int = -1, fmt: str = "JPEG") -> str:
    """The image in a file as base64; see ``encode_image_to_base64``.

    Raises:
        DataError: if the file is missing or not an image.
    """
    if not Path(on_disk(str(image_path))).is_file():
        raise DataError(f"There is no image file {image_path}.")
    name = f"The image {image_path}"
    with boundary(DataError, f"Opening the image {image_path}"), opened_image(image_path, name) as image:
        image.load()
        return encode_image_to_base64(image, target_size, fmt)


def decode_base64_to_image(base64_string: str, target_size: int = -1) -> PILImage:
    """The image in a base64 text, without its alpha.

    Args:
        base64_string: Base64, bare or as a ``data:`` URL. White space is ignored; any other character outside the
            alphabet is an error.
        target_size: Upper limit of either side in pixels; -1: none.

    Raises:
        DataError: if the text is not base64, or holds no image.
    """
    data = decode_base64(base64_string)
    with boundary(DataError, f"Decoding an image of {len(data)} bytes from base64"):
        image: PILImage = opened_image(data, "An image in base64")
        image.load()
    if image.mode in _WITH_ALPHA:
        image = image.convert("RGB")
    if target_size > 0:
        image.thumbnail((target_size, target_size))
    return image


def decode_base64_to_image_file(base64_string: str, image_path: str | Path, target_size: int = -1) -> None:
    """Write the image in a base64 text to a file, in the format that its suffix names. Creates the folder. Another
    process sees the file whole or not at all.

    Raises:
        DataError: if the text is not base64, holds no image, or the suffix names no format.
    """
    from PIL import Image as pil

    image = decode_base64_to_image(base64_string, target_size)
    path = Path(image_path)
    if path.suffix.lower() in (".jpg", ".jpeg") and image.mode not in _JPEG_MODES:
        image = image.convert("RGB")
    with boundary(DataError, f"Writing the image {path}"), replacing(path, binary=True, is_synced=False) as file:
        kind = pil.registered_extensions().get(path.suffix.lower())
        if kind is None:
            raise ValueError(f"unknown file extension: {path.suffix}")
        image.save(file, kind)


def decode_base64(text: str) -> bytes:
    """The bytes in a base64 text.

    Args:
        text: Base64, bare or as a ``data:`` URL. White space is ignored.

    Raises:
        DataError: if it contains anything else, or is cut off.
    """
    if text.startswith("data:"):
        return from_data_url(text)
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (ValueError, binascii.Error) as error:
        shown = f"{text[:40]!r}{'…' if len(text) > 40 else ''}"
        raise DataError(f"{shown} is not base64: {error}.") from error


def _encoded(image: PILImage, fmt: str) -> str:
    buffer = io.BytesIO()
    with boundary(DataError, f"Writing an image of mode {image.mode} as {fmt}"):
        image.save(buffer, format=fmt)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _scaled(image: PILImage, factor: float) -> PILImage:
    return image.resize((max(1, int(image.width * factor)), max(1, int(image.height * factor))))


def _fits(mode: str, fmt: str) -> bool:
    return fmt.upper() not in ("JPEG", "JPG") or mode in _JPEG_MODES


def _setting(name: str, default: int) -> int:
    text = os.environ.get(name)
    if not text:
        return default
    try:
        return int(float(text))
    except (ValueError, OverflowError) as error:
        raise DataError(f"{name}={text} is not a number.", where=f"${name}") from error
