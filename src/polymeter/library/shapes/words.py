"""The words that the model knows."""

from __future__ import annotations

from collections.abc import Mapping

Rgb = tuple[int, int, int]

SHAPES = ("circle", "square", "triangle", "star", "cross")
PALETTE: Mapping[str, Rgb] = {
    "red": (220, 38, 38),
    "orange": (249, 140, 22),
    "yellow": (250, 215, 40),
    "green": (34, 160, 70),
    "blue": (37, 90, 220),
    "purple": (140, 60, 190),
    "pink": (255, 120, 180),
    "brown": (121, 72, 35),
    "black": (20, 20, 20),
    "white": (252, 252, 252),
    "gray": (128, 128, 128),
}
COLOURS = tuple(PALETTE)
SIZES: Mapping[str, tuple[float, float]] = {
    "small": (0.05, 0.065),
    "medium": (0.08, 0.11),
    "large": (0.15, 0.19),
    "": (0.07, 0.12),
}
"""The radius as a share of the image's shorter side, from smallest to largest. The empty key is for prompts without a
size.
"""
RELATIONS = ("left of", "right of", "above", "below")
PLACES: Mapping[str, tuple[float, float]] = {
    "top left": (0.17, 0.17),
    "top right": (0.83, 0.17),
    "bottom left": (0.17, 0.83),
    "bottom right": (0.83, 0.83),
    "center": (0.5, 0.5),
}
"""Places in an image, as shares of its width and height."""
NUMBERS: Mapping[str, int] = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
}
MOST_THINGS = 12

_SAME: Mapping[str, str] = {
    "big": "large",
    "huge": "large",
    "little": "small",
    "tiny": "small",
    "grey": "gray",
    "violet": "purple",
    "disc": "circle",
    "dot": "circle",
    "crosses": "cross",
    "upper": "top",
    "lower": "bottom",
    "centre": "center",
    "middle": "center",
}


def plain(word: str) -> str:
    """Return a word in the form that the model knows: singular, and the most common of its synonyms."""
    word = _SAME.get(word, word)
    single = word[:-1] if word.endswith("s") and word != "cross" else word
    return single if single in SHAPES else _SAME.get(single, word)


def is_plural(word: str) -> bool:
    """Check whether a word names several shapes."""
    return word != "cross" and word.endswith("s")
