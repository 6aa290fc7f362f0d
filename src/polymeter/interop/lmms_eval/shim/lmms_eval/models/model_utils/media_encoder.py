"""Stand-in for ``lmms_eval.models.model_utils.media_encoder``: images as bytes, in base64, and as data URLs.

An image of the dataset that is in the wanted format already, and that nobody has touched, goes out as it came in.
"""

from __future__ import annotations

import base64
import io
from collections.abc import MutableMapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.data.media import forget_bytes_if_touched

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

ImageInput = Any
EncodeCache = MutableMapping[tuple[object, ...], str]

_FILES_KEPT = 64
_HAS_QUALITY = ("JPEG", "WEBP")


def encode_image_to_bytes(
    image: ImageInput,
    *,
    image_format: str = "PNG",
    convert_rgb: bool = False,
    quality: int | None = None,
    copy_if_pil: bool = False,
) -> bytes:
    """An image, or the image at a path, encoded. The image itself is never changed, copied or not."""
    wanted = _format(image_format)
    kept = _kept_bytes(image, wanted, convert_rgb) if quality is None else None
    return kept if kept is not None else _encoded(_opened(image, convert_rgb), wanted, quality)


def encode_image_to_base64(
    image: ImageInput,
    *,
    image_format: str = "PNG",
    convert_rgb: bool = False,
    quality: int | None = None,
    copy_if_pil: bool = False,
    cache: EncodeCache | None = None,
    use_path_cache: bool = True,
) -> str:
    """The encoded image in base64. Files that were encoded lately are remembered, as long as they do not change;
    ``cache`` is the caller's own memory, for images as well, which must live as long as it does.
    """
    wanted = _format(image_format)
    if isinstance(image, str):
        stat = Path(image).stat()
        key: tuple[object, ...] = (str(Path(image).resolve()), stat.st_mtime_ns, stat.st_size)
    else:
        key = (id(image),)
    key = (*key, wanted, convert_rgb, quality)
    if cache is not None and key in cache:
        return cache[key]
    if isinstance(image, str) and use_path_cache:
        text = _file_in_base64(image, wanted, convert_rgb, quality, key)
    else:
        data = encode_image_to_bytes(image, image_format=wanted, convert_rgb=convert_rgb, quality=quality)
        text = base64.b64encode(data).decode()
    if cache is not None:
        cache[key] = text
    return text


def encode_image_to_data_url(
    image: ImageInput, *, image_format: str = "PNG", mime_type: str | None = None, **options: Any
) -> str:
    """The encoded image as a data URL; ``options`` are those of ``encode_image_to_base64``."""
    kind = mime_type or f"image/{_format(image_format).lower()}"
    return f"data:{kind};base64,{encode_image_to_base64(image, image_format=image_format, **options)}"


def encode_image_to_base64_with_size_limit(
    image: ImageInput,
    *,
    max_size_bytes: int,
    image_format: str = "PNG",
    convert_rgb: bool = True,
    quality: int | None = None,
    copy_if_pil: bool = True,
    resize_factor: float = 0.75,
    min_side: int = 100,
    resample: Any = None,
) -> str:
    """The image in base64, scaled down by ``resize_factor`` until its encoded bytes (before base64) are no more than
    ``max_size_bytes``, or a side is no longer than ``min_side`` pixels. ``resample`` is Pillow's; default: Lanczos.
    """
    from PIL import Image as pil

    wanted = _format(image_format)
    kept = _kept_bytes(image, wanted, convert_rgb) if quality is None else None
    if kept is not None and len(kept) <= max_size_bytes:
        return base64.b64encode(kept).decode()
    picture = _opened(image, convert_rgb)
    data = _encoded(picture, wanted, quality)
    while len(data) > max_size_bytes and min(picture.size) > min_side:
        size = (int(picture.width * resize_factor), int(picture.height * resize_factor))
        picture = picture.resize(size, pil.Resampling.LANCZOS if resample is None else resample)
        data = _encoded(picture, wanted, quality)
    return base64.b64encode(data).decode()


@lru_cache(maxsize=_FILES_KEPT)
def _file_in_base64(
    path: str, image_format: str, convert_rgb: bool, quality: int | None, version: tuple[object, ...]
) -> str:
    """``version`` tells a file from the one that was there before it."""
    return base64.b64encode(_encoded(_opened(path, convert_rgb), image_format, quality)).decode()


def _format(name: str) -> str:
    return "JPEG" if name.upper() == "JPG" else name.upper()


def _kept_bytes(image: ImageInput, image_format: str, convert_rgb: bool) -> bytes | None:
    """The bytes that an image of the dataset was read from, if they are what is wanted."""
    if isinstance(image, str) or image.format != image_format or (convert_rgb and image.mode != "RGB"):
        return None
    data = getattr(forget_bytes_if_touched(image), "polymeter_bytes", None)
    return data if isinstance(data, bytes) else None


def _opened(image: ImageInput, convert_rgb: bool) -> PILImage:
    from PIL import Image as pil

    picture: PILImage
    if isinstance(image, str):
        with pil.open(image) as file:
            file.load()
            picture = file
    else:
        picture = image
    return picture.convert("RGB") if convert_rgb and picture.mode != "RGB" else picture


def _encoded(picture: PILImage, image_format: str, quality: int | None) -> bytes:
    buffer = io.BytesIO()
    options = {} if quality is None or image_format not in _HAS_QUALITY else {"quality": quality}
    picture.save(buffer, format=image_format, **options)
    return buffer.getvalue()
