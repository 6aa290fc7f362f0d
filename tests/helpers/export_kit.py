"""A run with some of everything that is exported: texts, choices, images, a group, a failure, a text like a formula."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polymeter
from polymeter.core.request import ChoiceLogprob, Loglikelihood, Output, Request, Response, Usage
from polymeter.models.mock import MockBatch

CAPITALS = """\
task: capitals
dataset_path: csv
dataset_kwargs: {data_files: {test: capitals.csv}}
test_split: test
doc_to_text: "What is the capital of {{country}}?"
doc_to_target: capital
generation_kwargs: {max_new_tokens: 8, temperature: 0}
metric_list: [{metric: exact_match}]
metadata: {version: 1.0}
"""
CHOICE = """\
task: choice
dataset_path: csv
dataset_kwargs: {data_files: {test: capitals.csv}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{country}} is in"
doc_to_choice: ["Europe", "Asia", "America"]
doc_to_target: region
metadata: {version: 1.0}
"""
GROUP = """\
group: world
task: [capitals, choice]
aggregate_metric_list: [{metric: acc, weight_by_size: true}]
"""
ROWS = """\
country,capital,region
France,Paris,Europe
Japan,Tokyo,Asia
Peru,Lima,America
Nepal,"=1+2, Kathmandu",Asia
"""
SAID = {"France": "Paris", "Japan": "Kyoto", "Nepal": "=1+2, Kathmandu", "Read": "NO PARKING"}


def write_tasks(folder: Path) -> Path:
    """The tasks, as files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {
        "capitals.csv": ROWS,
        "capitals.yaml": CAPITALS,
        "choice.yaml": CHOICE,
        "world.yaml": GROUP,
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def answer(request: Request) -> Response:
    """Right about France, wrong about Japan, gone for Peru; a formula for Nepal; always for Asia among continents."""
    if isinstance(request.parameters, Loglikelihood):
        return Response((Output(logprobs=tuple(ChoiceLogprob(v, v == -0.5, 1) for v in (-2.0, -0.5, -3.25))),))
    text = request.text
    if "Peru" in text:
        raise ConnectionError("the model is gone")
    said = next(answer for word, answer in SAID.items() if word in text)
    return Response((Output(text=said, finish_reason="stop", usage=Usage(7, 2)),))


def make_run(folder: Path, *tasks: str) -> Path:
    """A finished run of some tasks; by default of the group ``world`` and of three images with signs."""
    run = folder / "run"
    model = MockBatch(answer, identity={"backend": "mock", "name": "speaker"})
    chosen = list(tasks) or ["world", "demo_signs"]
    polymeter.evaluate(model, chosen, include_paths=[write_tasks(folder / "mine")], output=run, limit=4, max_retries=0)
    return run


def lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def one(folder: Path, pattern: str) -> Path:
    """The one file below a folder that a pattern matches."""
    (path,) = folder.rglob(pattern)
    return path


def departures(value: Any, shape: Any, where: str = "") -> Iterator[str]:
    """Where a value departs from a shape that was learnt from a tool's own files.

    A shape is the name of a type (``int``, ``number``, ``str``, ``bool``, ``list``, ``object``, ``null``, several with
    ``|``, or ``any``), a list with the shape of each entry, or an object. In an object ``name?`` may be missing, ``*``
    is any other name, and without it there are no others.
    """
    if isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{where}: no list"
        else:
            for number, entry in enumerate(value):
                yield from departures(entry, shape[0], f"{where}[{number}]")
    elif isinstance(shape, dict):
        if not isinstance(value, dict):
            yield f"{where}: no object"
            return
        known = {name.rstrip("?"): own for name, own in shape.items()}
        yield from (f"{where}: no {name}" for name in shape if name[-1] not in "?*" and name not in value)
        for name, entry in value.items():
            if name in known or "*" in known:
                yield from departures(entry, known.get(name, known.get("*")), f"{where}.{name}")
            else:
                yield f"{where}: unknown {name}"
    elif shape != "any" and not any(_is(value, kind) for kind in shape.split("|")):
        yield f"{where}: {value!r} is not {shape}"


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool) or value is None:
        return kind == ("null" if value is None else "bool")
    if kind in ("int", "str", "list"):
        return isinstance(value, {"int": int, "str": str, "list": list}[kind])
    return isinstance(value, {"number": (int, float), "object": dict}.get(kind, ()))
