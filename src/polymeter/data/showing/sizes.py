"""The size in pixels at which an image or a frame is shown: always in proportion, never without pixels."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage


def shown_size(
    width: int,
    height: int,
    *,
    max_side: int | None = None,
    min_pixels: int | None = None,
    max_pixels: int | None = None,
) -> tuple[int, int]:
    """The size of an image within limits. Where they contradict each other, the upper one holds.

    Args:
        width: In pixels.
        height: In pixels.
        max_side: The longest side.
        min_pixels: The fewest pixels.
        max_pixels: The most pixels.
    """
    size = (width, height)
    if min_pixels is not None and width * height < min_pixels:
        size = (_rounded_up(min_pixels * width, height), _rounded_up(min_pixels * height, width))
    longest = max(size)
    if max_side is not None and longest > max_side:
        factor = max_side / longest
        size = (max(1, round(size[0] * factor)), max(1, round(size[1] * factor)))
    if max_pixels is not None and size[0] * size[1] > max_pixels:
        size = _within(*size, max_pixels)
    return size


def scaled(image: PILImage, size: tuple[int, int]) -> PILImage:
    """An image at a size; the same one if it has that size."""
    if image.size == size:
        return image
    from PIL import Image as pil

    return image.resize(size, pil.Resampling.LANCZOS)


def _within(width: int, height: int, pixels: int) -> tuple[int, int]:
    """Both sides rounded down, exactly; a side of less than a pixel is one pixel."""
    shown = max(1, isqrt(pixels * width // height)), max(1, isqrt(pixels * height // width))
    return min(shown[0], max(1, pixels // shown[1])), min(shown[1], max(1, pixels // shown[0]))


def _rounded_up(numerator: int, denominator: int) -> int:
    """The square root of a fraction, rounded up."""
    squared = -(-numerator // denominator)
    root = isqrt(squared)
    return root if root * root == squared else root + 1
