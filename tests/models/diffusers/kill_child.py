"""Draws a small benchmark with a pipeline and kills itself at a named instant. Used by ``test_diffusers_runs``.

Arguments: pipeline folder, benchmark file, run folder, file that every drawing is appended to, instant (or ``none``),
number of the occurrence.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polymeter
from polymeter.models.diffusers.draw import Artist
from tests.engine import kill_child


def main(pipeline: str, file: str, folder: str, log: str, instant: str, occurrence: int) -> None:
    """Run, and die on the way if told so."""
    import torch

    torch.set_num_threads(1)
    kill_child.arm(instant, occurrence)
    owner: Any = Artist
    draw = owner.draw

    def logged(self: Any, rows: Any) -> Any:
        with open(log, "a", encoding="utf-8") as lines:
            lines.writelines(f"{row.prompt}\t{row.seed}\n" for row in rows)
        return draw(self, rows)

    owner.draw = logged
    generation = {"num_inference_steps": 2, "n": 2}
    run = polymeter.evaluate(
        f"diffusers:{pipeline}", [file], generation=generation, batch_size=2, output=Path(folder)
    )
    assert run.status == "complete", run.status


if __name__ == "__main__":
    main(*sys.argv[1:6], int(sys.argv[6]))
