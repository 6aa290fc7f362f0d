"""Collections of 1.x: a sampler draws prompts of several benchmarks into a file, and each is scored by its own."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.evalscope.mixtures import dataset, members, with_args, within
from conformance.evalscope.sheets import Row
from conformance.frame import Observation, plain

COLLECTION = "data_collection"
_MIXED = within(
    "all",
    within(
        "reasoning",
        dataset("gsm8k", 2, "math", ["en", "math"]),
        within("of experts", dataset("mmlu_pro", 1.5, "exam", ["en"]), weight=0.5),
        weight=3,
    ),
    within("language", dataset("ceval", 1, "exam", ["zh"]), dataset("drop", 1, "reading", ["en", "long"]), weight=2),
    dataset("trivia_qa", 1),  # without tags and a task type
)
_JUDGED = within(
    "judged",
    dataset("simple_qa", 2, "facts", ["en"]),
    dataset("chinese_simpleqa", 1, "facts", ["zh"]),
    dataset("gsm8k", 1, "math", ["en"]),
)
_OF_IMAGES = within("shown", dataset("ai2d", 3, "diagrams", ["seen"]), dataset("arc", 1, "exam", ["read"]))
_DRAWN: Mapping[str, tuple[Row, str, int, Row]] = {
    "weighted": (_MIXED, "WeightedSampler", 24, {}),
    "stratified": (_MIXED, "StratifiedSampler", 20, {"config": {"limit": 14, "repeats": 2}}),
    "judged": (_JUDGED, "UniformSampler", 12, {}),
    "rambles": (_JUDGED, "WeightedSampler", 14, {"judge": "judge-that-rambles"}),
    "images": (_OF_IMAGES, "UniformSampler", 10, {}),
}
"""Collections with a sampler, how many prompts it draws, and what else their cases have."""


def names_of_mixtures() -> Iterator[tuple[str, Sequence[str]]]:
    """The cases of collections, each with its benchmarks."""
    for way, (schema, *_) in _DRAWN.items():
        yield f"{COLLECTION}@{way}", sorted(members(schema))


def mixtures(book: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The cases of those collections whose benchmarks all have rows.

    Args:
        book: What could be made of each adapter.
    """
    for way, (schema, sampler, count, more) in _DRAWN.items():
        entries = {name: book.get(name, {}) for name in members(schema)}
        if all("answers" in entry for entry in entries.values()):
            drawn = {
                "schema": with_args(schema, {name: dict(entry["args"]) for name, entry in entries.items()}),
                "sampler": sampler,
                "count": count,
            }
            name = f"{COLLECTION}@{way}"
            yield {
                "name": name,
                "adapter": COLLECTION,
                "kind": "text",
                "args": {},
                "config": {},
                "drawn": drawn,
                **more,
            }


def serve_members(place: dict[str, Any], rows: Path) -> None:
    """Let the hub have the rows of the benchmark that a collection reads, in whichever tool runs this.

    Args:
        place: Where the stand-in of the hub looks for rows.
        rows: The folder with the rows of all benchmarks.
    """
    from evalscope.collections import DatasetInfo

    read = DatasetInfo.get_data

    def get_data(self: Any) -> Any:
        place["current"] = str(rows / self.name)
        return read(self)

    DatasetInfo.get_data = get_data


def draw(case: Mapping[str, Any], file: Path) -> list[dict[str, Any]]:
    """Let a tool's sampler draw the prompts of a collection.

    Args:
        case: The case.
        file: Where the collection is written.

    Returns:
        The entries.
    """
    from evalscope import collections
    from evalscope.utils.io_utils import dump_jsonl_data

    drawn = case["drawn"]
    sampler = getattr(collections, drawn["sampler"])(collections.CollectionSchema.from_dict(drawn["schema"]))
    random.seed(case["name"])
    entries = sampler.sample(drawn["count"])
    file.parent.mkdir(parents=True, exist_ok=True)
    dump_jsonl_data(entries, str(file))
    return [plain(entry) for entry in entries]


def note_collection(observed: Observation, entries: Sequence[Mapping[str, Any]], reports: Path) -> None:
    """Note what was drawn, and the means by level.

    Args:
        observed: What the tool made of the case.
        entries: The drawn entries.
        reports: The folder of the run's reports.
    """
    for entry in entries:
        prompt = json.dumps(entry["prompt"], sort_keys=True)
        # The ids of messages are random.
        observed.samples[f"entry {entry['index']}"] = {**entry, "prompt": re.sub(r'"id": "[0-9a-f]{8}", ', "", prompt)}
    for file in reports.glob("*/collection_detailed_report.json"):
        for level, found in json.loads(file.read_text(encoding="utf-8")).items():
            for row in found:
                means = {key: value for key, value in row.items() if key == "count" or key.endswith("_avg.")}
                name = "/".join(str(value) for key, value in row.items() if key not in means)
                observed.values.update({f"{level} {name} {key}": value for key, value in means.items()})
