"""A run as Inspect's logs: the shape of its own, our numbers, a failed sample, images, the same bytes again."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import polymeter
from tests.helpers.export_kit import departures, make_run, one

pytestmark = pytest.mark.needs_system("inspect_ai")
SHAPES = json.loads(Path(__file__).with_name("export_shapes.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = make_run(tmp_path_factory.mktemp("inspect"))
    return polymeter.export(run, "inspect", output=run.parent / "out", media="copy").folder


def members(folder: Path, task: str) -> dict[str, Any]:
    with zipfile.ZipFile(one(folder, f"*_{task}_*.eval")) as archive:
        return {name: json.loads(archive.read(name)) for name in archive.namelist()}


@pytest.mark.parametrize("task", ["capitals", "choice", "demo-signs"])
def test_a_log_has_the_shape_of_its_own(exported: Path, task: str) -> None:
    log = members(exported, task)
    assert [*departures(log["header.json"], SHAPES["header"])] == []
    assert [*departures(log["summaries.json"], [SHAPES["summary"]])] == []
    samples = [value for name, value in log.items() if name.startswith("samples/")]
    assert len(samples) == 4
    assert [*departures(samples, [SHAPES["sample"]])] == []


def test_numbers_answers_and_the_failure(exported: Path) -> None:
    log = members(exported, "capitals")
    run = polymeter.open_run(exported.parent / "run").result("capitals", "exact_match")
    (score,) = log["header.json"]["results"]["scores"]
    assert {name: metric["value"] for name, metric in score["metrics"].items()} == {
        "mean": run.value,
        "stderr": run.stderr,
    }
    assert (score["scored_samples"], score["unscored_samples"]) == (3, 1)
    wrong, failed = log["samples/1_epoch_1.json"], log["samples/2_epoch_1.json"]
    assert wrong["output"]["completion"] == "Kyoto"
    assert wrong["scores"]["exact_match"]["value"] == 0.0
    assert wrong["model_usage"][log["header.json"]["eval"]["model"]]["total_tokens"] == 9
    assert failed["scores"] == {}
    assert "the model is gone" in failed["error"]["message"]
    assert "the model is gone" in log["summaries.json"][2]["error"]


def test_choices_and_images(exported: Path) -> None:
    choice = members(exported, "choice")["samples/0_epoch_1.json"]
    assert choice["choices"] == [" Europe", " Asia", " America"]
    assert choice["metadata"]["logprobs"][1][:2] == [-0.5, True]
    assert choice["output"]["completion"] == "Asia"
    signs = members(exported, "demo-signs")["samples/0_epoch_1.json"]
    image, text = signs["input"][0]["content"]
    assert image["image"].startswith("data:image/jpeg;base64,/9j/")
    assert text["text"] == "Read the sign. Answer with its text only."


def test_without_media_images_are_places_in_the_run_folder(exported: Path) -> None:
    folder = polymeter.export(exported.parent / "run", "inspect", output=exported.parent / "plain").folder
    image = members(folder, "demo-signs")["samples/0_epoch_1.json"]["input"][0]["content"][0]["image"]
    assert (exported.parent / "run" / image).is_file()


def test_the_same_run_gives_the_same_bytes(exported: Path) -> None:
    again = polymeter.export(exported.parent / "run", "inspect", output=exported.parent / "again", media="copy").folder
    assert {path.name: path.read_bytes() for path in again.iterdir()} == {
        path.name: path.read_bytes() for path in exported.iterdir()
    }
