"""Random scenes of shapes, drawn with code and colours of their own."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from PIL import Image, ImageDraw

COLOURS = {
    "red": (215, 35, 40),
    "orange": (245, 140, 25),
    "yellow": (240, 220, 50),
    "green": (45, 165, 65),
    "blue": (45, 90, 220),
    "purple": (150, 55, 190),
    "pink": (255, 120, 180),
    "black": (15, 15, 15),
    "white": (250, 250, 250),
    "brown": (120, 70, 30),
}
BACKGROUNDS = [
    (255, 255, 255),
    (245, 245, 245),
    (20, 20, 20),
    (0, 0, 0),
    (220, 235, 250),
    (40, 40, 70),
    (200, 200, 200),
]
CORNERS = {
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "triangle": [(0, -0.95), (1, 0.85), (-1, 0.85)],
    "star": [
        ((1, 0.42)[i % 2] * math.cos(math.pi * (i / 5 - 0.5)), (1, 0.42)[i % 2] * math.sin(math.pi * (i / 5 - 0.5)))
        for i in range(10)
    ],
}


@dataclass(frozen=True)
class Drawn:
    """A shape: what it is, its colour, its centre and half its width in pixels."""

    shape: str
    colour: str
    x: float
    y: float
    radius: float


def random_things(
    rng: random.Random, size: int, shapes: list[str], background: tuple[int, int, int], apart: float
) -> list[Drawn]:
    """One to six shapes whose centres are at least ``apart`` times their summed radii from each other."""
    things: list[Drawn] = []
    n = rng.randint(1, 6)
    for _ in range(400):
        radius = rng.uniform(0.06, 0.16) * size
        x, y = rng.uniform(radius + 1, size - radius - 1), rng.uniform(radius + 1, size - radius - 1)
        seen = [
            name
            for name, rgb in COLOURS.items()
            if sum(map(abs, (a - b for a, b in zip(rgb, background, strict=True)))) > 120
        ]
        thing = Drawn(rng.choice(shapes), rng.choice(seen), x, y, radius)
        if all(math.hypot(x - other.x, y - other.y) >= (radius + other.radius) * apart for other in things):
            things.append(thing)
        if len(things) == n:
            break
    return things


def draw(
    things: list[Drawn],
    size: int,
    background: tuple[int, int, int],
    *,
    finer: int = 1,
    turn: float = 0.0,
    jitter: int = 0,
    rng: random.Random | None = None,
) -> Image.Image:
    """The scene; ``finer`` above 1 draws larger and shrinks, which smooths the edges."""
    rng = rng or random.Random(0)
    picture = Image.new("RGB", (size * finer, size * finer), background)
    pen = ImageDraw.Draw(picture)
    for thing in things:
        ink = tuple(max(0, min(255, value + rng.randint(-jitter, jitter))) for value in COLOURS[thing.colour])
        x, y, radius = thing.x * finer, thing.y * finer, thing.radius * finer
        if thing.shape == "circle":
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=ink)
            continue
        angle = rng.uniform(-turn, turn)
        c, s = math.cos(angle), math.sin(angle)
        corners = [(x + radius * (a * c - b * s), y + radius * (a * s + b * c)) for a, b in CORNERS[thing.shape]]
        pen.polygon(corners, fill=ink)
    way = rng.choice([Image.Resampling.BOX, Image.Resampling.LANCZOS, Image.Resampling.BICUBIC])
    return picture.resize((size, size), way) if finer > 1 else picture
