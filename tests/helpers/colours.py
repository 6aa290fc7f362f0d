"""A small image task whose answer is the colour of the picture, and wrappers written on the spot."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polymeter
from polymeter.api.result import RunResult
from polymeter.store.exports.export import read_samples

COLOURS = ("red", "blue", "green", "blue", "red", "green")
UTILS = """\
def visual(doc):
    return [doc["picture"].convert("RGB")]


def ask(doc, previous_output=None, round_idx=None, previous_round_info=None):
    if round_idx is None:
        return f"First {doc['question']}"
    if round_idx < 3:
        return visual(doc) * round_idx, f"Round {round_idx}", False, previous_output, (previous_round_info or 0) + 1
    return None, None, True, [*previous_output, f"info {previous_round_info}"], None


def rounds_score(doc, results):
    return {"rounds": len(results[0])}
"""
HEAD = """\
task: {name}
dataset_path: parquet
dataset_kwargs: {{data_files: {{test: rows.parquet}}}}
test_split: test
doc_to_visual: !function utils.visual
doc_to_text: {text}
doc_to_target: colour
"""


def folder_of_colours(folder: Path) -> Path:
    """Tasks over six pictures: ``colours``, ``more_colours``, ``choices``, ``likely``, ``repeated`` and ``asked``."""
    import datasets
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    rows = {
        "question": [f"Which colour{'?' * (place + 1)}" for place in range(len(COLOURS))],
        "colour": list(COLOURS),
        "picture": [Image.new("RGB", (4, 4), colour) for colour in COLOURS],
    }
    features = datasets.Features(
        {"question": datasets.Value("string"), "colour": datasets.Value("string"), "picture": datasets.Image()}
    )
    datasets.Dataset.from_dict(rows, features=features).to_parquet(str(folder / "rows.parquet"))
    (folder / "utils.py").write_text(UTILS)
    match = "metric_list: [{metric: exact_match}]\n"
    texts = {
        "colours": "generation_kwargs: {max_new_tokens: 4}\n" + match,
        "more_colours": "generation_kwargs: {max_new_tokens: 4}\n" + match,
        "choices": "output_type: multiple_choice\ndoc_to_choice: [red, green, blue]\nmetric_list: [{metric: acc}]\n",
        "likely": "output_type: loglikelihood\nmetric_list: [{metric: acc}]\n",
        "repeated": "repeats: 3\n" + match,
    }
    for name, rest in texts.items():
        (folder / f"{name}.yaml").write_text(HEAD.format(name=name, text="question") + rest)
    asked = "output_type: generate_until_multi_round\nprocess_results: !function utils.rounds_score\n"
    asked += "metric_list: [{metric: rounds, aggregation: mean, higher_is_better: true}]\n"
    (folder / "asked.yaml").write_text(HEAD.format(name="asked", text="!function utils.ask") + asked)
    return folder


def wrapper_file(folder: Path, body: str, name: str = "mine.py") -> Path:
    """A file with a wrapper ``Mine``, whose methods are given."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("class Mine(lmms):\n" + textwrap.indent(textwrap.dedent(body), "    "))
    return path


def run_wrapper(
    where: Path, tasks: Sequence[str] | str, path: Path, *, name: str = "", output: str = "run", **options: Any
) -> RunResult:
    """Run tasks of the folder ``tasks`` below ``where`` on a wrapper."""
    folder = where / "tasks"
    if not folder.is_dir():
        folder_of_colours(folder)
    return polymeter.evaluate(
        f"lmms:{name}" if name else "lmms",
        tasks,
        model_path=str(path),
        include_paths=[folder],
        output=where / output,
        cache_dir=where / "cache",
        **options,
    )


def answers(result: RunResult, task: str) -> list[Any]:
    """The texts that the model gave, by sample: a text, or a list where it was asked several times."""
    found = []
    for row in read_samples(result.folder, task):
        texts = [output["text"] for one in row["exchanges"] for output in one["response"]["outputs"]]
        found.append(texts[0] if len(texts) == 1 else texts)
    return found
