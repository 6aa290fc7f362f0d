"""The images of starters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import ImageDraw

_SIZE = 224
_SHAPES = {
    "red-circle": ("red", "circle", 1),
    "blue-square": ("blue", "square", 1),
    "green-triangles": ("green", "triangle", 3),
    "yellow-circles": ("gold", "circle", 2),
    "black-square": ("black", "square", 1),
    "orange-triangle": ("darkorange", "triangle", 1),
}
"""Colour, shape and number in each image."""


def draw_shapes(folder: Path) -> None:
    """Write the images of questions about shapes into ``images/``. An existing file is an OSError."""
    from PIL import Image, ImageDraw

    for name, (colour, shape, count) in _SHAPES.items():
        image = Image.new("RGB", (_SIZE, _SIZE), "white")
        for number in range(count):
            _draw(
                ImageDraw.Draw(image), shape, colour, centre=_SIZE * (2 * number + 1) // (2 * count), radius=60 // count
            )
        file = folder / "images" / f"{name}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as opened:
            image.save(opened, "PNG")


def _draw(canvas: ImageDraw.ImageDraw, shape: str, colour: str, *, centre: int, radius: int) -> None:
    left, top, right, bottom = centre - radius, _SIZE // 2 - radius, centre + radius, _SIZE // 2 + radius
    if shape == "circle":
        canvas.ellipse((left, top, right, bottom), fill=colour)
    elif shape == "square":
        canvas.rectangle((left, top, right, bottom), fill=colour)
    else:
        canvas.polygon([(centre, top), (left, bottom), (right, bottom)], fill=colour)
