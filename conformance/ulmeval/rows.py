"""Rows made from the schema of each benchmark, and pictures that carry a number, so that a judge knows what it sees."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from PIL import Image

from conformance.answers import generator

ROWS = 36
SIDE, CELLS = 640, 4
_PLACES = ("a harbour", "a kitchen", "a forest in fog", "the moon", "a library at night", "a market — à midi")
_THINGS = ("cat", "lantern", "violin", "teapot", "kite", "whale", "bicycle", "cactus")
_DISCIPLINES = ("Culture", "Time", "Space", "Biology", "Physics", "Chemistry")
_TYPES = ("animal", "object", "person", "scene")
_CONTEXTS = ("single_character", "multiple_object", "scene_character", "scene_object")

Row = dict[str, Any]


def picture(number: int, side: int = SIDE) -> Image.Image:
    """A picture whose sixteen fields are the bits of a number, readable after any compression."""
    image = Image.new("L", (CELLS, CELLS))
    image.putdata([255 * (number >> place & 1) for place in range(CELLS * CELLS)])
    return image.resize((side, side), Image.Resampling.NEAREST).convert("RGB")


def number_of(image: Image.Image) -> int:
    """The number that a picture carries."""
    grey = image.convert("L")
    step = (grey.width / CELLS, grey.height / CELLS)
    return sum(
        1 << place
        for place in range(CELLS * CELLS)
        if int(grey.getpixel((int((place % CELLS + 0.5) * step[0]), int((place // CELLS + 0.5) * step[1])))) > 127  # type: ignore[arg-type]
    )


def packed(image: Image.Image) -> str:
    """A picture in base64."""
    file = io.BytesIO()
    image.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def _wise(chance: Random, number: int) -> Row:
    return {
        "prompt": f"{number}: what {chance.choice(_PLACES)} looked like with a {chance.choice(_THINGS)}",
        "explanation": f"It shows a {chance.choice(_THINGS)}.",
        "discipline": _DISCIPLINES[number % len(_DISCIPLINES)],
    }


def _geneval_pp(chance: Random, number: int) -> Row:
    wanted = [{"class": thing, "count": chance.randint(1, 4)} for thing in chance.sample(_THINGS, 2)]
    return {
        "question": f"{number}: {wanted[0]['count']} of one and {wanted[1]['count']} of another",
        "include": str(wanted),
    }


def _imagine_bench(chance: Random, number: int) -> Row:
    return {
        "id": f"id-{number}",
        "type": _TYPES[number % len(_TYPES)],
        "question": f"{number}: a {chance.choice(_THINGS)} made of {chance.choice(('glass', 'moss', 'smoke'))}",
        "note": "The material is changed; the shape stays.",
    }


def _omni_context(chance: Random, number: int) -> Row:
    inputs = [packed(picture(chance.getrandbits(15), 64)) for _ in range(chance.randint(1, 3))]
    return {
        "key": f"key-{number}",
        "task_type": _CONTEXTS[number % len(_CONTEXTS)],
        "question": f"{number}: put them into {chance.choice(_PLACES)}",
        "image": json.dumps(inputs),
    }


SCHEMAS: Mapping[str, Callable[[Random, int], Row]] = {
    "WISE_all": _wise,
    "GenEvalPP": _geneval_pp,
    "ImagineBench": _imagine_bench,
    "OmniContext": _omni_context,
}


def rows_of(benchmark: str, seed: int) -> list[Row]:
    """The rows of a benchmark; their numbers, at the beginning of each prompt, are those of the rows."""
    chance = generator("rows", seed, benchmark)
    return [{"index": str(number), **SCHEMAS[benchmark](chance, number)} for number in range(ROWS)]


def write_table(rows: Sequence[Row], path: Path) -> None:
    """Rows as a TSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
