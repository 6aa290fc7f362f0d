"""Make the rows of ``demo_zoom`` from a fixed seed: ``python -m scripts.make_zoom_data``."""

from __future__ import annotations

import json
import random
from pathlib import Path

FILE = Path(__file__).parents[1] / "src" / "polymeter" / "library" / "demo_zoom" / "rows.jsonl"
N_ROWS = 24
SHAPES = ("circle", "square", "triangle")
COLOURS = ("red", "orange", "gold", "green", "blue", "purple")
LETTERS = "ACEFHKLMNPRTXY3479"
"""Characters that are not mistaken for each other."""
_ACROSS, _DOWN = 4, 3
_CELL = 600
_MARGIN = 130


def main() -> None:
    """Write the rows."""
    drawn = random.Random(20261201)
    FILE.write_text("".join(json.dumps(_row(drawn, number)) + "\n" for number in range(N_ROWS)), encoding="utf-8")


def _row(drawn: random.Random, number: int) -> dict[str, object]:
    kinds = drawn.sample([(shape, colour) for shape in SHAPES for colour in COLOURS], _ACROSS * _DOWN)
    things = []
    for place, (shape, colour) in enumerate(kinds):
        x = place % _ACROSS * _CELL + drawn.randrange(_MARGIN, _CELL - _MARGIN)
        y = place // _ACROSS * _CELL + drawn.randrange(_MARGIN, _CELL - _MARGIN)
        things.append([shape, colour, x, y, "".join(drawn.sample(LETTERS, 5))])
    shape, colour, _, _, code = drawn.choice(things)
    question = f"What code is printed below the {colour} {shape}?"
    return {"id": f"zoom_{number:02}", "question": question, "answer": code, "things": things}


if __name__ == "__main__":
    main()
