"""Small dataset classes over small tables, written to disk as their users would, and runs of them on the mock."""

from __future__ import annotations

import base64
import io
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

import polymeter
from polymeter.api.result import RunResult
from polymeter.store.exports.export import read_samples

HEAD = "from .text_base import TextBaseDataset\nfrom .image_base import ImageBaseDataset\nfrom ..smp import *\n"
PROMPTS = ("a red circle", "two cats", "a blue square")


def write_table(path: Path, columns: Mapping[str, Sequence[object]]) -> Path:
    """A TSV of columns."""
    lines = ["\t".join(columns), *("\t".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def png_base64(colour: str, size: tuple[int, int] = (8, 8)) -> str:
    """A picture of one colour as base64."""
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, format="PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def write_class(
    folder: Path,
    body: str,
    *,
    columns: Mapping[str, Sequence[object]] | None = None,
    name: str = "Toy",
    base: str = "TextBaseDataset",
    type_: str | None = "T2I",
) -> Path:
    """A file ``toy.py`` with a class ``ToyDataset`` of one dataset, whose table lies in the folder of data files.

    Args:
        folder: Where the file goes; the table goes to ``LMUData``.
        body: The rest of the class.
        columns: The table; default: three prompts.
        name: The dataset.
        base: What the class derives from.
        type_: Its ``TYPE``; ``None``: it has none.
    """
    from polymeter.tasks.table.files.roots import LMUDataRoot

    write_table(Path(LMUDataRoot()) / f"{name}.tsv", columns or {"index": range(len(PROMPTS)), "prompt": PROMPTS})
    head = f"{HEAD}\nclass ToyDataset({base}):\n    DATASET_URL = {{{name!r}: ''}}\n    DATASET_MD5 = {{}}\n"
    kind = f"    TYPE = {type_!r}\n" if type_ else ""
    file = folder / "toy.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(head + kind + textwrap.indent(textwrap.dedent(body), "    "), encoding="utf-8")
    return file


def run_toy(file: Path, output: Path, *, model: Any = "mock", tasks: str = "Toy", **options: Any) -> RunResult:
    """Measure a model on what a file names."""
    return polymeter.evaluate(model, [tasks], include_paths=(file,), output=output, **options)


def samples_of(run: RunResult, task: str = "Toy") -> list[dict[str, Any]]:
    """The samples of a run as they are written."""
    return list(read_samples(run.folder, task))
