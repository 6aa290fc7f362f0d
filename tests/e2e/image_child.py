"""Draws the pictures of a small benchmark and kills itself at a named instant. Used by ``test_image_runs``.

Arguments: benchmark file, its name, run folder, file that every drawing is appended to, instant (or ``none``), number
of the occurrence.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from PIL import Image as pil

import polymeter
from polymeter.core.request import GenerateImage, Output, Request, Response
from polymeter.models.mock import MockBatch
from polymeter.store.media import MediaStore
from tests.run import kill_child

MEDIA = {"before_media": False, "after_media": True}


def picture(request: Request, seed: int) -> pil.Image:
    """What is drawn: the prompt's number and the seed can be read back from the pixels."""
    number = int(request.text.rsplit(" ", 1)[1])
    return pil.new("RGB", (24, 16), (number, seed & 0xFF, seed >> 8 & 0xFF))


def main(file: str, name: str, folder: str, log: str, instant: str, occurrence: int) -> None:
    """Run, and die on the way if told so."""
    if instant in MEDIA:
        owner: Any = MediaStore
        owner._write = kill_child._deadly(owner._write, occurrence, MEDIA[instant])
    else:
        kill_child.arm(instant, occurrence)

    def draw(request: Request) -> Response:
        ask = request.parameters
        assert isinstance(ask, GenerateImage)
        with open(log, "a", encoding="utf-8") as lines:
            lines.write(f"{request.text}\t{ask.seed}\n")
        return Response((Output(images=(picture(request, ask.seed),)),))

    model = MockBatch(draw, identity={"backend": "child"}, batch_size=3)
    run = polymeter.evaluate(model, [name], include_paths=(Path(file),), output=Path(folder))
    assert run.status == "complete", run.status


if __name__ == "__main__":
    main(*sys.argv[1:6], int(sys.argv[6]))
