"""Generated rows as the tables that VLMEvalKit's classes read, and the rotations of their questions."""

from __future__ import annotations

import base64
import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CIRCULAR = ("mmbench", "ccbench", "circular", "mmcr")
"""What the lower-cased name of a set says whose questions are asked in every rotation."""
_OF_CHOICES = {"ImageMCQDataset", "TextMCQDataset", "ImageShortQADataset"}
_OFFSET = 1_000_000
_LETTERS = "ABCD"


def is_circular(name: str, cls: type) -> bool:
    """Whether the rows of a set are questions with their rotations."""
    is_choice = not _OF_CHOICES.isdisjoint(base.__name__ for base in cls.__mro__)
    return is_choice and any(part in name.lower() for part in CIRCULAR)


def with_rotations(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each question followed by its rotations; those refer to the image of the first."""
    made: list[dict[str, Any]] = []
    for row in rows:
        options = [row[letter] for letter in _LETTERS]
        right = options[_LETTERS.index(row["answer"])]
        for turn in range(len(_LETTERS)):
            turned = [*options[turn:], *options[:turn]]
            other = dict(row)
            other.update(zip(_LETTERS, turned, strict=True))
            other.update(index=int(row["index"]) + turn * _OFFSET, answer=_LETTERS[turned.index(right)])
            if turn and "image" in row:
                other["image"] = str(row["index"])
            made.append(other)
    return made


def write_table(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Rows as a TSV file."""
    csv.field_size_limit(sys.maxsize)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, rows[0].keys(), delimiter="\t")
        writer.writeheader()
        writer.writerows([{name: cell_of(value) for name, value in row.items()} for row in rows])


def cell_of(value: Any) -> Any:
    """A value as a cell: images in base64, lists and mappings as Python prints them."""
    if hasattr(value, "getbands"):
        return image_text(value)
    if isinstance(value, (list, tuple)):
        return repr([cell_of(one) for one in value])
    if isinstance(value, dict):
        return json.dumps(value)
    return "" if value is None else value


def image_text(image: Any) -> str:
    """An image in base64."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()
