"""Prompts and scores of ScreenSpot-Pro (Li et al. 2025, "ScreenSpot-Pro: GUI Grounding for Professional High-Resolution
Computer Use"): an answer is right if its point is in the box of the element.
"""

from __future__ import annotations

import json
import re
from typing import Any

Doc = dict[str, Any]
Point = tuple[float, float]
_NUMBER = r"(\d+\.\d+|\d+)"
_POINT = re.compile(rf"\[\[{_NUMBER},{_NUMBER}\]\]")
_BOX = re.compile(rf"\[\[{_NUMBER},{_NUMBER},{_NUMBER},{_NUMBER}\]\]")


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Any = None) -> str:
    """Return the prompt, which states the scale of coordinates."""
    return (
        "You are asked to find the bounding box of an UI element in the given screenshot corresponding to a given "
        "instruction.\nDon't output any analysis. Output your result in the format of [[x0,y0,x1,y1]], with x and y "
        f"ranging from 0 to 1.The instruction is:\n{doc['instruction']}\n"
    )


def point_of(answer: str) -> Point | None:
    """Return the point of an answer on the scale from 0 to 1, or the centre of its box; ``None`` if it has neither."""
    if found := _POINT.search(answer):
        return float(found[1]), float(found[2])
    if found := _BOX.search(answer):
        left, top, right, bottom = map(float, found.groups())
        return (left + right) / 2, (top + bottom) / 2
    return None


def is_in_box(point: Point | None, box: list[float], size: list[float]) -> bool:
    """Return whether a point is in a box.

    Args:
        point: On the scale from 0 to 1.
        box: Left, top, right and bottom edge in pixels.
        size: Width and height of the screenshot in pixels.
    """
    if point is None:
        return False
    (x, y), (left, top, right, bottom), (width, height) = point, box, size
    return left / width <= x <= right / width and top / height <= y <= bottom / height


def process_results(doc: Doc, results: list[str]) -> dict[str, float]:
    """Score an answer: for all elements, and for those of its kind."""
    box, size = (
        json.loads(value) if isinstance(value, str) else list(value) for value in (doc["bbox"], doc["img_size"])
    )
    score = float(is_in_box(point_of(results[0]), box, size))
    return {"action_acc": score, f"{doc['ui_type']}_acc": score}
