"""Makes rows that a task can read, from what its code does with each column and from what columns are usually called.

The same seed gives the same rows. Where a column needs a certain form, `hints.py` has it, or the caller says which form
to try instead: `KINDS` lists them in the order in which they are tried.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.answers import generator
from conformance.made_rows.schema import Use

KINDS = (
    "text", "letter", "texts", "number", "digits", "image", "images", "mapping", "json", "literal", "options",
    "bool", "yesno", "numbers", "box", "float", "audio", "letters", "jsons", "mappings", "time", "none",
)  # fmt: skip

ABSENT = "absent"
"""The form of a column that rows must not have: code looks for it, and makes it where it is missing."""

_WORDS = [
    "red", "blue", "green", "black", "white", "apple", "river", "house", "cat", "dog", "car", "tree", "bridge",
    "table", "lamp", "cup", "train", "boat", "clock", "bird", "paper", "stone", "glass", "north", "south", "small",
    "large", "seven", "twelve", "forty", "Paris", "Kenya", "Tokyo", "violin", "garden", "window", "doctor",
]  # fmt: skip
_SUBJECTS = ("math", "history", "biology", "physics", "art", "english")
_LETTERS = "ABCD"
_IMAGE = re.compile(
    r"(^|_)(im(age|g)s?|picture|photo|screenshot|figure|visual|mask|decoded_image)(_?\d*)$|^image", re.I
)
_PLURAL_IMAGE = re.compile(r"(^|_)(images|imgs|pictures|image_list|frames|visuals)$", re.I)
_AUDIO = re.compile(r"audio|speech|^wav$|sound", re.I)
_VIDEO = re.compile(r"video", re.I)
_OPTIONS = re.compile(r"^(multi-choice )?(options?|choices?|candidates?|mc_options|option_list|choice_list)$", re.I)
_ANSWER = re.compile(
    r"^(gt_?)?(answer|label|target|gt|gold|correct|solution|ground_?truth|ans|correct_answer|final_answer|answerkey)(_?(key|letter|choice|option|gt))?$",
    re.I,
)
_ID = re.compile(r"(^|_)(id|idx|index|key|uid|qid|pid|number|no)s?$|Id$|ID$", re.I)
_CATEGORY = re.compile(
    r"categor|subject|domain|topic|type|task|source|level|difficulty|split|language|discipline|field|skill|ability",
    re.I,
)


def is_answer(name: str) -> bool:
    """Whether a column is called as those that hold what is expected."""
    return _ANSWER.search(name) is not None


@dataclass
class Shape:
    """How the rows of one task are made.

    Attributes:
        columns: What is read of each.
        kinds: Forms that were decided from outside, by column.
    """

    columns: Use
    kinds: dict[str, str] = field(default_factory=dict)


def make_rows(shape: Shape, count: int, seed: object) -> list[dict[str, Any]]:
    """Rows with every column of a shape."""
    return [_Row(shape, number, generator("row", seed, number)).make() for number in range(count)]


class _Row:
    def __init__(self, shape: Shape, number: int, chance: random.Random) -> None:
        self.shape = shape
        self.number = number
        self.chance = chance
        self.names = list(dict.fromkeys([*shape.columns.keys, *shape.kinds]))
        self.options = [" ".join(chance.sample(_WORDS, 1)) for _ in range(4)]
        while len(set(self.options)) < 4:
            self.options = chance.sample(_WORDS, 4)
        self.right = chance.randrange(4)
        self.has_options = any(_OPTIONS.search(name) for name in self.names) or {"A", "B"} <= set(self.names)

    def make(self) -> dict[str, Any]:
        names = [one for one in self.names if not one.startswith("<") and self.shape.kinds.get(one) != ABSENT]
        return {name: self.column(name, self.shape.columns.keys.get(name, Use())) for name in names}

    def column(self, name: str, use: Use) -> Any:
        kind = self.shape.kinds.get(name)
        if kind is not None:
            return self.of_kind(kind, name, use)
        return self.value(name, use)

    # --- by use and name ---

    def value(self, name: str, use: Use, depth: int = 0) -> Any:
        calls = use.calls
        if depth > 6:
            return self.plain(name, Use())
        if calls & {".convert", ".resize", ".size", ".mode", ".save", ".crop", ".thumbnail"}:
            return image(self.chance)
        if parsed := use.keys.get("<parsed>"):
            made = self.value(name, parsed, depth + 1) if parsed.keys or parsed.has_items else self.plain(name, use)
            made = made if isinstance(made, (list, dict)) else [made]
            return json.dumps(made) if "json.loads" in calls else repr(made)
        if calls & {"base64.b64decode", "b64decode"}:
            return _base64(image(self.chance))
        if use.keys and not all(key.startswith("<") for key in use.keys) and depth < 4:
            if _AUDIO.search(name) or "array" in use.keys:
                return audio(self.chance)
            if "bytes" in use.keys:
                return image(self.chance)
            if {"text", "label"} <= use.keys.keys():
                return {"text": [*self.options, "none"], "label": ["A", "B", "C", "D", "E"]}
            return {key: self.value(key, one, depth + 1) for key, one in use.keys.items() if not key.startswith("<")}
        if _PLURAL_IMAGE.search(name):
            return [image(self.chance), image(self.chance)]
        if _IMAGE.search(name) and "path" not in name and "id" not in name.lower() and "name" not in name:
            return [image(self.chance)] if use.has_items else image(self.chance)
        if use.literals and not use.has_items:
            return self.chance.choice(use.literals)
        if (match := re.fullmatch(r"(?:option|choice)?_?([A-D])", name)) is not None:
            return self.options[_LETTERS.index(match[1])]
        if (match := re.fullmatch(r"(?:option|choice|answer|ans)_?([0-4a-e])", name, re.I)) is not None:
            return self.options["01234abcde".index(match[1].lower()) % 5 % 4]
        if _OPTIONS.search(name) and not calls & {".split", ".strip", "+text"}:
            return list(self.options)
        if use.has_items and not calls & {".split", ".strip", ".lower", ".replace"} and depth < 4:
            return self.items(name, use, depth)
        return self.plain(name, use)

    def items(self, name: str, use: Use, depth: int) -> list[Any]:
        pairs = [key for key in use.item.keys if re.fullmatch(r"<\d>", key)]
        if pairs:
            return [[self.plain(name, use.item) for _ in pairs] for _ in range(2)]
        if _ANSWER.search(name.rstrip("s")):
            return [self.options[self.right], self.chance.choice(_WORDS)]
        if re.search(r"box|coord|point|polygon", name, re.I):
            return [0.1, 0.2, 0.6, 0.7]
        count = max(2 if depth else 3, use.least)
        return [self.value(name.rstrip("s") or name, use.item, depth + 1) for _ in range(count)]

    def plain(self, name: str, use: Use) -> Any:
        calls = use.calls
        if "position" in calls:
            return self.right
        if calls & {"int", "float", "+number", "chr"}:
            return self.right if _ANSWER.search(name) or "idx" in name else self.chance.randrange(1, 9)
        if _AUDIO.search(name) and not re.search("path|id|name|text|url", name, re.I):
            return audio(self.chance)
        if _VIDEO.search(name):
            return (
                f"clip{self.number}.mp4"
                if re.search("path|name|file|url|^video$", name, re.I)
                else f"clip{self.number}"
            )
        if re.search(r"path|file", name, re.I):
            return f"file{self.number}.png"
        if _ANSWER.search(name):
            return _LETTERS[self.right] if self.has_options else self.options[self.right]
        if re.search(r"question|prompt|query|instruction|problem|text|caption|context|hint", name, re.I):
            return f"What is shown near the {self.chance.choice(_WORDS)} ({self.number})?"
        if re.search(r"^(is_|has_)", name):
            return self.chance.random() < 0.5
        if re.search(
            r"(^|_)(duration|time|start|end|width|height|count|score|year|fps|seconds|num)(_|s?$)", name, re.I
        ):
            return self.chance.randrange(1, 60)
        if _ID.search(name):
            return str(self.number) if calls & {".split", ".strip", ".lower", ".startswith"} else f"{self.number}"
        if _CATEGORY.search(name):
            return self.chance.choice(_SUBJECTS)
        return self.chance.choice(_WORDS)

    # --- as the caller decided ---

    def of_kind(self, kind: str, name: str, use: Use) -> Any:
        literal = re.fullmatch(r"=(.*)", kind, re.S)
        if literal is not None:
            return json.loads(literal[1])
        if kind.startswith("|"):
            return self.chance.choice(json.loads(kind[1:]))
        if kind.startswith("%"):
            cells = json.loads(kind[1:])
            return cells[self.number % len(cells)]
        base = {key: self.value(key, one, 1) for key, one in use.keys.items() if not key.startswith("<")}
        match kind:
            case "text":
                return self.options[self.right] if _ANSWER.search(name) else self.plain(name, Use())
            case "letter":
                return _LETTERS[self.right]
            case "letters":
                return sorted({_LETTERS[self.right], self.chance.choice(_LETTERS)})
            case "texts":
                return [self.options[self.right], *self.chance.sample(_WORDS, 2)]
            case "options":
                return list(self.options)
            case "number":
                return self.right
            case "float":
                return round(self.chance.uniform(1, 9), 2)
            case "digits":
                return str(self.right)
            case "numbers":
                return [self.chance.randrange(1, 9) for _ in range(3)]
            case "box":
                return [0.1, 0.2, 0.6, 0.7]
            case "image":
                return image(self.chance)
            case "base64 image":
                return _base64(image(self.chance))
            case "images":
                return [image(self.chance), image(self.chance)]
            case "audio":
                return audio(self.chance)
            case "mapping":
                return base or dict(zip(_LETTERS, self.options, strict=True))
            case "mappings":
                return [base or {"text": self.options[0]}] * 2
            case "json":
                return json.dumps(base or list(self.options))
            case "jsons":
                return json.dumps([base or {"text": self.options[0]}])
            case "literal":
                return repr(list(self.options))
            case "bool":
                return self.chance.random() < 0.5
            case "yesno":
                return self.chance.choice(["yes", "no"])
            case "time":
                return f"00:0{self.chance.randrange(10)}:{self.chance.randrange(10, 60)}"
            case _:
                return None


def image(chance: random.Random) -> Any:
    """A small picture: a coloured ground and a bar."""
    from PIL import Image

    ground = tuple(chance.randrange(256) for _ in range(3))
    made = Image.new("RGB", (chance.randrange(24, 48), chance.randrange(24, 48)), ground)
    bar = Image.new("RGB", (8, 12), tuple(255 - one for one in ground))
    made.paste(bar, (chance.randrange(12), chance.randrange(8)))
    return made


def audio(chance: random.Random) -> dict[str, Any]:
    """A short tone, as a decoded cell holds it."""
    return {"array": [round(chance.uniform(-1, 1), 3) for _ in range(64)], "sampling_rate": 16000, "path": "tone.wav"}


def _base64(picture: Any) -> str:
    import base64
    import io

    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def write_rows(rows: list[Mapping[str, Any]], folder: Any, splits: list[str]) -> None:
    """The rows as Parquet files, one for each split; columns of pictures are image columns."""
    import pyarrow
    from pyarrow import parquet

    columns = {name: [row[name] for row in rows] for name in rows[0]}
    try:
        made = pyarrow.table(columns)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError):
        made = _with_pictures(columns)
    folder.mkdir(parents=True, exist_ok=True)
    for split in splits:
        parquet.write_table(made, folder / f"{split}.parquet")


def _with_pictures(columns: Mapping[str, list[Any]]) -> Any:
    """A table of columns that Arrow alone cannot hold: pictures, as datasets keep them.

    This takes tens of times as long, since every new dataset is hashed.
    """
    import datasets
    from PIL import Image

    pictures = {name: values for name, values in columns.items() if isinstance(values[0], Image.Image)}
    lists = {
        name: values
        for name, values in columns.items()
        if isinstance(values[0], list) and values[0] and isinstance(values[0][0], Image.Image)
    }
    rest = {name: values for name, values in columns.items() if name not in pictures and name not in lists}
    features = dict(datasets.Dataset.from_dict(rest).features) if rest else {}
    features.update(dict.fromkeys(pictures, datasets.Image()))
    features.update({name: datasets.List(datasets.Image()) for name in lists})
    ordered = datasets.Features({name: features[name] for name in columns})
    return datasets.Dataset.from_dict(columns, features=ordered).data.table
