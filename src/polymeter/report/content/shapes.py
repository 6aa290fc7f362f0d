"""Boxes and points on an image, with an assumed scale. No text states whether ``[12, 30, 100, 200]`` means pixels or
thousandths of the image. The scale is taken from the form and from the numbers. The page names it with the reason, and
can show other scales that would fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polymeter.reading.shapes import SCALE_ENDS, Scale, ShownShape

SCALES: dict[Scale, str] = {"pixels": "pixels", "unit": "0–1", "thousand": "0–1000", "percent": "0–100"}


@dataclass(frozen=True, slots=True)
class ShapeScale:
    """The scale on which shapes are read, and the reason.

    Attributes:
        scale: The scale that is assumed.
        why: The reason, as a sentence.
        others: Other scales on which the same numbers lie within the image.
    """

    scale: Scale
    why: str
    others: tuple[Scale, ...] = ()


def read_scale(shapes: Sequence[ShownShape], width: int, height: int) -> ShapeScale:
    """Return the scale that shapes mean.

    Args:
        shapes: At least one.
        width: Width of the image in pixels.
        height: Its height.
    """
    numbers = [number for shape in shapes for number in shape.numbers]
    largest = max(numbers)
    fits = _fits(shapes, width, height)
    options: list[Scale] = [
        *(("unit",) if largest <= 1 else ()),
        *(("pixels",) if fits else ()),
        *(("thousand",) if largest <= 1000 else ()),
    ]
    form = shapes[0].form
    scale: Scale
    if form == "molmo":
        scale, why = "percent", "<point x y> counts in hundredths of the image"
        options = ["percent"]
    elif largest <= 1:
        scale, why = "unit", "no number is above 1"
    elif form == "yx":
        scale, why = "thousand", "box_2d is written [top, left, bottom, right] in thousandths"
    elif form == "tag" and largest <= 1000:
        scale, why = "thousand", "<box> usually counts in thousandths"
    elif fits:
        scale, why = "pixels", "all numbers lie within the image"
    elif largest <= 1000:
        scale, why = "thousand", "some numbers reach beyond the image and none is above 1000"
    else:
        scale, why = "pixels", "some numbers are above 1000; parts reach beyond the image"
    return ShapeScale(scale, why, tuple(option for option in options if option != scale))


def on_image(shape: ShownShape, scale: Scale, width: int, height: int) -> tuple[float, ...]:
    """The numbers of a shape in pixels of the image, rounded to tenths."""
    if scale == "pixels":
        return tuple(round(number, 1) for number in shape.numbers)
    sides = (width, height) * 2
    return tuple(
        round(number / SCALE_ENDS[scale] * side, 1) for number, side in zip(shape.numbers, sides, strict=False)
    )


def _fits(shapes: Sequence[ShownShape], width: int, height: int) -> bool:
    sides = (width, height) * 2
    return all(number <= side for shape in shapes for number, side in zip(shape.numbers, sides, strict=False))
