"""Editing of an image of shapes: it is split into layers, the layers are changed, and they are composed again.

Shapes are found by their pixels, so any program may have drawn the image. A layer is a colour and the share of each
pixel that it covers. So smooth edges stay smooth, and other parts of the image do not change at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polymeter.extend import ModelError, missing_package
from polymeter.library.shapes.drawing import mask
from polymeter.library.shapes.layout import Thing
from polymeter.library.shapes.reading import Edit, EditKind, ShapeGroup
from polymeter.library.shapes.words import PALETTE, PLACES, SIZES, Rgb

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

_EDGE = 5
# Between 7/16 and 8/16: shapes are drawn four times finer in both directions, and a share that is read from pixels is
# rounded.
_ABOUT_HALF = 0.47


@dataclass(frozen=True, slots=True)
class EditedShape:
    """A shape in an image.

    Attributes:
        shape: The name of the shape.
        colour: The name of its colour.
        ink: Its colour as RGB.
        cover: The share of each pixel that it covers, shape ``(height, width)``, from 0 to 1.
        centre: The middle of its box, in pixels.
    """

    shape: str
    colour: str
    ink: Rgb
    cover: NDArray[np.float64]
    centre: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Layers:
    """An image as layers: the background's colour, and the shapes from back to front."""

    background: Rgb
    shapes: tuple[EditedShape, ...]

    def image(self, height: int, width: int) -> PILImage:
        """Compose the image of the layers, ``width`` × ``height`` pixels."""
        from PIL import Image as pil

        pixels = np.tile(np.asarray(self.background, dtype=np.float64), (height, width, 1))
        for item in self.shapes:
            pixels += item.cover[..., None] * (np.asarray(item.ink) - pixels)
        return pil.fromarray(np.rint(pixels).clip(0, 255).astype(np.uint8))


def layer(shape: str, colour: str, ink: Rgb, cover: NDArray[np.float64]) -> EditedShape:
    """Make a layer. Its centre is the middle of the box around the pixels of which it covers half or more.

    Args:
        shape: The name of the shape.
        colour: The name of its colour.
        ink: Its colour as RGB.
        cover: The share of each pixel that it covers, shape ``(height, width)``, from 0 to 1.
    """
    solid = cover > _ABOUT_HALF
    rows, columns = np.flatnonzero(solid.any(axis=1)), np.flatnonzero(solid.any(axis=0))
    centre = (0.0, 0.0)
    if rows.size:
        centre = (float(columns[0] + columns[-1] + 1) / 2, float(rows[0] + rows[-1] + 1) / 2)
    return EditedShape(shape, colour, ink, cover, centre)


def edited(image: PILImage, edit: Edit) -> PILImage:
    """Return the image with a change made.

    Raises:
        ModelError: if the shape to change is not in the image.
        PlanError: if OpenCV, which finds the shapes, is not installed.
    """
    pixels = np.asarray(image.convert("RGB"))
    return changed(taken_apart(pixels), edit, image.height, image.width).image(image.height, image.width)


def changed(layers: Layers, edit: Edit, height: int, width: int) -> Layers:
    """Return the layers of an image with a change made.

    Raises:
        ModelError: if the shape to change is not among them.
    """
    return _CHANGES[edit.kind](layers, edit, (height, width))


def taken_apart(pixels: NDArray[np.uint8]) -> Layers:
    """Split an image into layers.

    Args:
        pixels: RGB, shape ``(height, width, 3)``.

    Raises:
        PlanError: if OpenCV is not installed.
    """
    try:
        import cv2

        from polymeter.library.shapes.recognition import find_shapes

        drawing = find_shapes(pixels)
    except ModuleNotFoundError as error:
        raise missing_package("opencv-python-headless", "editing by the model 'shapes'", "image-metrics") from error
    behind = np.asarray(drawing.background, dtype=np.float64)
    far = [
        cv2.distanceTransform(np.where(shape.mask > 0, 0, 1).astype(np.uint8), cv2.DIST_L2, 5)
        for shape in drawing.shapes
    ]
    nearest = np.argmin(far, axis=0) if far else None
    layers = []
    for number, shape in enumerate(drawing.shapes):
        # The position between the background's colour (0) and the ink (1).
        line = np.asarray(shape.rgb) - behind
        cover = ((pixels - behind) @ line / max(1.0, float(line @ line))).clip(0, 1)
        is_its = (nearest == number) & (far[number] <= _EDGE)
        layers.append(layer(shape.label, shape.colour, shape.rgb, np.where(is_its, cover, 0.0)))
    layers.sort(key=lambda item: -item.cover.sum())
    return Layers(drawing.background, tuple(layers))


_Size = tuple[int, ...]


def _recoloured(layers: Layers, edit: Edit, size: _Size) -> Layers:
    chosen = _layers_meant(layers, edit.target)
    ink = PALETTE[edit.colour]
    return _with(layers, {number: replace(layers.shapes[number], ink=ink) for number in chosen})


def _removed(layers: Layers, edit: Edit, size: _Size) -> Layers:
    chosen = _layers_meant(layers, edit.target)
    return replace(layers, shapes=tuple(item for number, item in enumerate(layers.shapes) if number not in chosen))


def _added(layers: Layers, edit: Edit, size: _Size) -> Layers:
    assert edit.target is not None
    height, width = size
    return replace(layers, shapes=(*layers.shapes, new_layer(edit.target, edit.place, width, height)))


def new_layer(group: ShapeGroup, place: str, width: int, height: int) -> EditedShape:
    """Make a shape at a named place of an image. Its default size is medium, its default colour is red."""
    x, y = PLACES[place]
    shorter = min(width, height)
    least, most = SIZES[group.size or "medium"]
    colour = group.colour or "red"
    thing = Thing(group.shape, PALETTE[colour], x * width / shorter, y * height / shorter, (least + most) / 2)
    return layer(group.shape, colour, thing.ink, np.asarray(mask(thing, width, height), dtype=np.float64) / 255)


def _moved(layers: Layers, edit: Edit, size: _Size) -> Layers:
    height, width = size
    x, y = PLACES[edit.place]
    there = (x * width, y * height)
    return _with(layers, {number: _at(layers.shapes[number], there) for number in _layers_meant(layers, edit.target)})


def _swapped(layers: Layers, edit: Edit, size: _Size) -> Layers:
    first, second = (layers.shapes[_layers_meant(layers, group)[0]] for group in (edit.target, edit.other))
    places = {id(first): _at(first, second.centre), id(second): _at(second, first.centre)}
    return replace(layers, shapes=tuple(places.get(id(item), item) for item in layers.shapes))


def _swapped_colours(layers: Layers, edit: Edit, size: _Size) -> Layers:
    first, second = _layers_meant(layers, edit.target), _layers_meant(layers, edit.other)
    inks = layers.shapes[first[0]].ink, layers.shapes[second[0]].ink
    recoloured = {number: replace(layers.shapes[number], ink=inks[1]) for number in first}
    return _with(layers, recoloured | {number: replace(layers.shapes[number], ink=inks[0]) for number in second})


def _on_another_background(layers: Layers, edit: Edit, size: _Size) -> Layers:
    return replace(layers, background=PALETTE[edit.colour])


_CHANGES: Mapping[EditKind, Callable[[Layers, Edit, _Size], Layers]] = {
    "recolour": _recoloured,
    "remove": _removed,
    "add": _added,
    "move": _moved,
    "swap": _swapped,
    "swap colours": _swapped_colours,
    "background": _on_another_background,
}


def _layers_meant(layers: Layers, group: ShapeGroup | None) -> list[int]:
    """Return the positions of the shapes that a prompt means.

    Raises:
        ModelError: if no shape fits.
    """
    assert group is not None
    numbers = [
        number
        for number, item in enumerate(layers.shapes)
        if item.shape == group.shape and group.colour in ("", item.colour)
    ]
    if not numbers:
        seen = ", ".join(f"{item.colour} {item.shape}" for item in layers.shapes) or "nothing"
        named = f"{group.colour} {group.shape}".strip()
        raise ModelError(f"The model 'shapes' sees no {named} in the image, but {seen}.")
    return numbers


def _with(layers: Layers, new: Mapping[int, EditedShape]) -> Layers:
    return replace(layers, shapes=tuple(new.get(number, item) for number, item in enumerate(layers.shapes)))


def _at(item: EditedShape, centre: tuple[float, float]) -> EditedShape:
    """Move a layer by whole pixels; parts that leave the image are lost."""
    x, y = (math.floor(new - old + 0.5) for new, old in zip(centre, item.centre, strict=True))
    height, width = item.cover.shape
    cover: NDArray[np.float64] = np.zeros_like(item.cover)
    top, bottom, left, right = max(0, y), min(height, height + y), max(0, x), min(width, width + x)
    cover[top:bottom, left:right] = item.cover[top - y : bottom - y, left - x : right - x]
    return replace(item, cover=cover, centre=(item.centre[0] + x, item.centre[1] + y))
