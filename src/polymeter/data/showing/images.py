"""Images as models are shown them: pixels for models on this machine, encoded bytes for endpoints.

The bytes of a JPEG, PNG, WebP or GIF are sent unchanged if the rule changes nothing, the endpoint accepts the format,
and every decoder shows it alike (``polymeter.core.media.image_headers``). Others are decoded and encoded once more, in
the form that every model sees (``polymeter.core.media.shown_images``).
"""

from __future__ import annotations

import io
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from polymeter.core.content import Image
from polymeter.core.errors import DataError, boundary
from polymeter.core.media.image_headers import is_plain_file, is_turned
from polymeter.core.media.pixels import opened_image
from polymeter.core.media.showing import ImageRule, stated
from polymeter.core.media.shown_images import is_plain
from polymeter.core.media.sources import sniff_mime
from polymeter.core.records.shown_media import ShownMedium
from polymeter.data.showing.digests import sent_digest
from polymeter.data.showing.rules import effective
from polymeter.data.showing.sizes import scaled, shown_size

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

JPEG_QUALITY = 95
_MAY_BE_ANIMATED = ("image/gif", "image/png", "image/webp")
_Kind = Literal["JPEG", "PNG"]


def shown_image(image: Image, own: ImageRule) -> PILImage:
    """An image as a model is shown it: RGB, scaled as the rule says. Of an animation it is the first frame.

    Args:
        image: The image; its rule wins over ``own``.
        own: The model's settings.

    Returns:
        The decoded image itself if nothing is changed, so do not change it.

    Raises:
        DataError: if the image cannot be read.
    """
    rule = effective(own, image.rule)
    shown = image.shown()
    made = scaled(shown, _size(shown.size, rule))
    with boundary(DataError, lambda: f"Encoding the image {image.describe()}"):
        made = _through_jpeg(made) if rule.format == "jpeg:95" else made
    last = image.sent
    if last is not None and _is_same(last, rule, made):  # several questions about one image
        image.record_sent(replace(last))  # a new one, by which a wrapper's call is known to have recorded it
        return made
    data = image.original_bytes()
    mime = sniff_mime(data) if data is not None else None
    pixels = sent_digest(f"{made.width}x{made.height}:".encode(), made.tobytes())
    sent = {"width": made.width, "height": made.height, "format": "pixels"}
    _record(image, rule, _before(shown.size, data, mime), sent, pixels, _notes(data, mime))
    return made


def encoded_image(image: Image, own: ImageRule, types: Collection[str]) -> tuple[bytes, str]:
    """An image as an endpoint is sent it: its bytes and MIME type.

    Args:
        image: The image; its rule wins over ``own``.
        own: The model's settings.
        types: The MIME types that the endpoint accepts; an image in another one becomes PNG.

    Raises:
        DataError: if the image cannot be read.
    """
    unchanged = unchanged_image(image, own, types)
    if unchanged is not None:
        return unchanged
    rule = effective(own, image.rule)
    data = image.original_bytes()
    mime = sniff_mime(data) if data is not None else None
    kind: _Kind = "JPEG" if rule.format == "jpeg:95" else "PNG"
    if rule.format != "png" and mime == "image/jpeg" and mime in types:
        kind = "JPEG"
    pixels = _pixels(image, rule, kind)
    with boundary(DataError, lambda: f"Encoding the image {image.describe()}"):
        made = encoded_pixels(pixels, kind)
    sent = {"width": pixels.width, "height": pixels.height, "format": kind.lower(), "bytes": len(made)}
    _record(image, rule, _before(image.open().size, data, mime), sent, sent_digest(made), _notes(data, mime))
    return made, f"image/{kind.lower()}"


def unchanged_image(image: Image, own: ImageRule, types: Collection[str]) -> tuple[bytes, str] | None:
    """The bytes and MIME type of an image that an endpoint is sent as it came; ``None``: it is encoded anew.

    Args:
        image: The image; its rule wins over ``own``.
        own: The model's settings.
        types: The MIME types that the endpoint accepts.

    Raises:
        DataError: if the image cannot be read.
    """
    rule = effective(own, image.rule)
    data = image.original_bytes()
    mime = sniff_mime(data) if data is not None else None
    if data is None or mime is None or mime not in types or rule.format not in (None, "as_is", _word(mime)):
        return None
    with boundary(DataError, lambda: f"Looking at the image {image.describe()}"):
        size = _header_size(image)
        if not is_plain_file(data, mime) or is_turned(data, mime) or _is_scaled(data, size, rule):
            return None
    before = _before(size, data, mime)
    _record(image, rule, before, before, sent_digest(data), ())
    return data, mime


def encoded_pixels(image: PILImage, kind: _Kind) -> bytes:
    """An image of a mode that the format has, as JPEG of quality 95 or PNG."""
    buffer = io.BytesIO()
    if kind == "JPEG":
        image.save(buffer, "JPEG", quality=JPEG_QUALITY)
    else:
        image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _through_jpeg(image: PILImage) -> PILImage:
    with opened_image(encoded_pixels(image, "JPEG")) as file:
        made: PILImage = file.convert("RGB")
    return made


def _pixels(image: Image, rule: ImageRule, kind: _Kind) -> PILImage:
    """The form in which an image is sent. A PNG keeps two levels or a palette, which need less space than RGB."""
    decoded = image.open()
    size = _size(decoded.size, rule)
    if kind == "PNG" and is_plain(decoded) and size == decoded.size:
        return decoded
    shown = image.shown(keeps_grey=True)
    return scaled(shown, _size(shown.size, rule))


def _size(size: tuple[int, int], rule: ImageRule) -> tuple[int, int]:
    return shown_size(*size, max_side=rule.max_side, min_pixels=rule.min_pixels, max_pixels=rule.max_pixels)


def _is_scaled(data: bytes, size: tuple[int, int] | None, rule: ImageRule) -> bool:
    if rule.max_side is None and rule.min_pixels is None and rule.max_pixels is None:
        return False
    if size is None:
        with opened_image(data) as image:  # raises what is wrong with it
            size = image.size
    return _size(size, rule) != size


def _header_size(image: Image) -> tuple[int, int] | None:
    """The size that a header states; ``None`` if Pillow cannot read it. What its decoder says of it is its error."""
    try:
        return image.size()
    except DataError:
        return None


def _before(size: tuple[int, int] | None, data: bytes | None, mime: str | None) -> dict[str, Any]:
    before: dict[str, Any] = {} if size is None else {"width": size[0], "height": size[1]}
    if mime is not None:
        before["format"] = _word(mime)
    if data is not None:
        before["bytes"] = len(data)
    return before


def _word(mime: str) -> str:
    return mime.partition("/")[2]


def _notes(data: bytes | None, mime: str | None) -> tuple[str, ...]:
    """The note that an animation was not shown whole."""
    if data is None or mime not in _MAY_BE_ANIMATED or is_plain_file(data, mime):
        return ()
    with opened_image(data) as image:
        n_frames = getattr(image, "n_frames", 1)
    return () if n_frames == 1 else (f"It is an animation of {n_frames} frames: the first one was shown.",)


def _is_same(last: ShownMedium, rule: ImageRule, made: PILImage) -> bool:
    size = {"width": made.width, "height": made.height, "format": "pixels"}
    return last.rule == stated(rule) and last.sent == size


def _record(
    image: Image, rule: ImageRule, before: dict[str, Any], sent: dict[str, Any], made: str, notes: tuple[str, ...]
) -> None:
    image.record_sent(
        ShownMedium("image", image.describe(), stated(rule), before=before, sent=sent, digest=made, notes=notes)
    )
