"""The whole image path: the shapes model on its benchmarks is right as often as it says, and only if every prompt meets
its own picture.
"""

from __future__ import annotations

import json
import math
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import polymeter
from polymeter.api import RunResult, evaluate
from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.request import Output, Request, Response
from polymeter.data.tables.tsv import read_texts
from polymeter.library.shapes import ShapesModel
from polymeter.tasks.table.classes.images.scoring import by_reference

pytest.importorskip("cv2")
pytest.importorskip("skimage")

ASPECTS = {"correct": 100, "count": 100, "colour": 65, "position": 25}
"""How many prompts ask for each."""


class Other(BatchModel):
    """A model made of functions."""

    def __init__(self, name: str, respond: Any) -> None:
        self.traits: ModelTraits = ShapesModel(0).traits
        self.batch_hint = ShapesModel.batch_hint
        self._name, self._respond = name, respond

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": self._name}

    def respond(self, requests: list[Request]) -> list[Response]:
        return self._respond(requests)  # type: ignore[no-any-return]


def run(folder: Path, model: Any, task: str, **options: Any) -> RunResult:
    result = evaluate(model, task, output=folder, **options)
    assert result.status == "complete"
    assert result.n_failed == 0
    return result


def pictures(result: RunResult, task: str) -> list[Any]:
    """Names of the stored pictures, sample by sample; they are named by content."""
    rows = [json.loads(line) for line in (result.folder.path / "samples" / f"{task}.jsonl").read_text().splitlines()]
    return [[exchange["response"]["outputs"] for exchange in row["exchanges"]] for row in rows]


def verdicts(result: RunResult, task: str) -> list[Any]:
    """The scores, sample by sample."""
    rows = (result.folder.path / "samples" / f"{task}.jsonl").read_text().splitlines()
    return [json.loads(row)["scores"] for row in rows]


def psnr_of(result: RunResult) -> list[float]:
    """In dB, sample by sample."""
    found = [score for scores in verdicts(result, "demo_edit") for score in scores]
    return [score["value"] for score in found if score["metric"] == "psnr"]


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """A run of the model that goes wrong in three of ten aspects, in large batches."""
    return run(tmp_path_factory.mktemp("faulty") / "run", ShapesModel(0.3), "demo_t2i", batch_size=32)


def test_without_mistakes_every_picture_is_right(tmp_path: Path) -> None:
    result = run(tmp_path / "run", ShapesModel(0), "demo_t2i")
    for metric, n in ASPECTS.items():
        assert (result.value("demo_t2i", metric), result.result("demo_t2i", metric).n) == (1.0, n)


def test_an_empty_canvas_is_wrong_in_everything(tmp_path: Path) -> None:
    blank = Other("blank", lambda rs: [Response((Output(images=(Image.new("RGB", (64, 64)),)),)) for _ in rs])
    result = run(tmp_path / "run", blank, "demo_t2i")
    assert [result.value("demo_t2i", metric) for metric in ASPECTS] == [0.0] * 4


def test_the_stated_rate_is_the_score(faulty: RunResult) -> None:
    for metric, n in ASPECTS.items():
        if metric != "correct":
            assert abs(faulty.value("demo_t2i", metric) - 0.7) <= 3 * math.sqrt(0.3 * 0.7 / n), metric
    # 35 prompts ask for a count alone, 40 for a colour as well, 25 for all three.
    expected = (35 * 0.7 + 40 * 0.7**2 + 25 * 0.7**3) / 100
    bound = 3 * math.sqrt(expected * (1 - expected) / 100)
    assert abs(faulty.value("demo_t2i", "correct") - expected) <= bound


def test_with_pictures_of_other_prompts_it_falls_to_about_nothing(tmp_path: Path) -> None:
    perfect = ShapesModel(0)

    def mixed(requests: list[Request]) -> list[Response]:
        made = perfect.respond(requests)
        return made[1:] + made[:1]

    result = run(tmp_path / "run", Other("mixed", mixed), "demo_t2i", limit=60)
    assert result.value("demo_t2i", "correct") <= 0.1


def test_pictures_do_not_depend_on_the_batch_or_the_threads(tmp_path: Path, faulty: RunResult) -> None:
    one = run(tmp_path / "one", ShapesModel(0.3), "demo_t2i", batch_size=1, limit=40)
    first = pictures(faulty, "demo_t2i")[:40]
    assert pictures(one, "demo_t2i") == first
    assert verdicts(one, "demo_t2i") == verdicts(faulty, "demo_t2i")[:40]


def test_edits_are_near_their_references(tmp_path: Path) -> None:
    perfect = run(tmp_path / "perfect", ShapesModel(0), "demo_edit")
    assert perfect.result("demo_edit", "psnr").n == 60
    assert perfect.value("demo_edit", "psnr") > 80
    assert min(psnr_of(perfect)) > 35
    assert perfect.value("demo_edit", "ssim") > 0.998


def test_unchanged_pictures_are_as_far_from_their_references_as_is_said() -> None:
    table = read_texts(Path(polymeter.__file__).parent / "library" / "demo_edit" / "demo_edit.tsv")
    pairs = [[b64decode(row[name]) for name in ("image", "reference")] for _, row in table.iterrows()]
    found = [by_reference(*pair) for pair in pairs]
    means = {name: math.fsum(values[name] for values in found) / 60 for name in ("psnr", "ssim")}
    assert means == {"psnr": pytest.approx(19.5, abs=0.1), "ssim": pytest.approx(0.879, abs=0.002)}


def test_wrong_edits_are_far_from_their_references(tmp_path: Path) -> None:
    """How often edits go wrong is the model's own test; here, that each wrong one shows in the score."""
    result = run(tmp_path / "run", ShapesModel(1), "demo_edit", limit=20)
    values = psnr_of(result)
    assert len(values) == 20
    assert max(values) < 35
