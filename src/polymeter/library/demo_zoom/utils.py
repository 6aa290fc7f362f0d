"""Drawings of `demo_zoom`: a large sheet of things, each with a tag in print that is far too small for the whole sheet.

A row lists its things: shape, colour, place in pixels, and the code on the tag.
"""

from __future__ import annotations

from typing import Any

from PIL import Image, ImageDraw, ImageFont

Doc = dict[str, Any]

SIZE = (2400, 1800)
RADIUS = 60
TAG_PX = 14
"""The size of the print. The sheet is shown at a fifth of its size, where a letter has less than 3 pixels."""
TAG_BELOW = 78


def doc_to_visual(doc: Doc) -> list[Image.Image]:
    return [sheet(doc["things"])]


def sheet(things: list[list[Any]]) -> Image.Image:
    """Draw the things of a row."""
    drawn = Image.new("RGB", SIZE, "white")
    pen = ImageDraw.Draw(drawn)
    font = ImageFont.load_default(TAG_PX)
    for shape, colour, x, y, code in things:
        draw_shape(pen, shape, colour, x, y)
        pen.text((x, y + TAG_BELOW), code, fill="black", font=font, anchor="mm")
    return drawn


def draw_shape(pen: ImageDraw.ImageDraw, shape: str, colour: str, x: int, y: int) -> None:
    box = (x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS)
    if shape == "circle":
        pen.ellipse(box, fill=colour)
    elif shape == "square":
        pen.rectangle(box, fill=colour)
    else:
        pen.polygon([(x, y - RADIUS), (x + RADIUS, y + RADIUS), (x - RADIUS, y + RADIUS)], fill=colour)
