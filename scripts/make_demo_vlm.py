"""Draw the images of the `demo_vlm` benchmarks, ask about them, and write them as parquet files.

Run by hand, rarely: the files it writes are committed. Every sample draws its random numbers from (seed, benchmark,
index). Training of the tiny model uses other seeds, and other handwriting for digits. It needs Pillow, numpy, datasets
and scikit-learn.

Usage:

    python scripts/make_demo_vlm.py [--out src/polymeter/library/demo_vlm/data] [--seed 2026]
"""

from __future__ import annotations

import argparse
import io
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from tiny_vlm_questions import LETTERS, SCENE_OF_KIND, Question, ask, dialogue, options
from tiny_vlm_scenes import Scene, draw_scene

DEFAULT_OUT = Path(__file__).resolve().parents[1] / "src" / "polymeter" / "library" / "demo_vlm" / "data"

Row = dict[str, Any]
OPEN_KINDS = tuple(SCENE_OF_KIND)
LETTERED_KINDS = tuple(kind for kind in SCENE_OF_KIND if kind != "yes_no")


def encode(picture: Image.Image) -> Row:
    """The image as a cell of a Hugging Face `Image` column."""
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return {"bytes": buffer.getvalue(), "path": None}


def posed(rng: np.random.Generator, kind: str, index: int) -> tuple[Question, Row]:
    """A question of a kind about a new image, and the columns that all benchmarks share."""
    scenes = SCENE_OF_KIND[kind]
    scene, picture = draw_scene(rng, scenes[index % len(scenes)], "test")
    question = ask(rng, scene, kind)
    return question, {"image": encode(picture), "kind": kind, "question": question.text, "answer": question.answer}


def generate(rng: np.random.Generator, index: int) -> Row:
    """An open question; the choices are all answers that make sense."""
    question, row = posed(rng, OPEN_KINDS[index % len(OPEN_KINDS)], index // len(OPEN_KINDS))
    return row | {"choices": list(question.pool)}


def choice(rng: np.random.Generator, index: int) -> Row:
    """A question with four lettered options."""
    question, row = posed(rng, LETTERED_KINDS[index % len(LETTERED_KINDS)], index // len(LETTERED_KINDS))
    shown = options(rng, question)
    return row | {"choices": list(shown), "letter": LETTERS[shown.index(question.answer)]}


def loglikelihood(rng: np.random.Generator, index: int) -> Row:
    """A question and all answers that make sense, in random order."""
    question, row = posed(rng, OPEN_KINDS[index % len(OPEN_KINDS)], index // len(OPEN_KINDS))
    return row | {"choices": [question.pool[place] for place in rng.permutation(len(question.pool))]}


def rounds(rng: np.random.Generator, index: int) -> Row:
    """A question about one of two shapes; the second round asks for its colour."""
    scene: Scene
    scene, picture = draw_scene(rng, "two", "test")
    first, second = dialogue(rng, scene)
    question = first.prompt.partition("\n")[0]
    return {"image": encode(picture), "question": question, "shape": first.answer, "colour": second.answer}


# name: (how to make one sample, number of samples, its columns beside id and image)
BENCHMARKS: dict[str, tuple[Callable[[np.random.Generator, int], Row], int, list[str]]] = {
    "generate": (generate, 120, ["kind", "question", "answer", "choices"]),
    "choice": (choice, 100, ["kind", "question", "answer", "choices", "letter"]),
    "loglikelihood": (loglikelihood, 120, ["kind", "question", "answer", "choices"]),
    "rounds": (rounds, 60, ["question", "shape", "colour"]),
}


def write(name: str, out: Path, seed: int) -> Path:
    """Make one benchmark and write `<out>/<name>.parquet`, with the features that make `datasets` decode the images."""
    import datasets

    make, count, extra = BENCHMARKS[name]
    rows = []
    for index in range(count):
        rng = np.random.default_rng([seed, zlib.crc32(name.encode()), index])
        rows.append({"id": f"{name}-{index:03d}"} | make(rng, index))
    columns: dict[str, Any] = dict.fromkeys(["id", "image", *extra], datasets.Value("string"))
    columns["image"] = datasets.Image()
    if "choices" in columns:
        columns["choices"] = datasets.List(datasets.Value("string"))
    path = out / f"{name}.parquet"
    datasets.Dataset.from_list(rows, features=datasets.Features(columns)).to_parquet(path)
    return path


def main() -> None:
    """Write all benchmarks and say how large each file is."""
    parser = argparse.ArgumentParser(description="Draw the images of the demo_vlm benchmarks and ask about them.")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    parser.add_argument("--seed", type=int, default=2026)
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    for name, (_, count, _) in BENCHMARKS.items():
        path = write(name, chosen.out, chosen.seed)
        sys.stdout.write(f"{path.name}: {count} samples, {path.stat().st_size / 1000:.0f} kB\n")


if __name__ == "__main__":
    main()
