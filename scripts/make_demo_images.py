"""Write the tables of the benchmarks `demo_t2i` (prompts of shapes) and `demo_edit` (images to change).

Run by hand, rarely: the files it writes are committed. The same seed gives the same prompts; the same images only
with the same Pillow. Needs what the model `shapes` draws with, and nothing else.

Usage:

    python scripts/make_demo_images.py [--out src/polymeter/library] [--seed 5]
"""

from __future__ import annotations

import argparse
import base64
import csv
import io
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from polymeter.library.shapes.drawing import mask
from polymeter.library.shapes.editing import Layers, changed, layer
from polymeter.library.shapes.layout import ShapeLayout, placed
from polymeter.library.shapes.reading import DescribedDrawing, ShapeGroup, read_edit, read_order
from polymeter.library.shapes.words import COLOURS, PLACES, RELATIONS, SHAPES

DEFAULT_OUT = Path(__file__).resolve().parents[1] / "src" / "polymeter" / "library"
SIDE = 256
NUMBERS = ("zero", "one", "two", "three", "four", "five")

Row = dict[str, Any]
Clause = dict[str, Any]


def phrase(shape: str, count: int = 1, colour: str = "") -> str:
    """Return a number and a thing in words: "a red circle", "two crosses"."""
    noun = shape if count == 1 else f"{shape}es" if shape.endswith("s") else f"{shape}s"
    words = f"{colour} {noun}".strip()
    article = "an" if words[0] in "aeiou" else "a"
    return f"{article if count == 1 else NUMBERS[count]} {words}"


def clause(shape: str, count: int = 1, colour: str = "", position: tuple[str, int] | None = None) -> Clause:
    """Return a clause of GenEval's schema."""
    made: Clause = {"class": shape, "count": count}
    if colour:
        made["color"] = colour
    if position:
        made["position"] = list(position)
    return made


def scene_row(tag: str, prompt: str, include: list[Clause]) -> Row:
    """Return a row whose scene requires exactly the numbers that it includes."""
    totals: dict[str, int] = {}
    for item in include:
        totals[item["class"]] = totals.get(item["class"], 0) + item["count"]
    exclude = [clause(shape, count + 1) for shape, count in totals.items()]
    scene = {"tag": tag, "include": include, "exclude": exclude}
    return {"category": tag, "prompt": prompt, "scene": json.dumps(scene)}


def single(rng: random.Random) -> Row:
    """One shape."""
    shape = rng.choice(SHAPES)
    return scene_row("single_object", phrase(shape), [clause(shape)])


def two(rng: random.Random) -> Row:
    """Two shapes."""
    first, second = rng.sample(SHAPES, 2)
    return scene_row("two_object", f"{phrase(first)} and {phrase(second)}", [clause(first), clause(second)])


def counting(rng: random.Random) -> Row:
    """Several of one shape."""
    shape, count = rng.choice(SHAPES), rng.randint(2, 5)
    return scene_row("counting", phrase(shape, count), [clause(shape, count)])


def colours(rng: random.Random) -> Row:
    """One shape of a colour."""
    shape, colour = rng.choice(SHAPES), rng.choice(COLOURS)
    return scene_row("colors", phrase(shape, 1, colour), [clause(shape, 1, colour)])


def position(rng: random.Random) -> Row:
    """Shapes of colours beside others; the one that is pointed to comes first, as in GenEval."""
    (first, second), (ink, other) = rng.sample(SHAPES, 2), rng.sample(COLOURS, 2)
    count, relation = rng.choice([1, 1, 2, 3]), rng.choice(RELATIONS)
    prompt = f"{phrase(first, count, ink)} {relation} {phrase(second, 1, other)}"
    return scene_row("position", prompt, [clause(second, 1, other), clause(first, count, ink, (relation, 0))])


def colour_attribution(rng: random.Random) -> Row:
    """Two shapes of two colours."""
    (first, second), (ink, other) = rng.sample(SHAPES, 2), rng.sample(COLOURS, 2)
    prompt = f"{phrase(first, 1, ink)} and {phrase(second, 1, other)}"
    return scene_row("color_attr", prompt, [clause(first, 1, ink), clause(second, 1, other)])


KINDS = ((single, 5), (two, 10), (counting, 20), (colours, 20), (position, 25), (colour_attribution, 20))


def drawn_rows(seed: int) -> Iterator[Row]:
    """Yield the rows of `demo_t2i`: all prompts differ, and the model can read each."""
    rng = random.Random(f"{seed}/t2i")
    seen: set[str] = set()
    for kind, n in KINDS:
        rows: list[Row] = []
        while len(rows) < n:
            row = kind(rng)
            if row["prompt"] not in seen:
                seen.add(row["prompt"])
                read_order(row["prompt"])
                rows.append(row)
        yield from rows


def layers_of(plan: ShapeLayout, colours_of: list[str]) -> Layers:
    """Take an image apart by the known positions of its shapes, without detection."""
    covers = [np.asarray(mask(thing, SIDE, SIDE), dtype=np.float64) / 255 for thing in plan.things]
    told = zip(plan.things, colours_of, covers, strict=True)
    return Layers(plan.background, tuple(layer(thing.shape, colour, thing.ink, cover) for thing, colour, cover in told))


def is_clear(layers: Layers) -> bool:
    """Return whether no two shapes touch and none is cut off, so that exactly one image is correct."""
    covers = [item.cover for item in layers.shapes]
    edges = [value for cover in covers for value in (cover[0], cover[-1], cover[:, 0], cover[:, -1])]
    wide = [
        Image.fromarray((cover > 0).astype(np.uint8)).resize((SIDE // 4, SIDE // 4), Image.Resampling.BOX)
        for cover in covers
    ]
    return sum(np.asarray(cover) > 0 for cover in wide).max() <= 1 and not any(edge.any() for edge in edges)


def edit_prompt(rng: random.Random, kind: str, groups: list[ShapeGroup]) -> str:
    """Make up a change of a scene."""
    target, other = rng.sample(groups, 2)
    named = [group.colour for group in groups]
    plural = "s" if target.count > 1 else ""
    the = f"the {rng.choice([target.colour + ' ', ''])}{target.shape}{plural}".replace("crosss", "crosses")
    new = rng.choice([colour for colour in COLOURS if colour not in (*named, "white", "black", "gray")])
    place = rng.choice(tuple(PLACES))
    where = "in the center" if place == "center" else f"in the {place} corner"
    if kind == "recolour":
        return rng.choice([f"make {the} {new}", f"change the color of {the} to {new}"])
    if kind == "remove":
        return f"remove {the}"
    if kind == "add":
        return f"add {phrase(rng.choice(SHAPES), 1, new)} {where}"
    if kind == "move":
        return f"move the {target.shape} {where.replace('in the', 'to the')}"
    if kind == "swap":
        return f"swap the {target.shape} and the {other.shape}"
    return (
        f"make the background {rng.choice([c for c in ('white', 'black', 'gray', 'pink', 'yellow') if c not in named])}"
    )


def contrast(first: Sequence[int], second: Sequence[int]) -> int:
    """Return how far two colours are apart, summed over the channels."""
    return sum(abs(a - b) for a, b in zip(first, second, strict=True))


def edit_row(rng: random.Random, kind: str) -> Row | None:
    """Make up an image and a change; `None` where the change would hide something."""
    shapes, inks = rng.sample(SHAPES, 3), rng.sample([c for c in COLOURS if c not in ("white", "black", "gray")], 3)
    n_groups = rng.randint(2, 3)
    counts = [rng.randint(1, 2) if kind in ("recolour", "remove") else 1 for _ in range(n_groups)]
    groups = [ShapeGroup(*fields) for fields in zip(shapes, counts, inks, strict=False)]
    prompt = edit_prompt(rng, kind, groups)
    plan = placed(DescribedDrawing(tuple(groups)), 1.0, 1.0, rng)
    before = layers_of(plan, [group.colour for group in groups for _ in range(group.count)])
    after = changed(before, read_edit(prompt), SIDE, SIDE)
    is_visible = all(contrast(item.ink, after.background) > 100 for item in after.shapes)
    is_change = kind != "background" or before.background != after.background
    if not (is_clear(before) and is_clear(after) and is_visible and is_change):
        return None
    return {
        "category": kind,
        "prompt": prompt,
        "image": encoded(before.image(SIDE, SIDE)),
        "reference": encoded(after.image(SIDE, SIDE)),
    }


def edit_rows(seed: int) -> Iterator[Row]:
    """Yield the rows of `demo_edit`: ten of each kind of change."""
    rng = random.Random(f"{seed}/edit")
    for kind in ("recolour", "remove", "add", "move", "swap", "background"):
        n = 0
        while n < 10:
            row = edit_row(rng, kind)
            if row is not None:
                n += 1
                yield row


def encoded(image: Image.Image) -> str:
    """Return an image as base64 of a PNG."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()


def write(path: Path, columns: list[str], rows: Iterator[Row]) -> None:
    """Write a TSV with an index from 0."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["index", *columns], delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows({"index": number, **row} for number, row in enumerate(rows))


def main() -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    parser.add_argument("--seed", type=int, default=5)
    told = parser.parse_args()
    write(told.out / "demo_t2i" / "demo_t2i.tsv", ["category", "prompt", "scene"], drawn_rows(told.seed))
    write(told.out / "demo_edit" / "demo_edit.tsv", ["category", "prompt", "image", "reference"], edit_rows(told.seed))


if __name__ == "__main__":
    main()
