"""Images in and out of base64, as tables carry them.

Names, arguments and defaults are those of ``ulmeval.smp.ulm``: writing makes a JPEG, alpha is dropped both ways, and an
image whose shorter side has fewer than 100 pixels is enlarged on writing (``VLMEVAL_MIN_IMAGE_EDGE``; the longest text,
in characters, is ``VLMEVAL_MAX_IMAGE_SIZE``). Where the exact pixels matter, put a file's own bytes in base64: reading
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
from polymeter.core.sources import from_data_url

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

log = logging.getLogger(__name__)

_LEAST_EDGE = "VLMEVAL_MIN_IMAGE_EDGE", 100
_MOST_CHARS = "VLMEVAL_MAX_IMAGE_SIZE", 1_000_000_000
_WITH_ALPHA = ("RGBA", "P", "LA")
_JPEG_MODES = ("1", "L", "RGB", "RGBX", "CMYK", "YCbCr")
_SHRINK = 0.7


def encode_image_to_base64(img: PILImage, target_size: int = -1, fmt: str = "JPEG") -> str:
    """An image as base64. The image itself is not changed.

    Args:
        img: The image.
        target_size: Most pixels of either side; -1: any.
        fmt: Pillow's name of the format.

    Raises:
        DataError: The image cannot be written in that format.
    """
    picture = img.convert("RGB") if img.mode in _WITH_ALPHA or not _fits(img.mode, fmt) else img.copy()
    if target_size > 0:
        picture.thumbnail((target_size, target_size))
    least, most = _setting(*_LEAST_EDGE), _setting(*_MOST_CHARS)
    edge = min(picture.size)
    text = _encoded(_scaled(picture, least / edge) if edge < least else picture, fmt)
    factor = 1.0
    while len(text) > most and min(picture.size) * factor * _SHRINK >= 1:
        factor *= _SHRINK
        text = _encoded(_scaled(picture, factor), fmt)
    if factor < 1:
        log.warning(
            "an image was shrunk to %.2f of its size, to fit in %d characters (%s)", factor, most, _MOST_CHARS[0]
        )
    return text


def encode_image_file_to_base64(image_path: str | Path, target_size: int = -1, fmt: str = "JPEG") -> str:
    """The image in a file as base64; see ``encode_image_to_base64``.

    Raises:
        DataError: The file is missing or is no image.
    """
    from PIL import Image as pil

    if not Path(image_path).is_file():
        raise DataError(f"There is no image file {image_path}.")
    with boundary(DataError, f"Opening the image {image_path}"), pil.open(image_path) as picture:
        picture.load()
        return encode_image_to_base64(picture, target_size, fmt)


def decode_base64_to_image(base64_string: str, target_size: int = -1) -> PILImage:
    """The image in a base64 text, without its alpha.

    Args:
        base64_string: Base64, bare or as a ``data:`` URL. White space is ignored, other foreign characters are errors.
        target_size: Most pixels of either side; -1: any.

    Raises:
        DataError: It is no base64, or holds no image.
    """
    from PIL import Image as pil

    data = decode_base64(base64_string)
    with boundary(DataError, f"Decoding an image of {len(data)} bytes from base64"):
        picture: PILImage = pil.open(io.BytesIO(data))
        picture.load()
    if picture.mode in _WITH_ALPHA:
        picture = picture.convert("RGB")
    if target_size > 0:
        picture.thumbnail((target_size, target_size))
    return picture


def decode_base64_to_image_file(base64_string: str, image_path: str | Path, target_size: int = -1) -> None:
    """Write the image in a base64 text to a file, in the format that its suffix names. Makes the folder.

    Raises:
        DataError: It is no base64, holds no image, or the suffix names no format.
    """
    picture = decode_base64_to_image(base64_string, target_size)
    path = Path(image_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() in (".jpg", ".jpeg") and picture.mode not in _JPEG_MODES:
        picture = picture.convert("RGB")
    with boundary(DataError, f"Writing the image {path}"):
        picture.save(path)


def decode_base64(text: str) -> bytes:
    """The bytes in a base64 text.

    Args:
        text: Base64, bare or as a ``data:`` URL. White space is ignored.

    Raises:
        DataError: There is anything else in it, or it is cut off.
    """
    if text.startswith("data:"):
        return from_data_url(text)
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (ValueError, binascii.Error) as error:
        shown = f"{text[:40]!r}{'…' if len(text) > 40 else ''}"
        raise DataError(f"{shown} is not base64: {error}.") from error


def _encoded(picture: PILImage, fmt: str) -> str:
    buffer = io.BytesIO()
    with boundary(DataError, f"Writing an image of mode {picture.mode} as {fmt}"):
        picture.save(buffer, format=fmt)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _scaled(picture: PILImage, factor: float) -> PILImage:
    return picture.resize((max(1, int(picture.width * factor)), max(1, int(picture.height * factor))))


def _fits(mode: str, fmt: str) -> bool:
    return fmt.upper() not in ("JPEG", "JPG") or mode in _JPEG_MODES


def _setting(name: str, default: int) -> int:
    text = os.environ.get(name)
    if not text:
        return default
    try:
        return int(float(text))
    except (ValueError, OverflowError) as error:
        raise DataError(f"{name}={text} is no number.", where=f"${name}") from error
