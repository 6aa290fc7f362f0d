"""Placement of shapes: at random, apart from each other, and as a relation requires."""

from __future__ import annotations

import random
from dataclasses import dataclass

from polymeter.extend import ModelError
from polymeter.library.shapes.reading import DescribedDrawing, ShapeGroup
from polymeter.library.shapes.words import PALETTE, SIZES, Rgb

_BACKGROUNDS: tuple[Rgb, ...] = ((255, 255, 255), (245, 240, 225), (226, 236, 246), (200, 200, 200), (40, 44, 66))
_ROUNDS = 60
_TRIES = 60
_SHRINK = 0.97
_GAP = 0.02
_LEAST_SPREAD = 0.35
_LEAST_CONTRAST = 110


@dataclass(frozen=True, slots=True)
class Thing:
    """A shape to draw, with centre and radius as shares of the image's shorter side."""

    shape: str
    ink: Rgb
    x: float
    y: float
    radius: float


@dataclass(frozen=True, slots=True)
class ShapeLayout:
    """The layout of an image: the shapes, and the background's colour."""

    things: tuple[Thing, ...]
    background: Rgb


def placed(order: DescribedDrawing, width: float, height: float, rng: random.Random) -> ShapeLayout:
    """Make a layout for the shapes to draw.

    Args:
        order: The shapes.
        width: The image's width over its shorter side.
        height: Its height over its shorter side.
        rng: The source of random numbers.

    Raises:
        ModelError: if the shapes do not fit.
    """
    inks = [PALETTE[group.colour or _free_colour(order, rng)] for group in order.groups]
    background = PALETTE[order.background] if order.background else _background(inks, rng)
    wanted = [
        (number, rng.uniform(*SIZES[group.size])) for number, group in enumerate(order.groups) for _ in _each(group)
    ]
    for round_ in range(_ROUNDS):
        shrunk = [(number, radius * _SHRINK**round_) for number, radius in wanted]
        spread = max(_LEAST_SPREAD, 1 - round_ / _ROUNDS)
        places = _arranged(order, shrunk, (width, height), spread, rng)
        if places is not None:
            things = (
                Thing(order.groups[number].shape, inks[number], x, y, radius)
                for (number, _), (x, y, radius) in zip(wanted, places, strict=True)
            )
            return ShapeLayout(tuple(things), background)
    raise ModelError("The model 'shapes' finds no room for all shapes of this prompt.")


_Place = tuple[float, float, float]


def _arranged(
    order: DescribedDrawing,
    wanted: list[tuple[int, float]],
    size: tuple[float, float],
    spread: float,
    rng: random.Random,
) -> list[_Place] | None:
    """Try once to place all shapes; return ``None`` if one did not fit."""
    done: list[tuple[int, _Place]] = []
    for number, radius in wanted:
        for _ in range(_TRIES):
            place = _somewhere(order, number, radius, size, spread, rng)
            if all(_fits(order, number, place, other, there) for other, there in done):
                done.append((number, place))
                break
        else:
            return None
    return [place for _, place in done]


def _somewhere(
    order: DescribedDrawing, number: int, radius: float, size: tuple[float, float], spread: float, rng: random.Random
) -> _Place:
    """Return a random place in the image. With a relation, it is on the shape's own side along the axis, and within a
    band of width ``spread`` across the axis. Shapes far apart across the axis would be beside each other as much as
    above.
    """
    edge = radius + _GAP
    spans = [[edge, side - edge] for side in size]
    if order.relation:
        axis = 0 if order.relation in ("left of", "right of") else 1
        is_early = (number < order.split) == (order.relation in ("left of", "above"))
        middle, across = size[axis] / 2, spans[1 - axis]
        spans[axis][1 if is_early else 0] = (
            max(edge, middle - edge) if is_early else min(size[axis] - edge, middle + edge)
        )
        slack = (across[1] - across[0]) * (1 - spread) / 2
        spans[1 - axis] = [across[0] + slack, across[1] - slack]
    return rng.uniform(*spans[0]), rng.uniform(*spans[1]), radius


def _fits(order: DescribedDrawing, number: int, place: _Place, other: int, there: _Place) -> bool:
    x, y = place[0] - there[0], place[1] - there[1]
    reach = place[2] + there[2] + _GAP
    if max(abs(x), abs(y)) < reach:
        return False
    if not order.relation or (number < order.split) == (other < order.split):
        return True
    sign = 1 if number < order.split else -1
    along, across = (x, y) if order.relation in ("left of", "right of") else (y, x)
    towards = -1 if order.relation in ("left of", "above") else 1
    # The relation must be clear: apart along the axis, and farther along it than across.
    return along * sign * towards >= reach and abs(across) * 1.2 <= abs(along)


def _each(group: ShapeGroup) -> range:
    return range(group.count)


def _free_colour(order: DescribedDrawing, rng: random.Random) -> str:
    named = {group.colour for group in order.groups} | {order.background, "white", "gray"}
    return rng.choice([name for name in PALETTE if name not in named])


def _background(inks: list[Rgb], rng: random.Random) -> Rgb:
    """Return a background colour on which every shape is visible."""
    clear = [rgb for rgb in _BACKGROUNDS if all(_contrast(rgb, ink) >= _LEAST_CONTRAST for ink in inks)]
    return rng.choice(clear) if clear else max(_BACKGROUNDS, key=lambda rgb: min(_contrast(rgb, ink) for ink in inks))


def _contrast(first: Rgb, second: Rgb) -> int:
    return sum(abs(a - b) for a, b in zip(first, second, strict=True))
