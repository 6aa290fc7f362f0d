"""The images of an HTML report: data URIs, each file once, within a budget of bytes.

When all files fit they are embedded unchanged. When they do not, large ones are scaled down; what still does not fit is
left out and counted.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from polymeter.core.errors import DataError
from polymeter.core.parts import Image
from polymeter.core.sources import sniff_mime

LoadMedia = Callable[[str], "tuple[bytes, str] | None"]
_SMALL_BYTES = 12_000
_SIDE_PX = 448
_QUALITY = 70


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
    for name in uri_sizes:
        medium = load(name)
        if medium is None:
            continue
        small = _smaller(medium) if must_shrink else None
        data, mime = small or medium
        if spent + _size(len(data), mime) > budget:
            n_left_out += 1
            continue
        uris[name] = f"data:{mime};base64,{base64.b64encode(data).decode()}"
        spent += len(uris[name])
        n_smaller += small is not None
    return EmbeddedImages(uris, n_smaller, n_left_out, len(unique_names) - len(uri_sizes))


def _uri_size(medium: tuple[bytes, str] | None) -> int | None:
    """Length of the data URI; ``None`` if the file is missing or not in a format that every browser shows."""
    if medium is None or sniff_mime(medium[0]) != medium[1]:
        return None
    return _size(len(medium[0]), medium[1])


def _size(n_bytes: int, mime: str) -> int:
    return 4 * -(-n_bytes // 3) + len(mime) + len("data:;base64,")


def _smaller(medium: tuple[bytes, str]) -> tuple[bytes, str] | None:
    data, mime = medium
    if len(data) <= _SMALL_BYTES or mime == "image/gif":
        return None
    try:
        image = Image(data).open()
    except DataError:
        return None
    is_transparent = image.has_transparency_data
    small = image.convert("RGBA" if is_transparent else "RGB")
    small.thumbnail((_SIDE_PX, _SIDE_PX))
    buffer = io.BytesIO()
    # WebP keeps transparency; JPEG is an order of magnitude faster to write, and every run ends with this report.
    small.save(buffer, format="WEBP" if is_transparent else "JPEG", quality=_QUALITY)
    shrunk = buffer.getvalue()
    return (shrunk, "image/webp" if is_transparent else "image/jpeg") if len(shrunk) < len(data) else None
