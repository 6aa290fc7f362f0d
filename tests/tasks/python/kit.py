"""Benchmarks in Python for tests: the ten of ``benchmarks`` with their data, files written by a test, and a model that
remembers what it was asked.
"""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PIL import Image as PILImage

import polymeter
from polymeter import BatchModel, ModelTraits, Output, Request, Response

BENCHMARKS = Path(__file__).parent / "benchmarks"
NAMES = sorted(file.stem for file in BENCHMARKS.glob("*.py"))
_SHAPES = {"red": "circle", "green": "square", "blue": "triangle"}


def laid_out(folder: Path) -> Path:
    """The ten benchmarks in a folder, with the data that two of them read."""
    for file in BENCHMARKS.glob("*.py"):
        shutil.copy(file, folder)
    (folder / "shapes").mkdir()
    lines = ["file_name,question,answer,picture"]
    for colour, shape in _SHAPES.items():
        PILImage.new("RGB", (32, 32), colour).save(folder / "shapes" / f"{colour}.png")
        lines += [
            f"{colour}.png,Which shape is it?,{shape},{colour}",
            f"{colour}.png,Which colour is it?,{colour},{colour}",
        ]
    (folder / "shapes" / "metadata.csv").write_text("\n".join(lines) + "\n")
    rows = []
    for number, wish in enumerate(("red", "blue")):
        for name, colour in (("before", "white"), ("after", wish)):
            PILImage.new("RGB", (64, 64), colour).save(folder / f"{name}{number}.png")
        files = {name: f"{name}{number}.png" for name in ("before", "after")}
        rows.append({"name": f"to-{wish}", "wish": wish, **files})
    (folder / "edits.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def written(folder: Path, source: str, name: str = "bench.py") -> Path:
    """A benchmark file with this source."""
    file = folder / name
    file.write_text(textwrap.dedent(source).lstrip("\n"))
    return file


class Recorder(BatchModel):
    """A model on this machine that remembers its requests.

    Args:
        answer: Makes the answer to a request: a text, an image, or the answer itself.
    """

    def __init__(self, answer: Callable[[Request], Any] = lambda request: "ok") -> None:
        kinds = dict.fromkeys(("generate", "loglikelihood", "generate_image"), True)
        shown = dict.fromkeys(("text", "image", "audio", "video"), True)
        self.traits = ModelTraits(family="recorder", requests=kinds, modalities=shown)
        self.requests: list[Request] = []
        self._answer = answer

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "recorder"}

    def respond(self, requests: list[Request]) -> list[Response]:
        self.requests += requests
        return [_response(self._answer(request)) for request in requests]


def _response(answer: Any) -> Response:
    if isinstance(answer, Output):
        return Response((answer,))
    is_text = isinstance(answer, str)
    return Response(
        (Output(text=answer if is_text else None, images=() if is_text else (answer,), finish_reason="stop"),)
    )


def results_of(run: polymeter.RunResult, task: str) -> dict[str, Any]:
    """The results of a task for the whole: metric, and its reading if it has one, → value."""
    found = run.results["tasks"][task]["results"]
    return {
        item["metric"] if item["filter"] == "none" else f"{item['metric']} {item['filter']}": item["value"]
        for item in found
        if not item["subset"]
    }


def shown(request: Request) -> list[str]:
    """The parts of a request in order: texts, and the kinds of media."""
    return [
        part.text if isinstance(part, polymeter.Text) else part.modality for m in request.messages for part in m.parts
    ]
