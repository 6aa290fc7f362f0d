"""The images that the model was shown, with the boxes and points of target and answer drawn over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polymeter.reading.shapes import Scale, ShownShape, find_shapes, is_spatial, of_row, overlap, says_xywh
from polymeter.report.content.media import Picture
from polymeter.report.content.shapes import SCALES, ShapeScale, on_image, read_scale
from polymeter.report.content.view import Block, BlockView, entry, media_of, messages_of, parts_of
from polymeter.report.formatting import clip, count, listing, one_line

ORDER = 20
_LONGEST_LABEL = 40
_CORNERS = "boxes read as corners, though the row's have width and height"


@dataclass(frozen=True, slots=True)
class Mark:
    """A shape on an image, in pixels.

    Attributes:
        numbers: Left, top, width and height of a box; x and y of a point.
        label: The name of the object; may be empty.
        said: The shape in words.
    """

    numbers: tuple[float, ...]
    label: str
    said: str


@dataclass(frozen=True, slots=True)
class BoxLayer:
    """The shapes of the target or of the answer.

    Attributes:
        owner: ``target`` or ``answer``.
        title: Their owner, in words.
        readings: Scales with their marks; the assumed one is the first.
        why: The reason for that scale, and other assumptions.
    """

    owner: str
    title: str
    readings: tuple[tuple[Scale, str, tuple[Mark, ...]], ...]
    why: str


@dataclass(frozen=True, slots=True)
class Figure:
    """An image with the shapes drawn over it.

    Attributes:
        picture: The image.
        label: Its label.
        layers: The drawn shapes; empty if there are none.
        radius: Radius of a point in pixels of the image.
        letter: Height of a label in pixels of the image.
        said: All drawn shapes in words.
        iou: Intersection over union if target and answer are one box each; else empty.
    """

    picture: Picture
    label: str
    layers: tuple[BoxLayer, ...] = ()
    radius: float = 0.0
    letter: float = 0.0
    said: str = ""
    iou: str = ""


def make(view: BlockView) -> Block | None:
    """The images of the first request; later ones stand in the chat."""
    exchanges = view.exchanges()
    pictures = [view.media.picture(note) for note in media_of(messages_of(exchanges[0]) if exchanges else (), "image")]
    if not pictures or any(output.get("images") for output in view.outputs()):
        return None
    layers_at = next((place for place, picture in enumerate(pictures) if picture.url and picture.width), None)
    figures = []
    for place, picture in enumerate(pictures):
        label = "Image" if len(pictures) == 1 else f"Image {place + 1} of {len(pictures)}"
        figures.append(_figure(view, picture, label, len(pictures)) if place == layers_at else Figure(picture, label))
    return Block("pictures", "", "content/pictures.html", figures, "side")


def _figure(view: BlockView, picture: Picture, label: str, n_pictures: int) -> Figure:
    width, height = picture.width, picture.height
    layers = tuple(_layers(view, width, height, n_pictures))
    if not layers:
        return Figure(picture, label)
    said = listing(f"{layer.title.lower()}: {count(len(layer.readings[0][2]), 'shape')}" for layer in layers)
    side = max(width, height)
    return Figure(picture, label, layers, round(side * 0.012 + 1, 1), round(side * 0.035, 1), said, _iou(layers))


def _layers(view: BlockView, width: int, height: int, n_pictures: int) -> list[BoxLayer]:
    doc = entry(view.sample, "doc")
    target, answer = view.target or "", view.answer or ""
    is_xywh = says_xywh(doc)
    prompt = " ".join(
        str(part["text"])
        for exchange in view.exchanges()[:1]
        for message in messages_of(exchange)
        for part in parts_of(message)
        if "text" in part
    )
    column, of_doc = of_row(doc)
    speaks = bool(of_doc) or is_spatial(prompt, target)
    of_target = find_shapes(target, is_spatial=speaks, is_xywh=is_xywh)
    source = ""
    if not of_target and of_doc:
        of_target, source = of_doc, f"from the row's {clip(one_line(column), 40)!r}"
    of_answer = find_shapes(answer, is_spatial=speaks or bool(of_target))
    which = (
        f"Drawn on the first of {n_pictures} images: the run does not record the right one." if n_pictures > 1 else ""
    )
    layers = []
    if of_target:
        layers.append(_layer("target", "Target", of_target, width, height, (source, which)))
    if of_answer:
        corners = _CORNERS if is_xywh and any(shape.is_box for shape in of_answer) else ""
        layers.append(_layer("answer", "Answer", of_answer, width, height, (corners, which if not of_target else "")))
    return layers


def _layer(
    owner: str, title: str, shapes: Sequence[ShownShape], width: int, height: int, notes: Sequence[str]
) -> BoxLayer:
    reading: ShapeScale = read_scale(shapes, width, height)
    readings = tuple(
        (scale, SCALES[scale], tuple(_mark(shape, scale, width, height) for shape in shapes))
        for scale in (reading.scale, *reading.others)
    )
    form = "left, top, width and height, as the row says; " if any(shape.form == "xywh" for shape in shapes) else ""
    source, *rest = notes
    why = f"{f'{source}; ' if source else ''}{form}read as {SCALES[reading.scale]}: {reading.why}."
    return BoxLayer(owner, title, readings, " ".join(filter(None, (why, *rest))))


def _mark(shape: ShownShape, scale: Scale, width: int, height: int) -> Mark:
    numbers = on_image(shape, scale, width, height)
    label = clip(one_line(shape.label), _LONGEST_LABEL)
    named = f"{label}: " if label else ""
    if not shape.is_box:
        return Mark(numbers, label, f"{named}point {numbers[0]:g}, {numbers[1]:g}")
    left, top, right, bottom = numbers
    said = f"{named}box {left:g}, {top:g} to {right:g}, {bottom:g}"
    return Mark((left, top, round(right - left, 1), round(bottom - top, 1)), label, said)


def _iou(layers: Sequence[BoxLayer]) -> str:
    """Return the overlap of target and answer on the assumed scales, if they are one box each."""
    marks = [layer.readings[0][2] for layer in layers]
    if len(marks) != 2 or any(len(own) != 1 or len(own[0].numbers) != 4 for own in marks):
        return ""
    boxes = [(box[0], box[1], box[0] + box[2], box[1] + box[3]) for box in (own[0].numbers for own in marks)]
    return f"{overlap(boxes[0], boxes[1]):.3f}"
