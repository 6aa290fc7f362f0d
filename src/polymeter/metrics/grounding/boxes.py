"""Overlap of boxes, and points in boxes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

from polymeter.core.errors import PlanError, ScoreError
from polymeter.core.metric import Metric
from polymeter.metrics.arguments import check_choice, check_number
from polymeter.metrics.references import one_prediction
from polymeter.reading.shapes import SCALE_ENDS, Scale, ShownShape, find_shapes, overlap

Format = Literal["xyxy", "xywh"]
Size = tuple[int, int]
_SCALES: tuple[Scale, ...] = ("pixels", "unit", "thousand", "percent")
_FORMATS: tuple[Format, ...] = ("xyxy", "xywh")
_BARE = re.compile(r"\s*[-+]?[\d.]+(?:\s*,\s*[-+]?[\d.]+)+\s*")


def iou(
    references: Sequence[Any],
    predictions: Sequence[Any],
    threshold: float | None = None,
    format: Format = "xyxy",
    scale: Scale | None = None,
    reference_format: Format | None = None,
    reference_scale: Scale | None = None,
    image_size: Size | None = None,
) -> float:
    """Compute the intersection over union of the answer's box and the nearest reference, ``|A ∩ B| / |A ∪ B|``
    (Everingham et al. 2010, section 4.2), or with a threshold, whether it is reached.

    The answer's first box counts, in any notation of ``reading.shapes``; an answer without a box scores 0. Both sides
    must be on one scale, or both scales must be given.

    Args:
        references: The references: texts, lists of four numbers, or one list of four.
        predictions: The answer.
        threshold: Return 1 from this value on and 0 below it, as in accuracy at IoU 0.5.
        format: ``xyxy`` (left, top, right, bottom) or ``xywh`` (left, top, width, height), where the notation is a
            plain list.
        scale: ``pixels``, ``unit`` (0–1), ``thousand`` (0–1000) or ``percent``.
        reference_format: The format of references, if it differs.
        reference_scale: The scale of references, if it differs.
        image_size: Width and height of the image in pixels, if the scales differ.

    Raises:
        ScoreError: if a reference has no box.
    """
    answer = str(one_prediction(references, predictions))
    boxes = _reference_boxes(references, reference_format or format)
    found = next((shape for shape in _shapes(answer, format) if shape.is_box), None)
    if found is None:
        return 0.0
    box = _rescaled(found, scale, reference_scale or scale, image_size)
    best = max(overlap(box, reference.numbers) for reference in boxes)
    return best if threshold is None else float(best >= threshold)


def point_in_box(
    references: Sequence[Any],
    predictions: Sequence[Any],
    scale: Scale = "pixels",
    reference_scale: Scale | None = None,
    format: Format = "xyxy",
    reference_format: Format | None = None,
    image_size: Size | None = None,
) -> float:
    """Return 1 if the answer's point, or the centre of its box, lies in a reference box, edges included, else 0.

    This is the accuracy of ScreenSpot (Cheng et al. 2024, section 5.1). The answer's first point or box counts, in any
    notation of ``reading.shapes``; an answer without one scores 0. The scale is never guessed from the numbers.

    Args:
        references: The references: texts, lists of four numbers, or one list of four.
        predictions: The answer.
        scale: The scale of answers; a task must give it. See ``iou``.
        reference_scale: The scale of references, if it differs.
        format: The format of boxes; see ``iou``.
        reference_format: The format of references, if it differs.
        image_size: Width and height of the image in pixels, if the scales differ.

    Raises:
        ScoreError: if a reference has no box.
    """
    answer = str(one_prediction(references, predictions))
    boxes = _reference_boxes(references, reference_format or format)
    found = next(iter(_shapes(answer, format)), None)
    if found is None:
        return 0.0
    numbers = _rescaled(found, scale, reference_scale or scale, image_size)
    x, y = ((numbers[0] + numbers[-2]) / 2, (numbers[1] + numbers[-1]) / 2)
    corners = (reference.numbers for reference in boxes)
    return float(any(left <= x <= right and top <= y <= bottom for left, top, right, bottom in corners))


def check_iou(
    threshold: Any = None,
    format: Any = "xyxy",
    scale: Any = None,
    reference_format: Any = None,
    reference_scale: Any = None,
) -> None:
    """Check the arguments.

    Raises:
        PlanError: if one has no such value, or only one scale is given.
    """
    if threshold is not None:
        check_number("iou", "threshold", threshold, 0.0, 1.0)
    _check_shared("iou", scale, reference_scale, format, reference_format)
    if reference_scale is not None and scale is None:
        raise PlanError("Metric 'iou' has a reference_scale and no scale.", hint=_missing_scale())


def check_point(
    scale: Any = None,
    reference_scale: Any = None,
    format: Any = "xyxy",
    reference_format: Any = None,
) -> None:
    """Check the arguments.

    Raises:
        PlanError: if one has no such value, or the scale is missing.
    """
    if scale is None:
        raise PlanError("Metric 'point_in_box' has no scale of the answers' coordinates.", hint=_missing_scale())
    _check_shared("point_in_box", scale, reference_scale, format, reference_format)


def scales_differ(scale: Any = None, reference_scale: Any = None, **_: Any) -> bool:
    """Check whether answers and references are on different scales, so that the size of the image may matter."""
    return reference_scale is not None and "pixels" in (scale, reference_scale) and scale != reference_scale


def _check_shared(metric: str, scale: Any, reference_scale: Any, own_format: Any, reference_format: Any) -> None:
    for argument, value, known in (
        ("scale", scale, _SCALES),
        ("reference_scale", reference_scale, _SCALES),
        ("format", own_format, _FORMATS),
        ("reference_format", reference_format, _FORMATS),
    ):
        if value is not None or argument == "format":
            check_choice(metric, argument, value, known)


def _missing_scale() -> str:
    return f"Add 'scale', which the model was asked for: {', '.join(_SCALES)}."


def _shapes(text: str, written: Format) -> list[ShownShape]:
    """Return the boxes and points in a text; two or four numbers and nothing else are one too."""
    return find_shapes(f"[{text}]" if _BARE.fullmatch(text) else text, is_spatial=True, is_xywh=written == "xywh")


def _reference_boxes(references: Sequence[Any], written: Format) -> list[ShownShape]:
    return [_reference_box(text, written) for text in _box_texts(references)]


def _box_texts(references: Sequence[Any]) -> list[str]:
    """Return the references as texts. Four numbers are one box: a column with a list is read as several references."""
    if len(references) == 4 and all(_is_number(item) for item in references):
        return [f"[{', '.join(map(str, references))}]"]
    return [item if isinstance(item, str) else json.dumps(item, default=str) for item in references]


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)


def _reference_box(text: str, written: Format) -> ShownShape:
    found = [shape for shape in _shapes(text, written) if shape.is_box]
    if len(found) != 1:
        problem = "has no box" if not found else f"has {len(found)} boxes"
        raise ScoreError(
            f"The reference {text[:80]!r} {problem}.", hint="Write [left, top, right, bottom], one box for a reference."
        )
    return found[0]


def _rescaled(shape: ShownShape, scale: Scale | None, to: Scale | None, size: Size | None) -> tuple[float, ...]:
    """Return the numbers of a shape on another scale."""
    if scale is None or to is None or scale == to:
        return shape.numbers
    if "pixels" in (scale, to) and size is None:
        raise ScoreError("The scales of answer and reference differ, and the size of the image is unknown.")

    def end(of: Scale, side: int) -> float:
        return float(side) if of == "pixels" else SCALE_ENDS[of]

    sides = (size or (1, 1)) * 2
    return tuple(number / end(scale, side) * end(to, side) for number, side in zip(shape.numbers, sides, strict=False))


def _metric(threshold: float) -> Metric:
    def score(
        references: Sequence[Any],
        predictions: Sequence[Any],
        format: Format = "xyxy",
        scale: Scale | None = None,
        reference_format: Format | None = None,
        reference_scale: Scale | None = None,
        image_size: Size | None = None,
    ) -> float:
        return iou(references, predictions, threshold, format, scale, reference_format, reference_scale, image_size)

    return Metric(
        f"iou@{threshold:g}",
        score=score,
        values={"generate_until": "1 if the IoU reaches the threshold"},
        bounds=(0.0, 1.0),
        check=check_iou,
        takes_image_size=scales_differ,
        only_computed=True,
    )


IOU = Metric(
    "iou",
    score=iou,
    values={"generate_until": "IoU with the reference box"},
    bounds=(0.0, 1.0),
    check=check_iou,
    takes_image_size=scales_differ,
    only_computed=True,
)
IOU_AT_50, IOU_AT_75 = map(_metric, (0.5, 0.75))
POINT_IN_BOX = Metric(
    "point_in_box",
    score=point_in_box,
    values={"generate_until": "1 if in the reference box"},
    bounds=(0.0, 1.0),
    check=check_point,
    takes_image_size=scales_differ,
    only_computed=True,
)
