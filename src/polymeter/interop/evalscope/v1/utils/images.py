"""Images as bytes and as Base64."""

from __future__ import annotations

import base64
import io
import logging
import re
from typing import Any

from polymeter.core.media.pixels import opened_image
from polymeter.core.media.sources import sniff_audio_mime, sniff_mime, sniff_video_mime

logger = logging.getLogger("polymeter.benchmarks")

_UNITS = {unit: 1024**power for power, unit in enumerate(("b", "kb", "mb", "gb", "tb"))}
_SIZE = re.compile(r"([0-9]*\.?[0-9]+)\s*([a-zA-Z]+)")
_FIRST_QUALITY, _LAST_QUALITY, _QUALITY_STEP = 85, 40, 10
_LEAST_SIDE, _SHRINKING = 256, 0.9
_EARLIER_NAMES = {"audio/wav": "audio/x-wav", "audio/flac": "audio/x-flac"}
"""Types that EvalScope names by the words in use before they were registered."""
_OTHERS = {b"BM": "image/bmp", b"II*\0": "image/tiff", b"MM\0*": "image/tiff"}


def PIL_to_base64(image: Any, format: str = "JPEG", add_header: bool = False) -> str:
    """An image in Base64.

    Args:
        image: The image.
        format: The format, by Pillow's name.
        add_header: As a data URI.
    """
    buffer = io.BytesIO()
    image.save(buffer, format=format)
    return bytes_to_base64(buffer.getvalue(), format=format.lower(), add_header=add_header)


def bytes_to_base64(
    bytes_data: bytes,
    *,
    format: str = "png",
    add_header: bool = False,
    content_type: str = "image",
    guess_mimetype: bool = False,
) -> str:
    """Bytes in Base64.

    Args:
        bytes_data: The bytes.
        format: The format that a data URI names.
        add_header: As a data URI.
        content_type: The family that a data URI names.
        guess_mimetype: Name what the bytes are, if that can be seen.
    """
    text = base64.b64encode(bytes_data).decode("ascii")
    if not add_header:
        return text
    seen = _mime_of(bytes_data) if guess_mimetype else None
    return f"data:{seen or f'{content_type}/{format}'};base64,{text}"


def base64_to_PIL(base64_str: str) -> Any:
    """The image of a text in Base64, or of a data URI."""
    return opened_image(base64.b64decode(base64_str.split(",", 1)[-1]), "An image in base64")


def convert_image_base64_format(image_base64: str) -> tuple[str, str]:
    """An image in Base64 as JPEG or PNG, and which of them it is. What cannot be read is unchanged.

    Args:
        image_base64: The image, without a header.
    """
    data = base64.b64decode(image_base64)
    if data.startswith(b"\x89PNG"):
        return image_base64, "PNG"
    if data.startswith(b"\xff\xd8\xff"):
        return image_base64, "JPEG"
    found = "AVIF" if data[4:8] in (b"ftyp", b"avif") else "JPEG"
    try:
        image = opened_image(data, "An image in base64")
        found = image.format or found
        if found in ("JPEG", "PNG"):
            return image_base64, found
        buffer = io.BytesIO()
        (image if image.mode == "RGB" else image.convert("RGB")).save(buffer, format="JPEG", quality=95)
    except (OSError, ValueError) as error:
        if found != "JPEG":
            logger.warning("An image (%s) cannot be converted: %s", found, error)
        return image_base64, found
    return base64.b64encode(buffer.getvalue()).decode("ascii"), "JPEG"


def parse_size(value: float | str | None) -> int | None:
    """A size in bytes: of a number, or of a text as ``5MB``, where a kilobyte is 1024 bytes.

    Raises:
        ValueError: if it is no size, or not positive.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        size = int(value if isinstance(value, (int, float)) else float(value))
    except ValueError:
        match = _SIZE.fullmatch(str(value).strip())
        if match is None or match.group(2).lower() not in _UNITS:
            raise ValueError(f"{value!r} is no size; write it as 500000 or 5MB ({', '.join(_UNITS)}).") from None
        size = int(float(match.group(1)) * _UNITS[match.group(2).lower()])
    if size <= 0:
        raise ValueError(f"A size is positive, not {value!r}.")
    return size


def compress_image_to_limit(image_bytes: bytes, max_bytes: int = 10_000_000) -> tuple[bytes, str]:
    """An image below a size, and its format: unchanged (``png``, whatever it is), or as JPEG.

    The quality sinks first, then the sides, down to 256 pixels. What cannot be read is unchanged.

    Args:
        image_bytes: The image.
        max_bytes: The largest size.
    """
    from PIL import Image

    if len(image_bytes) <= max_bytes:
        return image_bytes, "png"
    try:
        image: Any = opened_image(image_bytes, "An image of a benchmark")
        image = image if image.mode in ("RGB", "L") else image.convert("RGB")
    except (OSError, ValueError) as error:
        logger.warning("An image above the limit cannot be read and is not changed: %s", error)
        return image_bytes, "png"
    quality = _FIRST_QUALITY
    made = _jpeg(image, quality)
    while len(made) > max_bytes and quality > _LAST_QUALITY:
        quality -= _QUALITY_STEP
        made = _jpeg(image, quality)
    while len(made) > max_bytes and min(image.size) > _LEAST_SIDE:
        size = tuple(max(_LEAST_SIDE, int(side * _SHRINKING)) for side in image.size)
        image = image.resize(size, Image.Resampling.LANCZOS)
        made = _jpeg(image, quality)
    if len(made) > max_bytes:
        logger.warning("An image stays above the limit: %d bytes of %d.", len(made), max_bytes)
    return made, "jpeg"


def _jpeg(image: Any, quality: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", quality=quality, optimize=True, progressive=True)
    return buffer.getvalue()


def _mime_of(data: bytes) -> str | None:
    other = next((mime for start, mime in _OTHERS.items() if data.startswith(start)), None)
    sound = sniff_audio_mime(data)
    return sniff_mime(data) or other or _EARLIER_NAMES.get(sound or "", sound) or sniff_video_mime(data)
