"""A case: one benchmark's rows, its settings and the scripted answers, as generated from a seed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

Row = dict[str, Any]
PER_SUBSET = 14
SHOTS = 6
LETTERS = "ABCDEFGHIJ"
HERE = "{data}"
"""Stands in settings for the folder of the case's generated files."""

Answers = Mapping[str, Any]

_WORDS = [
    "amber",
    "harbour",
    "violin",
    "copper",
    "meadow",
    "lantern",
    "granite",
    "orchid",
    "saddle",
    "thimble",
    "walnut",
    "glacier",
    "pepper",
    "canyon",
    "ribbon",
    "marble",
    "falcon",
    "cedar",
    "anchor",
    "velvet",
    "compass",
    "turnip",
    "island",
    "magnet",
    "pillow",
    "quarry",
    "saffron",
    "tunnel",
    "umbrella",
    "wagon",
]
_HAN = "山水云月花鸟木石江河风雪竹松梅菊书画琴棋"


@dataclass
class Case:
    """What both tools run.

    Attributes:
        name: The case's name; the adapter's, with ``@`` and a variant if there are several.
        adapter: The benchmark's registered name.
        args: Its ``dataset_args``.
        config: Further fields of ``TaskConfig``.
        folders: Rows by dataset id, subset and split, as a hub has them.
        files: Text of files by dataset id and path, as a hub's snapshot has them.
        answers: What the models say, by the mark in the question.
        pools: What the models say where a prompt has no mark; its own text chooses.
    """

    name: str
    adapter: str
    args: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    folders: dict[str, dict[str, dict[str, list[Row]]]] = field(default_factory=dict)
    files: dict[str, dict[str, str]] = field(default_factory=dict)
    answers: dict[str, Answers] = field(default_factory=dict)
    pools: dict[str, list[Any]] = field(default_factory=dict)


class Sheet:
    """Draws the content of one case.

    Args:
        seed: The suite's seed.
        name: The case's name; with the seed, it decides everything drawn.
    """

    def __init__(self, seed: int, name: str) -> None:
        self.rng = Random(f"{seed}/{name}")
        self.case = Case(name, name.partition("@")[0])

    def mark(self, answers: Answers) -> str:
        """A new mark for a question, with what the models say to it."""
        mark = f"case-{self.rng.getrandbits(40):010x}"
        self.case.answers[mark] = answers
        return mark

    def words(self, least: int = 2, most: int = 5) -> str:
        """A few words."""
        return " ".join(self.rng.choice(_WORDS) for _ in range(self.rng.randint(least, most)))

    def han(self, least: int = 2, most: int = 5) -> str:
        """A few Chinese characters."""
        return "".join(self.rng.choice(_HAN) for _ in range(self.rng.randint(least, most)))

    def options(self, count: int) -> list[str]:
        """Different texts of options."""
        drawn: dict[str, None] = {}
        while len(drawn) < count:
            text = self.words(1, 3) if self.rng.random() < 0.8 else self.han()
            drawn[self.rng.choice((text, text.capitalize(), f"the {text}", f"{text} ({self.rng.randint(1, 99)})"))] = (
                None
            )
        return list(drawn)

    def number(self) -> str:
        """A number as benchmarks write it."""
        whole = str(self.rng.randint(2, 999))
        form = self.rng.random()
        if form < 0.7:
            return whole
        return f"{whole}.{self.rng.randint(1, 99)}" if form < 0.9 else f"-{whole}"

    def rows(self, dataset: str, subset: str, split: str, rows: list[Row]) -> None:
        """Put rows where a hub has them."""
        self.case.folders.setdefault(dataset, {}).setdefault(subset, {})[split] = rows


def each(count: int = PER_SUBSET) -> range:
    """The numbers of rows."""
    return range(count)


def write_cases(cases: Sequence[Case], folder: Path) -> None:
    """Write cases as files: ``cases.json``, and ``hub`` with a folder for each case, and in it for each dataset."""
    for case in cases:
        for dataset, subsets in case.folders.items():
            for subset, splits in subsets.items():
                for split, rows in splits.items():
                    file = dataset_folder(folder, case.name, dataset) / subset / f"{split}.json"
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
        for dataset, texts in case.files.items():
            for path, text in texts.items():
                file = dataset_folder(folder, case.name, dataset) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
    plan = [
        {"name": one.name, "adapter": one.adapter, "args": one.args, "config": one.config, "pools": one.pools}
        for one in cases
    ]
    answers = {mark: said for case in cases for mark, said in case.answers.items()}
    text = json.dumps({"cases": plan, "answers": answers}, ensure_ascii=False)
    (folder / "cases.json").write_text(text, encoding="utf-8")


def dataset_folder(folder: Path, case: str, dataset: str) -> Path:
    """Where a dataset's files lie."""
    return folder / "hub" / case / dataset.replace("/", "__")
