"""The pictures of a page: data URIs, each file once, within a budget of bytes.

When all files fit they are embedded as they are. When they do not, large ones are embedded smaller; what still does not
fit is left out, and counted.
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
class Pictures:
    """Embedded pictures.

    Attributes:
        uris: Data URI by file name.
        n_smaller: How many are embedded smaller than they are.
        n_left_out: How many did not fit.
        n_missing: How many could not be found or read.
    """

    uris: dict[str, str]
    n_smaller: int = 0
    n_left_out: int = 0
    n_missing: int = 0


def embed(names: Iterable[str], load: LoadMedia, budget: int) -> Pictures:
    """Embed pictures, the most wanted first.

    Args:
        names: File names, the most wanted first.
        load: Bytes and MIME type of a file; ``None`` when there is no such file.
        budget: Bytes of data URIs in all.
    """
    wanted = [*dict.fromkeys(names)]
    found = {name: size for name in wanted if (size := _uri_size(load(name))) is not None}
    must_shrink = sum(found.values()) > budget
    uris: dict[str, str] = {}
    spent = n_smaller = n_left_out = 0
    for name in found:
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
    return Pictures(uris, n_smaller, n_left_out, len(wanted) - len(found))


def _uri_size(medium: tuple[bytes, str] | None) -> int | None:
    """Length of the data URI; nothing for what is missing or not one of the formats that every browser shows."""
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
        picture = Image(data).open()
    except DataError:
        return None
    is_clear = picture.has_transparency_data
    small = picture.convert("RGBA" if is_clear else "RGB")
    small.thumbnail((_SIDE_PX, _SIDE_PX))
    buffer = io.BytesIO()
    # WebP keeps transparency; JPEG is an order of magnitude faster to write, and every run ends with this page.
    small.save(buffer, format="WEBP" if is_clear else "JPEG", quality=_QUALITY)
    shrunk = buffer.getvalue()
    return (shrunk, "image/webp" if is_clear else "image/jpeg") if len(shrunk) < len(data) else None
