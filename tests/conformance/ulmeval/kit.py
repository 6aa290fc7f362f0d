"""Whole runs of other people's dataset classes and wrappers, and what they leave behind."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from PIL import Image

from polymeter.cli.main import main
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import RunFolder

HEADS = {
    "dataset": "from .image_base import ImageBaseDataset\nfrom .text_base import TextBaseDataset\nfrom ..smp import *",
    "model": "from .base import BaseModel\nfrom ..smp import *",
}
PAINTER = """
class Painter(BaseModel):
    def generate_inner(self, msgs, dataset=None):
        return Image.new('RGB', (4, 4), msgs[-1]['value'].split()[-1])
"""
"""Paints the colour that a prompt ends with."""


def written(path: Path, text: str, kind: str = "") -> Path:
    """A file of somebody's.

    Args:
        path: Where it goes.
        text: What it says, with any indentation.
        kind: ``dataset`` or ``model``: begins with the imports of such a file of ULMEvalKit's own.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{HEADS.get(kind, '')}\n{textwrap.dedent(text)}", encoding="utf-8")
    return path


def painter(folder: Path) -> Path:
    """The file of a wrapper that paints the colour that a prompt ends with."""
    return written(folder / "painter.py", PAINTER, "model")


def polymeter_run(output: Path, model: str, tasks: str, *words: str | Path, path: Path | None = None) -> int:
    """``polymeter run`` with a model, of ``--model-path`` where one is given; the exit code."""
    told = ["--model-path", str(path)] if path is not None else []
    return main(
        ["run", "--model", model, "--tasks", tasks, "--output", str(output), "--quiet", *told, *map(str, words)]
    )


def results(output: Path, task: str) -> dict[str, Any]:
    """The values of a task in a finished run, by metric."""
    found = RunFolder(output).read_results()["tasks"][task]["results"]
    return {item["metric"]: item["value"] for item in found}


def samples(output: Path, task: str) -> list[dict[str, Any]]:
    """Its samples."""
    return list(read_samples(RunFolder(output), task))


def messages_of(output: Path, task: str) -> list[str]:
    """What went wrong with each sample; empty where nothing did."""
    return [(sample["error"] or {}).get("message", "") for sample in samples(output, task)]


def pictures(output: Path, task: str) -> list[list[Image.Image]]:
    """What was drawn for each sample, from the prediction file."""
    from polymeter.data.formats import load

    return list(load(str(next((output / "artifacts" / task).glob("*.pkl"))))["prediction"])
