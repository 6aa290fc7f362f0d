"""A run whose model is shown images: with failures, values that have keys, and half a surrogate pair in each answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from PIL import Image

import polymeter
from polymeter import BatchModel, ModelTraits, Output, Response, Usage

N = 12
USED = {"input": 7 * N, "output": 3 * N, "images_sent": N, "images_made": 0, "audio_s": 0, "requests": N, "failed": 0}
"""What its model took; the other counts are unknown."""
YAML = """
task: seen
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_visual: !function utils.visual
doc_to_text: "What is {{n}}?"
doc_to_target: "{{n}}"
output_type: generate_until
process_results: !function utils.score
metric_list:
  - {metric: exact_match}
  - {metric: parts, aggregation: !function utils.first, higher_is_better: true}
  - {metric: answer, aggregation: mean, higher_is_better: true}
"""
CODE = """
from pathlib import Path
from PIL import Image

def visual(doc):
    return [Image.open(Path(__file__).parent / doc["file"]).copy()]

def score(doc, results):
    if doc["n"] == 3:
        raise ValueError("no <b>score</b> | here")
    parts = {"long": doc["n"] / 2} if doc["n"] < 6 else {"long": 1, "late": float("nan")}
    return {"exact_match": float(results[0] == str(doc["n"])), "parts": parts, "answer": 0.5}

def first(values):
    return values[0]["long"]
"""


class Teller(BatchModel):
    traits = ModelTraits(family="teller", modalities={"text": True, "image": True})

    @property
    def identity(self) -> dict[str, str]:
        return {"name": "teller"}

    def respond(self, requests):
        return [Response((Output(text=f"{r.text.split()[2][:-1]}\ud83d", usage=Usage(7, 3)),)) for r in requests]


def measured(folder: Path, **more: Any) -> polymeter.RunResult:
    rows = [{"n": n, "file": f"{n % 2}.png", "tags": ["a", {"b": n}], "none": None} for n in range(N)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "seen.yaml").write_text(YAML)
    (folder / "utils.py").write_text(CODE)
    for number in range(2):
        Image.new("RGB", (8, 6 + number), (200 * number, 0, 0)).save(folder / f"{number}.png")
    return polymeter.evaluate(Teller(), str(folder / "seen.yaml"), output=folder / "run", **more)
