"""Drawing of shapes with smooth edges, by Pillow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from polymeter.library.shapes.layout import ShapeLayout, Thing

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

_ARM = 0.32
_INNER = 0.42
_FINE = 4
_MOST_PIXELS = 4096


def draw(plan: ShapeLayout, width: int, height: int) -> PILImage:
    """Draw the image of a plan, ``width`` × ``height`` pixels."""
    from PIL import Image as pil

    image = pil.new("RGB", (width, height), plan.background)
    for thing in plan.things:
        image.paste(thing.ink, (0, 0), mask(thing, width, height))
    return image


def mask(thing: Thing, width: int, height: int) -> PILImage:
    """Draw a greyscale image of how much of each pixel a shape covers, from 0 to 255. It is drawn at a higher
    resolution and reduced.
    """
    from PIL import Image as pil
    from PIL import ImageDraw

    fine = max(1, min(_FINE, _MOST_PIXELS // max(width, height)))
    canvas = pil.new("L", (width * fine, height * fine), 0)
    scale = min(width, height) * fine
    x, y, radius = thing.x * scale, thing.y * scale, thing.radius * scale
    pen = ImageDraw.Draw(canvas)
    if thing.shape == "circle":
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)
    else:
        pen.polygon([(x + radius * a, y + radius * b) for a, b in _corners(thing.shape)], fill=255)
    return canvas.reduce(fine) if fine > 1 else canvas


def _corners(shape: str) -> tuple[tuple[float, float], ...]:
    """Return the corners of a shape in the square from -1 to 1; y points down."""
    if shape == "square":
        return ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9))
    if shape == "triangle":
        return ((0, -0.95), (1, 0.85), (-1, 0.85))
    if shape == "cross":
        a = _ARM
        quarter = ((a, -1.0), (a, -a), (1.0, -a))
        signs = ((1, 1, 1), (1, -1, -1), (-1, -1, 1), (-1, 1, -1))
        return tuple((sx * x, sy * y) for sx, sy, step in signs for x, y in quarter[::step])
    radii = (1.0, _INNER)
    angles = [math.pi * (step / 5 - 0.5) for step in range(10)]
    return tuple((radii[i % 2] * math.cos(angle), radii[i % 2] * math.sin(angle)) for i, angle in enumerate(angles))
