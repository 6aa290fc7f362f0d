"""Helpers: data of the right shape, and whole evaluations with the mock model."""

from __future__ import annotations

import hashlib
import json
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as pil

import polymeter
from polymeter.core.model import ModelTraits
from polymeter.core.request import ChoiceLogprob, Loglikelihood, Output, Request, Response
from polymeter.guests.shims.finder import switch_on_shims
from polymeter.models.mock import MockBatch


def guests_of(system: str) -> Path:
    """The folder of other people's files, verbatim, that were written for a system."""
    return Path(__file__).parent / system / "guests"


def picture(shade: int) -> pil.Image:
    """A small picture of one shade."""
    return pil.fromarray(np.full((8, 6, 3), shade, np.uint8))


def parquet(folder: Path, split: str, rows: Sequence[Mapping[str, Any]]) -> Path:
    """A folder with one split, as ``--data`` takes it; columns of pictures become image columns."""
    import datasets

    folder.mkdir(parents=True, exist_ok=True)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    features = {}
    for name, values in columns.items():
        first = next(value for value in values if value is not None)
        if isinstance(first, pil.Image):
            features[name] = datasets.Image()
        elif isinstance(first, list) and first and isinstance(first[0], pil.Image):
            features[name] = datasets.Sequence(datasets.Image())
    made = datasets.Dataset.from_dict(columns)
    made = datasets.Dataset.from_dict(columns, features=datasets.Features({**made.features, **features}))
    made.to_parquet(str(folder / f"{split}.parquet"))
    return folder


def evaluate(where: Path, folder: Path, tasks: str, model: Any = "mock", **options: Any) -> polymeter.RunResult:
    """Run tasks of a folder."""
    return polymeter.evaluate(
        model, tasks, include_paths=[folder], output=where / "run", cache_dir=where / "cache", **options
    )


def gold(where: Path, folder: Path, tasks: str, **options: Any) -> polymeter.RunResult:
    """Run tasks of a folder on a model that knows what is expected."""
    return evaluate(where, folder, tasks, "mock", model_args={"mode": "gold"}, **options)


def model(answer: Callable[[Request], Any], **traits: Any) -> MockBatch:
    """A model that answers by a function."""
    return MockBatch(answer, ModelTraits(**{"family": "mock", **traits}), {"backend": "mock", "test": True})


def likelihoods(request: Request, values: Callable[[str], float]) -> Response:
    """A response with a log-probability for each continuation."""
    assert isinstance(request.parameters, Loglikelihood)
    made = [values(text) for text in request.parameters.continuations]
    return Response((Output(logprobs=tuple(ChoiceLogprob(v, v == max(made), 1) for v in made)),))


def differing_constants(system: str) -> dict[str, tuple[str, str]]:
    """The constants of a system's modules that are not what they are there: name → (there, here).

    ``constants.json`` in the system's folder holds them as ``repr`` writes them, long ones as their SHA-256, so that a
    space at the end or a tuple in place of a list is a difference.
    """
    switch_on_shims()
    there = json.loads((Path(__file__).parent / system / "constants.json").read_text("utf-8"))
    here = {name: _written(name, expected.startswith("sha256:")) for name, expected in there.items()}
    return {name: (expected, here[name]) for name, expected in there.items() if here[name] != expected}


def _written(name: str, as_digest: bool) -> str:
    value = pkgutil.resolve_name(name)
    text = repr(dict(sorted(value.items())) if isinstance(value, dict) else value)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" if as_digest else text
