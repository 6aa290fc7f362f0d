"""Images for the tiny vision-language model: coloured shapes, groups of shapes, and handwritten digits.

Owns what a scene is and how it is drawn; `tiny_vlm_questions.py` asks about it. Training and the `demo_vlm` benchmarks
draw from the same distribution, but from different random streams and, for digits, from different handwriting:
scikit-learn's 1,797 digits are split once into `train` and `test`.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw
from sklearn.datasets import load_digits

SIZE = 64
"""Width and height of an image in pixels."""

COLOURS = {
    "red": (215, 35, 40),
    "orange": (245, 140, 25),
    "yellow": (240, 220, 50),
    "green": (45, 165, 65),
    "blue": (45, 90, 220),
    "purple": (150, 55, 190),
}
SHAPES = ("circle", "square", "triangle", "cross", "star")
SIDES = ("on the left", "on the right", "at the top", "at the bottom")

N_TEST_DIGITS = 500
_DIGITS_SEED = 1998
_OVERSAMPLING = 3
_COLOUR_JITTER = 16


@dataclass(frozen=True)
class Thing:
    """A shape in an image: its centre and its width, in pixels."""

    shape: str
    colour: str
    x: float
    y: float
    width: float

    def covers(self, x: float, y: float) -> bool:
        """Whether a point lies in the square around it."""
        return max(abs(x - self.x), abs(y - self.y)) <= self.width / 2


@dataclass(frozen=True)
class Scene:
    """The content of an image.

    Attributes:
        kind: `one` shape, `two` shapes of different kind and colour, `many` shapes to count, or a `digit`.
        things: The shapes; of a digit, its box.
        digit: The digit, if there is one.
    """

    kind: str
    things: tuple[Thing, ...]
    digit: int | None = None

    def on_side(self, side: str) -> Thing:
        """Of two shapes, the one on a side of `SIDES`."""
        first, second = sorted(self.things, key=lambda thing: thing.x if side in SIDES[:2] else thing.y)
        return first if side in ("on the left", "at the top") else second

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides on which one of two shapes clearly is."""
        first, second = self.things
        is_beside = abs(first.x - second.x) >= 18
        is_above = abs(first.y - second.y) >= 18
        return (SIDES[:2] if is_beside else ()) + (SIDES[2:] if is_above else ())


def draw_scene(rng: np.random.Generator, kind: str, split: str) -> tuple[Scene, Image.Image]:
    """Make up a scene of a kind and draw it.

    Args:
        rng: Where its random numbers come from.
        kind: `one`, `two`, `many` or `digit`.
        split: `train` or `test`: which handwriting a digit is taken from.
    """
    if kind == "digit":
        return _draw_digit(rng, split)
    things = {"one": _one, "two": _two, "many": _many}[kind](rng)
    return Scene(kind, things), _draw_things(rng, things)


def _pick(rng: np.random.Generator, names: tuple[str, ...], n: int) -> list[str]:
    return [names[place] for place in rng.permutation(len(names))[:n]]


def _one(rng: np.random.Generator) -> tuple[Thing, ...]:
    width = rng.uniform(18, 44)
    x, y = rng.uniform(width / 2 + 2, SIZE - width / 2 - 2, 2)
    return (Thing(_pick(rng, SHAPES, 1)[0], _pick(rng, tuple(COLOURS), 1)[0], x, y, width),)


def _two(rng: np.random.Generator) -> tuple[Thing, ...]:
    shapes, colours = _pick(rng, SHAPES, 2), _pick(rng, tuple(COLOURS), 2)
    widths = rng.uniform(16, 26, 2)
    while True:
        centres = [rng.uniform(width / 2 + 2, SIZE - width / 2 - 2, 2) for width in widths]
        if max(abs(centres[0] - centres[1])) >= max(22, sum(widths) / 2 + 2):
            break
    return tuple(Thing(shapes[i], colours[i], *centres[i], widths[i]) for i in range(2))


def _many(rng: np.random.Generator) -> tuple[Thing, ...]:
    n = int(rng.integers(1, 6))
    n_kinds = 1 if rng.random() < 0.5 else n
    shapes = [SHAPES[place] for place in rng.integers(0, len(SHAPES), n_kinds)]
    colours = [tuple(COLOURS)[place] for place in rng.integers(0, len(COLOURS), n_kinds)]
    places = _apart(rng, n)
    return tuple(Thing(shapes[i % n_kinds], colours[i % n_kinds], *place) for i, place in enumerate(places))


def _apart(rng: np.random.Generator, n: int) -> list[tuple[float, float, float]]:
    """Centres and widths of ``n`` squares that do not touch; begins again when the image is too full for the last."""
    places: list[tuple[float, float, float]] = []
    for _ in range(40 * n):
        width = rng.uniform(11, 16)
        x, y = rng.uniform(width / 2 + 1, SIZE - width / 2 - 1, 2)
        if all(max(abs(x - left), abs(y - top)) >= (width + wide) / 2 + 3 for left, top, wide in places):
            places.append((x, y, width))
        if len(places) == n:
            return places
    return _apart(rng, n)


def _background(rng: np.random.Generator) -> np.ndarray:
    """A different grey for each image, light or dark, with a slight tint."""
    grey = rng.uniform(215, 250) if rng.random() < 0.6 else rng.uniform(10, 45)
    return np.clip(grey + rng.uniform(-5, 5, 3), 0, 255)


def _ink(rng: np.random.Generator, colour: str) -> np.ndarray:
    return np.clip(np.array(COLOURS[colour]) + rng.uniform(-_COLOUR_JITTER, _COLOUR_JITTER, 3), 0, 255)


def _draw_things(rng: np.random.Generator, things: tuple[Thing, ...]) -> Image.Image:
    scale = _OVERSAMPLING
    background = tuple(int(value) for value in _background(rng))
    canvas = Image.new("RGB", (SIZE * scale, SIZE * scale), background)
    draw = ImageDraw.Draw(canvas)
    for thing in things:
        ink = tuple(int(value) for value in _ink(rng, thing.colour))
        x, y, half = thing.x * scale, thing.y * scale, thing.width * scale / 2
        if thing.shape == "circle":
            draw.ellipse((x - half, y - half, x + half, y + half), fill=ink)
        else:
            draw.polygon([(x + half * dx, y + half * dy) for dx, dy in _outline(thing.shape)], fill=ink)
    return canvas.reduce(scale)


@functools.cache
def _outline(shape: str) -> tuple[tuple[float, float], ...]:
    """Corners of a shape in the square from -1 to 1, y downwards."""
    if shape == "square":
        return ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9))
    if shape == "triangle":
        return ((0, -0.95), (1, 0.85), (-1, 0.85))
    if shape == "cross":
        a = 0.3
        quarter = [(a, -1.0), (a, -a), (1.0, -a)]
        turns = [(1, 1, False), (1, -1, True), (-1, -1, False), (-1, 1, True)]
        return tuple((sx * x, sy * y) for sx, sy, back in turns for x, y in (quarter[::-1] if back else quarter))
    radii = (1.0, 0.42)
    angles = [math.pi * (step / 5 - 0.5) for step in range(10)]
    return tuple((radii[i % 2] * math.cos(angle), radii[i % 2] * math.sin(angle)) for i, angle in enumerate(angles))


@functools.cache
def _digits(split: str) -> tuple[np.ndarray, np.ndarray]:
    """Handwriting of a split: images of shape (n, 8, 8) from 0 to 16, and their digits."""
    digits = load_digits()
    order = np.random.default_rng(_DIGITS_SEED).permutation(len(digits.target))
    chosen = order[:N_TEST_DIGITS] if split == "test" else order[N_TEST_DIGITS:]
    return digits.images[chosen], digits.target[chosen]


def _draw_digit(rng: np.random.Generator, split: str) -> tuple[Scene, Image.Image]:
    pictures, labels = _digits(split)
    place = int(rng.integers(len(labels)))
    width = int(rng.integers(38, 57))
    ink = Image.fromarray((pictures[place] / 16 * 255).astype(np.uint8))
    ink = ink.resize((width, width), Image.Resampling.BICUBIC).rotate(rng.uniform(-10, 10), Image.Resampling.BILINEAR)
    left, top = (int(value) for value in rng.integers(2, SIZE - width - 1, 2))
    mask = np.zeros((SIZE, SIZE, 1))
    mask[top : top + width, left : left + width, 0] = np.asarray(ink) / 255
    colour = _pick(rng, tuple(COLOURS), 1)[0]
    mixed = _background(rng) * (1 - mask) + _ink(rng, colour) * mask
    box = Thing("digit", colour, left + width / 2, top + width / 2, width)
    return Scene("digit", (box,), int(labels[place])), Image.fromarray(mixed.round().astype(np.uint8))
