"""Boxes and points in texts and rows, in the field's notations. This module finds their numbers; a metric or a page
decides what scale they are on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Scale = Literal["pixels", "unit", "thousand", "percent"]
SCALE_ENDS: dict[Scale, float] = {"unit": 1.0, "thousand": 1000.0, "percent": 100.0}
"""The number at the right or lower edge of the image, for scales on which it is fixed."""

MOST_SHAPES = 200
_LONGEST_TEXT = 100_000
_NUMBER = r"[-+]?(?:\d{1,9}(?:\.\d{0,12})?|\.\d{1,12})"
_COMMA = r"[ \t]{0,9},\s{0,9}"
_NUMBERS = re.compile(_NUMBER)
_TAGGED = re.compile(r"<\|?box(?:_start)?\|?>([^<>]{1,400})<(?:/box|\|box_end\|)>")
_MOLMO = re.compile(r"<points?\b[^<>]{0,4000}>")
_MOLMO_PAIR = re.compile(rf'\bx(\d{{0,3}})="({_NUMBER})"\s{{1,9}}y\1="({_NUMBER})"')
_MOLMO_LABEL = re.compile(r'\balt="([^"<>]{0,200})"')
_FENCED = re.compile(r"```(?:json)?\s{0,9}\n([^`]{1,50000})```")
_FOUR = re.compile(rf"[\[(]\s{{0,9}}({_NUMBER}){_COMMA}({_NUMBER}){_COMMA}({_NUMBER}){_COMMA}({_NUMBER})\s{{0,9}}[\])]")
_TWO_CORNERS = re.compile(
    rf"\(\s{{0,9}}({_NUMBER}){_COMMA}({_NUMBER})\s{{0,9}}\){_COMMA}\(\s{{0,9}}({_NUMBER}){_COMMA}({_NUMBER})\s{{0,9}}\)"
)
_POINT = re.compile(rf"\bpoint\"?\s{{0,9}}[:=]\s{{0,9}}[\[(]?\s{{0,9}}({_NUMBER}){_COMMA}({_NUMBER})", re.IGNORECASE)
_PAIR = re.compile(rf"[\[(]\s{{0,9}}({_NUMBER}){_COMMA}({_NUMBER})\s{{0,9}}[\])]")
_NAMED = re.compile(
    rf'"(bbox_2d|bbox|box_2d|bounding_box|point_2d)"\s{{0,9}}:\s{{0,9}}\[({_NUMBER}(?:{_COMMA}{_NUMBER}){{1,3}})'
)
_SPATIAL = re.compile(
    r"\b(?:bbox|box(?:es)?|bounding|coordinates?|locate|localis|localiz|grounding|click|tap|point(?:s|ing)? (?:to|at)|"
    r"point_2d|x1|xmin|where is|pixel)\w*",
    re.IGNORECASE,
)
_BOX_KEYS = ("bbox_2d", "bbox", "bounding_box", "box", "bboxes", "boxes")
_POINT_KEYS = ("point_2d", "point", "points", "click")
_LABEL_KEYS = ("label", "text", "name", "category", "class")
_FORMAT_KEYS = ("bbox_format", "box_format", "bbox_mode", "box_mode", "bbox_type")
_XYWH = re.compile(r"xywh|coco", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ShownShape:
    """A box or point as it is written, but for the order of its numbers.

    Attributes:
        numbers: Left, top, right and bottom of a box; x and y of a point.
        label: The name of the object; may be empty.
        form: Its notation: ``list``, ``tag``, ``molmo``, ``yx`` (top before left, as by Gemini) or ``xywh``.
    """

    numbers: tuple[float, ...]
    label: str = ""
    form: str = "list"

    @property
    def is_box(self) -> bool:
        """True if it is a box."""
        return len(self.numbers) == 4


def find_shapes(text: str, *, is_spatial: bool, is_xywh: bool = False) -> list[ShownShape]:
    """The boxes and points in a text, each once, in their order.

    Args:
        text: A target or an answer.
        is_spatial: Whether a bare list of numbers may be one; otherwise only forms that mean nothing else count.
        is_xywh: Whether lists of four numbers are left, top, width and height.
    """
    text = text[:_LONGEST_TEXT]
    found = [*_of_json(text, is_spatial, is_xywh)] or [*_of_names(text, is_xywh)]
    found = found or [*_of_tags(text)] or [*_of_molmo(text)]
    if not found:
        found = [*_of_points(text)]
    if not found and is_spatial:
        found = [*_bare(text, is_xywh)]
    return [*dict.fromkeys(shape for shape in found if _is_sound(shape))][:MOST_SHAPES]


def is_spatial(*texts: str) -> bool:
    """Return whether texts speak of places in an image."""
    return any(_SPATIAL.search(text[:_LONGEST_TEXT]) for text in texts)


def says_xywh(doc: Mapping[str, Any]) -> bool:
    """Return whether a row states that its boxes are left, top, width and height, as in COCO."""
    named = any(isinstance(doc.get(key), str) and _XYWH.search(doc[key]) for key in _FORMAT_KEYS)
    return named or any("xywh" in str(key).lower() for key in doc)


def of_row(doc: Mapping[str, Any]) -> tuple[str, list[ShownShape]]:
    """The boxes or points in the columns of a row, and the name of the column; none if no column is named for them."""
    is_xywh = says_xywh(doc)
    for key, value in doc.items():
        name = str(key).lower()
        if name not in _BOX_KEYS + _POINT_KEYS and not {*name.split("_")} & {"bbox", "xywh", "xyxy"}:
            continue
        found = [shape for shape in _of_value(value, is_xywh, is_list=True) if _is_sound(shape)]
        if found:
            return str(key), found[:MOST_SHAPES]
    return "", []


def overlap(first: Sequence[float], second: Sequence[float]) -> float:
    """Intersection over union of two boxes; 0 if they do not touch."""
    across = min(first[2], second[2]) - max(first[0], second[0])
    down = min(first[3], second[3]) - max(first[1], second[1])
    if across <= 0 or down <= 0:
        return 0.0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)]
    return across * down / (sum(areas) - across * down)


def _is_sound(shape: ShownShape) -> bool:
    if min(shape.numbers) < 0 or max(shape.numbers) > 1e6:
        return False
    return not shape.is_box or (shape.numbers[2] > shape.numbers[0] and shape.numbers[3] > shape.numbers[1])


def _box(numbers: Sequence[float], label: str = "", *, is_xywh: bool = False, form: str = "list") -> ShownShape:
    a, b, c, d = numbers
    if form == "yx":
        return ShownShape((b, a, d, c), label, form)
    return ShownShape((a, b, a + c, b + d), label, "xywh") if is_xywh else ShownShape((a, b, c, d), label, form)


def _of_json(text: str, is_spatial: bool, is_xywh: bool) -> Iterator[ShownShape]:
    bodies = [match[1] for match in _FENCED.finditer(text)] or [text]
    for body in bodies:
        body = body.strip()
        if body[:1] not in ("{", "["):
            continue
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            continue
        yield from _of_value(value, is_xywh, is_list=is_spatial)


def _of_value(
    value: Any, is_xywh: bool, label: str = "", depth: int = 6, *, is_list: bool = False
) -> Iterator[ShownShape]:
    """The shapes in a value; bare lists of numbers count only with ``is_list``."""
    if depth == 0:
        return
    if isinstance(value, Mapping):
        own = next((str(value[key]) for key in _LABEL_KEYS if isinstance(value.get(key), (str, int))), label)
        for key, item in value.items():
            name = str(key).lower()
            if name == "box_2d" and len(_numbers(item)) == 4:
                yield _box(_numbers(item), own, form="yx")
            else:
                is_named = name in _BOX_KEYS or name in _POINT_KEYS
                yield from _of_value(item, is_xywh, own, depth - 1, is_list=is_named)
        return
    if not isinstance(value, (list, tuple)):
        return
    numbers = _numbers(value)
    if numbers:
        if is_list and len(numbers) == 4:
            yield _box(numbers, label, is_xywh=is_xywh)
        elif is_list and len(numbers) == 2:
            yield ShownShape(tuple(numbers), label)
        return
    for item in value[:MOST_SHAPES]:
        yield from _of_value(item, is_xywh, label, depth - 1, is_list=is_list)


def _numbers(value: Any) -> list[float]:
    """Return a list of numbers; empty if it is not one."""
    if not isinstance(value, (list, tuple)) or not 0 < len(value) <= 4:
        return []
    is_all = all(isinstance(item, (int, float)) and not isinstance(item, bool) and abs(item) < 1e9 for item in value)
    return [float(item) for item in value] if is_all else []


def _of_names(text: str, is_xywh: bool) -> Iterator[ShownShape]:
    """Return the named values of JSON that was cut off, or stands within other text."""
    for match in _NAMED.finditer(text):
        numbers = [float(number) for number in _NUMBERS.findall(match[2])]
        if len(numbers) == 4 and match[1] != "point_2d":
            yield _box(numbers, is_xywh=is_xywh and match[1] != "box_2d", form="yx" if match[1] == "box_2d" else "list")
        elif len(numbers) == 2:
            yield ShownShape(tuple(numbers))


def _of_tags(text: str) -> Iterator[ShownShape]:
    for match in _TAGGED.finditer(text):
        numbers = [float(number) for number in _NUMBERS.findall(match[1])]
        for place in range(0, len(numbers) - 3, 4):
            yield _box(numbers[place : place + 4], form="tag")


def _of_molmo(text: str) -> Iterator[ShownShape]:
    for tag in _MOLMO.finditer(text):
        label = _MOLMO_LABEL.search(tag[0])
        for match in _MOLMO_PAIR.finditer(tag[0]):
            yield ShownShape((float(match[2]), float(match[3])), label[1] if label else "", "molmo")


def _of_points(text: str) -> Iterator[ShownShape]:
    for match in _POINT.finditer(text):
        yield ShownShape((float(match[1]), float(match[2])))


def _bare(text: str, is_xywh: bool) -> Iterator[ShownShape]:
    boxes = [*_TWO_CORNERS.finditer(text)] or [*_FOUR.finditer(text)]
    for match in boxes:
        is_list = match.re is _FOUR
        yield _box([float(number) for number in match.groups()], is_xywh=is_xywh and is_list)
    if not boxes:
        for match in _PAIR.finditer(text):
            yield ShownShape((float(match[1]), float(match[2])))
