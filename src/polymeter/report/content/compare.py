"""Two images of an edit under one slider: the input or reference on the left, the output on the right."""

from __future__ import annotations

from dataclasses import dataclass

from polymeter.report.content.drawn import ShownImage, drawings_of
from polymeter.report.content.view import Block, BlockView

ORDER = 18


@dataclass(frozen=True, slots=True)
class Slider:
    """The images that can be selected.

    Attributes:
        shown: They; each has a file.
        left: The place of the one that is on the left at first.
        right: That of the one on the right.
        note: A note on images of different sizes; may be empty.
    """

    shown: tuple[ShownImage, ...]
    left: int
    right: int
    note: str


def make(view: BlockView) -> Block | None:
    """Make a slider if a generated image can be compared with another."""
    shown = tuple(drawing for drawing in drawings_of(view) if drawing.picture.url)
    kinds = [drawing.kind for drawing in shown]
    left = next((kinds.index(kind) for kind in ("input", "compared") if kind in kinds), None)
    if left is None or "made" not in kinds:
        return None
    sizes = {(drawing.picture.width, drawing.picture.height) for drawing in shown}
    note = "The images differ in size; the right one is stretched to the left one." if len(sizes) > 1 else ""
    return Block("compare", "", "content/compare.html", Slider(shown, left, kinds.index("made"), note), "side")
