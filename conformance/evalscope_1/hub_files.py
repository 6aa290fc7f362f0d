"""Files of their own that benchmarks read from a hub, beside tables of rows: what a hub's folder of each would hold."""

from __future__ import annotations

import base64
import csv
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.answers import generator
from conformance.evalscope_1.images import drawn

FOLDER = "hub"
"""The folder of a benchmark's files, among its rows."""
_N = 6
_ITEMS = ("red", "blue", "green", "black")
_OPTIONS = ",".join(f'{letter}:"a {item} stone"' for letter, item in zip("ABCD", _ITEMS, strict=True))

Files = Mapping[str, bytes]


def write_files(name: str, subsets: Sequence[str], folder: Path, seed: int) -> bool:
    """Write the files of a benchmark; whether it reads any.

    Args:
        name: The benchmark.
        subsets: The subsets that are asked about.
        folder: The folder of its rows.
        seed: The seed of what is in them.
    """
    make = _MAKERS.get(name)
    if make is None:
        return False
    letters = [generator("files", seed, name, number).choice("ABCD") for number in range(_N)]
    for path, content in make(letters, subsets).items():
        file = folder / FOLDER / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return True


def _lines(records: Sequence[Any]) -> bytes:
    return "\n".join(map(json.dumps, records)).encode()


def _item(letter: str) -> str:
    return _ITEMS["ABCD".index(letter)]


def _frames(letters: Sequence[str], _: Sequence[str]) -> Files:
    rows = [
        {
            "Prompt": f"Which colour has stone {number}?",
            "Answer": _item(letter),
            "wiki_items": [{"title": f"Stone {number}", "text": f"It is {_item(letter)}."}],
        }
        for number, letter in enumerate(letters)
    ]
    return {"test.jsonl": _lines(rows)}


def _health_bench(letters: Sequence[str], subsets: Sequence[str]) -> Files:
    axes = ("accuracy", "completeness")
    rows = [
        {
            "prompt": [{"role": "user", "content": f"Does a {_item(letter)} stone {number} hurt?"}],
            "example_tags": [f"theme:{subsets[number % len(subsets)]}"],
            "rubrics": [
                {"criterion": f"Says {_item(letter)}.", "points": points, "tags": [f"axis:{axis}", "level:example"]}
                for points, axis in zip((5, -3), axes, strict=True)
            ],
        }
        for number, letter in enumerate(letters)
    ]
    return {"consensus_2025-05-09-20-00-46.jsonl": _lines(rows)}


def _emb_spatial_bench(letters: Sequence[str], subsets: Sequence[str]) -> Files:
    rows = [
        {
            "image": base64.b64encode(drawn(f"{number}")).decode(),
            "question": f"Which stone is near lamp {number}?",
            "answer_options": list(_ITEMS),
            "answer": "ABCD".index(letter),
            "relation": subsets[number % len(subsets)],
            "question_id": f"q{number}",
            "data_source": "made",
        }
        for number, letter in enumerate(letters)
    ]
    return {"embspatial_bench.json": json.dumps(rows).encode()}


def _locomo(letters: Sequence[str], _: Sequence[str]) -> Files:
    asked = [
        {
            "question": f"Which stone did Ada find on day {number}?",
            "answer": f"a {_item(letter)} stone",
            "evidence": ["D1:1"],
            "category": number % 5 + 1,
        }
        for number, letter in enumerate(letters)
    ]
    turns = [
        {"speaker": "Ada", "dia_id": f"D1:{number}", "text": f"I found a {_item(letter)} stone on day {number}."}
        for number, letter in enumerate(letters)
    ]
    talk = {"speaker_a": "Ada", "speaker_b": "Bob", "session_1": turns, "session_1_date_time": "4 May 1999"}
    return {"locomo10.json": json.dumps([{"sample_id": "c1", "conversation": talk, "qa": asked}]).encode()}


def _tablebench(letters: Sequence[str], subsets: Sequence[str]) -> Files:
    rows = [
        {
            "id": f"t{number}",
            "instruction": f"In table {number}, which colour is first?",
            "answer": _item(letter),
            "qtype": subsets[number % len(subsets)],
            "qsubtype": ("MatchBased", "StatisticalAnalysis", "ImpactAnalysis")[number % 3],
            "instruction_type": "TCoT",
        }
        for number, letter in enumerate(letters)
    ]
    return {"TableBench_TCoT.jsonl": _lines(rows)}


def _tat_qa(letters: Sequence[str], subsets: Sequence[str]) -> Files:
    questions = [
        {
            "uid": f"u{number}",
            "question": f"What was the value on day {number}?",
            "answer": [_item(letter)] if number % 2 else 12.5 + number,
            "answer_type": "span" if number % 2 else "arithmetic",
            "answer_from": subsets[number % len(subsets)],
            "scale": "" if number % 2 else "million",
        }
        for number, letter in enumerate(letters)
    ]
    document = {
        "table": {"table": [["day", "value"], ["1", "12.5"]]},
        "paragraphs": [{"order": 1, "text": "Values are in million."}],
        "questions": questions,
    }
    return {"tatqa_dataset_test_gold.json": json.dumps([document]).encode()}


def _pmc_vqa(letters: Sequence[str], _: Sequence[str]) -> Files:
    table, archive = io.StringIO(), io.BytesIO()
    writer = csv.writer(table)
    writer.writerow(["Figure_path", "Question", *(f"Choice {letter}" for letter in "ABCD"), "Answer_label"])
    with zipfile.ZipFile(archive, "w") as packed:
        for number, letter in enumerate(letters):
            packed.writestr(f"images/{number}.png", drawn(f"{number}"))
            choices = [f" {mark}:a {item} stone " for mark, item in zip("ABCD", _ITEMS, strict=True)]
            writer.writerow([f"{number}.png", f"Which stone is in figure {number}?", *choices, letter])
    return {"test_clean.csv": table.getvalue().encode(), "images.zip": archive.getvalue()}


def _phyx(letters: Sequence[str], _: Sequence[str]) -> Files:
    rows = [
        {
            "index": number,
            "category": ("Mechanics", "Electromagnetism")[number % 2],
            "subfield": "stones",
            "reasoning_type": ["Spatial"],
            "options": _OPTIONS,
            "answer": letter,
            "image": f"{number}.png",
            "question_simply": f"Stone {number} falls.",
            "question": "Which stone is it?",
        }
        for number, letter in enumerate(letters)
    ]
    figures = {f"test/test_image/{number}.png": drawn(f"{number}") for number in range(len(letters))}
    return {"test/PhyX_test.jsonl": _lines(rows), **figures}


_MAKERS: Mapping[str, Callable[[Sequence[str], Sequence[str]], Files]] = {
    "emb_spatial_bench": _emb_spatial_bench,
    "frames": _frames,
    "health_bench": _health_bench,
    "locomo": _locomo,
    "phyx_mc": _phyx,
    "phyx_oe": _phyx,
    "pmc_vqa": _pmc_vqa,
    "tablebench": _tablebench,
    "tat_qa": _tat_qa,
}
SUBSETS: Mapping[str, Sequence[str]] = dict.fromkeys(("phyx_mc", "phyx_oe"), ("mechanics", "electromagnetism"))
