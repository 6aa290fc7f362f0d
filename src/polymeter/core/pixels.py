"""How many pixels an image may have: a file of a few kilobytes can stand for gigabytes of them.

An image is looked at before it is decoded, when only its header was read. One that is too large is an error of its
sample. The check is made wherever Polymeter opens an image; Pillow's own limit is set to the same number, so that it
holds in code of others too, unless that code lifts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from polymeter.core.errors import PIXEL_HINT, DataError
from polymeter.core.guest_context import MOST_PIXELS, guest_context, guest_context_with

if TYPE_CHECKING:
    from polymeter.core.parts import Image

_OF_ONE_SAMPLE = 4
"""The images of one request may have so many times the pixels of the largest image that is allowed: a document of 200
scanned pages has no page that is large.
"""


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
        if most == MOST_PIXELS:  # Pillow's own limit is the same, and importing it costs 25 ms
            yield
            return
        from PIL import Image as pil

        before = pil.MAX_IMAGE_PIXELS
        pil.MAX_IMAGE_PIXELS = (most + 1) // 2  # Pillow warns from here on, and refuses twice as many
        try:
            yield
        finally:
            pil.MAX_IMAGE_PIXELS = before
