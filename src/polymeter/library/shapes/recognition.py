"""Detection of drawn shapes in an image: circles, squares, triangles and a few more, with colours and boxes, by OpenCV.

It is made for drawn scenes: shapes of one colour each on a plain background, light or dark, with smooth or jagged
edges, compressed or not, touching or slightly covering each other. It uses pixels alone, so any program may have drawn
them. Photographs have no plain colours; shapes that are found in them are meaningless.

1. The plain colours of the image are listed; the one that fills most of its border is the background.
2. Each pixel gets the nearest of the colours within two pixels of it, so that a blend at an edge does not count as a
   third colour.
3. Each connected patch is compared with the smallest circle, rectangle and triangle around it. The share that it fills
   decides the label. If a patch fits none of them, it is tried again with the covered parts filled in, and then split
   at its narrowest neck.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeter.extend import Box, Detection, colour_name, lab

KNOWN = ("circle", "square", "triangle", "rectangle", "ellipse", "star", "cross")
"""The labels of shapes."""
UNKNOWN = "shape"
"""The label of any other patch."""

_LONGEST_SIDE = 640
_SHORTEST_SIDE = 240
_PLAIN_RANGE = 20
_SAME_COLOUR = 14.0
_TINT_BY_EYE = 24.0
_TINT_BY_VALUE = 45.0
_LEAST_COLOUR_SHARE = 0.0004
_LEAST_PATCH_SHARE = 0.0006
_LEAST_PATCH_PIXELS = 24
_GOOD_FIT = 0.9
_FAIR_FIT = 0.82
_CONVEX = 0.9
_SQUARE_ASPECT = 1.18
_ROUND_ASPECT = 1.2
_DEEP = 0.1
_THIN = 0.06
_HAIRLINE = 2.5
_HOLLOW = 0.6
_UNKNOWN_FIT = 0.3
_MOST_PARTS = 6

_Pixels = NDArray[np.uint8]
_Mask = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class FoundShape:
    """A shape in an image.

    Attributes:
        label: One of ``KNOWN``, or ``UNKNOWN``.
        colour: The name of its colour.
        rgb: Its colour as RGB.
        box: Left, top, right and bottom edge in pixels.
        fit: How well its outline fits its label, from 0 to 1.
        mask: The pixels that it fills, shape ``(height, width)``, 0 or 255.
        is_line: Whether only its outline is drawn.
    """

    label: str
    colour: str
    rgb: tuple[int, int, int]
    box: Box
    fit: float
    mask: _Mask
    is_line: bool = False

    def detection(self) -> Detection:
        """Return the shape as a detector reports it."""
        return Detection(self.label, self.colour, self.box, self.fit)


@dataclass(frozen=True, slots=True)
class DrawnShapes:
    """The shapes of an image from left to right, and the background's colour."""

    shapes: tuple[FoundShape, ...]
    background: tuple[int, int, int]


def find_shapes(pixels: _Pixels) -> DrawnShapes:
    """Find the shapes of a drawn scene.

    Args:
        pixels: RGB, shape ``(height, width, 3)``.

    Raises:
        ModuleNotFoundError: if OpenCV is not installed.
    """
    import cv2

    height, width = pixels.shape[:2]
    scale = _scale(max(height, width))
    seen = pixels
    if scale != 1:
        way = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
        seen = np.asarray(cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=way), dtype=np.uint8)
    colours, labels = _plain_colours(seen)
    if not len(colours):
        return DrawnShapes((), _rgb(pixels.reshape(-1, 3).mean(axis=0)))
    behind = _background(labels, len(colours))
    front = _in_front(colours, behind)
    labels[~np.isin(labels, [-1, *front])] = behind
    raw = [shape for number in front for shape in _shapes_of(labels, number, behind, colours)]
    shapes = [_scaled(shape, (width, height), scale) for shape in _without_outlines(raw)]
    shapes.sort(key=lambda shape: (shape.box[0], shape.box[1]))
    return DrawnShapes(tuple(shapes), _rgb(colours[behind]))


def _scale(longest: int) -> float:
    """Return the factor by which an image is scaled first. With few pixels, a circle looks like a square."""
    if longest < _SHORTEST_SIDE:
        return float(math.ceil(_SHORTEST_SIDE / longest))
    return min(1.0, _LONGEST_SIDE / longest)


def _plain_colours(pixels: _Pixels) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the plain colours, shape ``(n, 3)``, and for each pixel the number of its colour (-1 for none), shape
    ``(height, width)``.
    """
    import cv2

    smooth = cv2.medianBlur(pixels, 3)
    kernel = np.ones((3, 3), np.uint8)
    spread = cv2.morphologyEx(smooth, cv2.MORPH_GRADIENT, kernel)
    is_plain = np.maximum.reduce(cv2.split(spread)) <= _PLAIN_RANGE
    colours = _clusters(smooth[is_plain], _LEAST_COLOUR_SHARE * pixels.shape[0] * pixels.shape[1])
    if not len(colours):
        return colours, np.full(pixels.shape[:2], -1)
    # A drawing has few shades: distances are computed once for each shade, not for each pixel.
    shades, shade_of = np.unique(_packed(smooth), return_inverse=True)
    tones = lab(_unpacked(shades))
    offsets = (tones - tone for tone in lab(colours))
    by_shade = np.stack([np.einsum("nc,nc->n", offset, offset) for offset in offsets])
    distances = by_shade[:, shade_of.reshape(is_plain.shape)]
    nearest = np.where(is_plain, by_shade.argmin(axis=0)[shade_of.reshape(is_plain.shape)], -1)
    kernel = np.ones((5, 5), np.uint8)
    for number in range(len(colours)):
        is_near = cv2.dilate((nearest == number).astype(np.uint8), kernel) > 0
        distances[number][~is_near] = np.inf
    closest = distances.argmin(axis=0)
    filled = np.where(np.isfinite(np.take_along_axis(distances, closest[None], axis=0)[0]), closest, -1)
    return colours, np.where(is_plain, nearest, filled)


def _packed(pixels: _Pixels) -> NDArray[np.int32]:
    """Return each pixel's red, green and blue as one number, shape ``(height, width)``."""
    red, green, blue = (pixels[..., channel].astype(np.int32) for channel in range(3))
    return red << 16 | green << 8 | blue


def _unpacked(shades: NDArray[np.int32]) -> _Pixels:
    """Return packed colours as RGB, shape ``(n, 3)``."""
    return np.stack([shades >> 16, shades >> 8 & 255, shades & 255], axis=-1).astype(np.uint8)


def _clusters(colours: NDArray[np.uint8], least: float) -> NDArray[np.float64]:
    """Return the colours that differ visibly and have at least ``least`` pixels, the most common first.

    Args:
        colours: One colour for each pixel, shape ``(n_pixels, 3)``.
        least: The smallest number of pixels of a colour.

    Returns:
        Colours, shape ``(n, 3)``.
    """
    if not len(colours):
        return np.empty((0, 3))
    red, green, blue = (colours[:, channel].astype(np.int32) >> 3 for channel in range(3))
    coarse = red << 10 | green << 5 | blue
    all_counts = np.bincount(coarse)
    bins = np.flatnonzero(all_counts)
    counts = all_counts[bins]
    sums = np.stack([np.bincount(coarse, colours[:, channel])[bins] for channel in range(3)], axis=1)
    means = sums / counts[:, None]
    tones = lab(means)
    heads: list[int] = []
    sizes: dict[int, int] = {}
    for number in np.argsort(-counts, kind="stable").tolist():
        near = [head for head in heads if np.linalg.norm(tones[head] - tones[number]) < _SAME_COLOUR]
        head = near[0] if near else number
        if not near:
            heads.append(number)
        sizes[head] = sizes.get(head, 0) + int(counts[number])
    return means[[head for head in heads if sizes[head] >= max(least, 9)]]


def _background(labels: NDArray[np.int64], n: int) -> int:
    border = np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]])
    seen = border[border >= 0]
    return int(np.bincount(seen if seen.size else labels[labels >= 0], minlength=n).argmax())


def _in_front(colours: NDArray[np.float64], behind: int) -> list[int]:
    """Return the numbers of the colours that differ from the background by more than compression explains. On a dark
    background, a difference can be large to the eye but small in the channels' values.
    """
    tones = lab(colours)
    by_eye = np.linalg.norm(tones - tones[behind], axis=1)
    by_value = np.linalg.norm(colours - colours[behind], axis=1)
    return [int(number) for number in np.flatnonzero((by_eye >= _TINT_BY_EYE) | (by_value >= _TINT_BY_VALUE))]


def _shapes_of(
    labels: NDArray[np.int64], colour: int, behind: int, colours: NDArray[np.float64]
) -> Iterator[FoundShape]:
    """Yield the shapes of one colour."""
    import cv2

    mask = (labels == colour).astype(np.uint8)
    others = ((labels != colour) & (labels != behind)).astype(np.uint8)
    least = max(_LEAST_PATCH_PIXELS, _LEAST_PATCH_SHARE * mask.size)
    n_patches, patches, facts, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    rgb = _rgb(colours[colour])
    for number in range(1, n_patches):
        width, height = int(facts[number, cv2.CC_STAT_WIDTH]), int(facts[number, cv2.CC_STAT_HEIGHT])
        if width * height < least:
            continue
        patch = (patches == number).astype(np.uint8)
        filled = _filled(patch)
        if filled.sum() < least:
            continue
        thickness, is_hollow = _thickness(patch), patch.sum() < _HOLLOW * filled.sum()
        if thickness <= _HAIRLINE and not is_hollow:  # a piece of a line
            continue
        is_line = is_hollow and thickness <= max(_HAIRLINE, _THIN * max(width, height))
        for label, fit, part in _recognised(filled, others):
            yield FoundShape(label, colour_name(rgb), rgb, _box(part), fit, part * np.uint8(255), is_line)


def _recognised(patch: _Mask, others: _Mask) -> list[tuple[str, float, _Mask]]:
    """Return label, fit and mask of the shapes in a patch: one shape, or several touching ones of one colour."""
    label, fit = _fitted(patch)
    tries = [[(label, fit, patch)]]
    if fit < _GOOD_FIT:
        whole = _filled(patch | (_hull(patch) & others))
        tries.append([(*_fitted(whole), whole)])
        parts = list(_split_shapes(patch))
        if len(parts) > 1:
            tries.append([(*_fitted(part), part) for part in parts])
    best = max(tries, key=lambda attempt: min(item[1] for item in attempt))
    worst = min(item[1] for item in best)
    return best if worst >= _FAIR_FIT else [(UNKNOWN, _UNKNOWN_FIT, patch)]


def _fitted(patch: _Mask) -> tuple[str, float]:
    """Return the best label of a filled patch, and the share of the label's outline that it fills."""
    import cv2

    outline = _outline(patch)
    hull = cv2.convexHull(outline)
    area, hull_area = cv2.contourArea(outline), cv2.contourArea(hull)
    if hull_area <= 0:
        return UNKNOWN, 0.0
    solidity = area / hull_area
    if solidity < _CONVEX:
        n_notches = _notches(outline, math.sqrt(hull_area))
        label = {4: "cross", 5: "star"}.get(n_notches)
        # Ideal solidities: 0.47 to 0.6 of five-pointed stars, 0.55 to 0.75 of crosses.
        return (label, 0.95) if label and 0.4 < solidity < 0.8 else (UNKNOWN, solidity * 0.8)
    fits = {**_round_fits(hull, hull_area), **_angular_fits(hull, hull_area)}
    label = max(fits, key=lambda name: fits[name])
    return label, min(1.0, fits[label]) * min(1.0, solidity / 0.97)


def _round_fits(hull: Any, area: float) -> dict[str, float]:
    import cv2

    _, radius = cv2.minEnclosingCircle(hull)
    _, (width, height), _ = cv2.minAreaRect(hull)
    aspect = max(width, height) / max(1e-6, min(width, height))
    ellipse = math.pi / 4 * width * height
    of_ellipse = min(area, ellipse) / max(area, ellipse, 1e-6)
    # A box around a square turned by 45 degrees has the aspect of a circle's, but is filled by half.
    return {
        "circle": area / (math.pi * radius**2),
        "ellipse": of_ellipse if aspect > _ROUND_ASPECT else 0.0,
    }


def _angular_fits(hull: Any, area: float) -> dict[str, float]:
    import cv2

    _, (width, height), _ = cv2.minAreaRect(hull)
    aspect = max(width, height) / max(1e-6, min(width, height))
    triangle_area, _ = cv2.minEnclosingTriangle(hull.astype(np.float32))
    box = area / max(1e-6, width * height)
    return {
        "square" if aspect <= _SQUARE_ASPECT else "rectangle": box,
        "triangle": area / triangle_area if triangle_area else 0.0,
    }


def _notches(outline: Any, size: float) -> int:
    """Return the number of deep notches of an outline."""
    import cv2

    corners = cv2.convexHull(outline, returnPoints=False)
    defects = cv2.convexityDefects(outline, np.sort(corners, axis=0)[::-1])
    if defects is None:
        return 0
    depths = np.reshape(defects, (-1, 4))[:, 3] / 256  # fixed point with eight bits of fraction
    return int((depths > _DEEP * size).sum())


def _split_shapes(patch: _Mask) -> Iterator[_Mask]:
    """Yield the parts of a patch that are joined by necks, or the patch itself if it has no neck."""
    pending, done = [patch], 0
    while pending:
        piece = pending.pop()
        halves = _split(piece) if done + len(pending) < _MOST_PARTS else []
        if halves:
            pending.extend(halves)
        else:
            done += 1
            yield piece


def _split(patch: _Mask) -> list[_Mask]:
    """Return both sides of a patch's narrowest neck, if it has one: the pieces that remain when its rim is removed."""
    import cv2

    depth = _depth(patch)
    for rim in range(1, int(depth.max())):
        core = (depth > rim).astype(np.uint8)
        n_cores, cores = cv2.connectedComponents(core, connectivity=8)
        wide = [number for number in range(1, n_cores) if depth[cores == number].max() >= rim + 2]
        if len(wide) > 1:
            seeds = [(cores == number).astype(np.uint8) for number in wide]
            far = np.stack([cv2.distanceTransform(1 - seed, cv2.DIST_L2, 5) for seed in seeds])
            owner = far.argmin(axis=0)
            return [(patch & (owner == number)).astype(np.uint8) for number in range(len(seeds))]
    return []


def _depth(patch: _Mask) -> NDArray[np.float32]:
    """Return each pixel's distance to the nearest one outside the patch, shape ``(height, width)``. The image's border
    counts as outside.
    """
    import cv2

    framed = cv2.copyMakeBorder(patch, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    depth: NDArray[np.float32] = cv2.distanceTransform(framed, cv2.DIST_L2, 5)[1:-1, 1:-1]
    return depth


def _thickness(patch: _Mask) -> float:
    return float(_depth(patch).max())


def _outline(patch: _Mask) -> Any:
    import cv2

    outlines, _ = cv2.findContours(patch, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return max(outlines, key=len)


def _filled(patch: _Mask) -> _Mask:
    import cv2

    return np.asarray(cv2.drawContours(np.zeros_like(patch), [_outline(patch)], -1, 1, cv2.FILLED), dtype=np.uint8)


def _hull(patch: _Mask) -> _Mask:
    import cv2

    corners = cv2.convexHull(_outline(patch))
    return np.asarray(cv2.drawContours(np.zeros_like(patch), [corners], -1, 1, cv2.FILLED), dtype=np.uint8)


def _box(patch: _Mask) -> Box:
    rows, columns = np.nonzero(patch.any(axis=1))[0], np.nonzero(patch.any(axis=0))[0]
    return float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)


def _without_outlines(shapes: list[FoundShape]) -> list[FoundShape]:
    """Return the shapes without the outlines of shapes of another colour."""
    return [
        shape
        for shape in shapes
        if not (shape.is_line and any(other is not shape and _fills(other, shape) for other in shapes))
    ]


def _fills(inner: FoundShape, outer: FoundShape) -> bool:
    shared = np.count_nonzero(inner.mask & outer.mask)
    return bool(shared > 0.6 * np.count_nonzero(outer.mask) and np.count_nonzero(inner.mask) <= shared * 1.02)


def _scaled(shape: FoundShape, size: tuple[int, int], scale: float) -> FoundShape:
    """Return a shape in the pixels of the original image."""
    if scale == 1:
        return shape
    import cv2

    left, top, right, bottom = (value / scale for value in shape.box)
    mask = cv2.resize(shape.mask, size, interpolation=cv2.INTER_NEAREST)
    return replace(shape, box=(left, top, right, bottom), mask=mask)


def _rgb(colour: NDArray[Any]) -> tuple[int, int, int]:
    red, green, blue = (int(value) for value in np.rint(colour))
    return red, green, blue
