"""Pictures that endpoints answer with."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING

from polymeter.core.errors import DataError, ModelError
from polymeter.core.parts import Image

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage


async def picture_of(encoded: bytes | str, *, where: str) -> PILImage:
    """The picture in encoded bytes, or in their base64 text. Decoded on a thread.

    Raises:
        ModelError: There is none, which may pass.
    """
    return await asyncio.to_thread(lambda: decoded(encoded, where=where))


def decoded(encoded: bytes | str, *, where: str) -> PILImage:
    """The same, at once.

    Raises:
        ModelError: See ``picture_of``.
    """
    try:
        return Image(base64.b64decode(encoded) if isinstance(encoded, str) else encoded).open()
    except (ValueError, DataError) as error:  # of base64, that it is none, or that it is not even ASCII
        what = f"The endpoint's image cannot be read: {error}"
        raise ModelError(what, kind="transient", where=where) from None
