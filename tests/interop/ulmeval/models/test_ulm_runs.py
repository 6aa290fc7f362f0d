"""Wrappers through whole runs: on dataset classes, on a YAML task, killed and resumed, in any company."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import PlanError
from tests.helpers.colours import folder_of_colours
from tests.helpers.toy_datasets import png_base64, run_toy, samples_of, write_class

IMAGES = """
NUM_GENERATIONS = 2

def evaluate(self, eval_file, **judge_kwargs):
    data = load(eval_file)
    return {'images': sum(len(cell) for cell in data['prediction'])}
"""
NOISE = """
import os
import random
from random import randrange
import numpy as np
from PIL import Image
from ulmeval.ulm.base import BaseModel

class Noise(BaseModel):
    def generate_inner(self, message, dataset=None):
        random.random()
        return Image.fromarray(np.random.randint(256, size=(4, 4, 3), dtype=np.uint8)).crop((0, 0, 4, randrange(1, 5)))

class Batch(BaseModel):
    def batch_generation_inner(self, msgs, dataset, num_generations):
        return [Image.new("RGB", (4, 4), (randrange(256), 0, 0)) for _ in range(num_generations)]

class Stops(Noise):
    def __init__(self, folder=""):
        self.folder = folder

    def generate_inner(self, message, dataset=None):
        text = message[0]["value"]
        if "prompt 3" in text and os.path.exists(self.folder + "/stop"):
            raise KeyboardInterrupt
        with open(self.folder + "/drawn", "a") as file:
            file.write(text + "\\n")
        return super().generate_inner(message, dataset)

class Fails(Noise):
    def generate_inner(self, message, dataset=None):
        if "cats" in message[-1]["value"]:
            return {"image": None}
        return super().generate_inner(message, dataset)

def made(**arguments):
    return Prompts(**arguments)

supported_ULM["Made"] = made

class Reads(BaseModel):
    def generate_inner(self, message, dataset=None):
        kinds = "+".join(item["type"] for item in message)
        picture = Image.open(message[0]["value"]).convert("RGB")
        names = {(255, 0, 0): "red", (0, 0, 255): "blue", (0, 128, 0): "green"}
        assert (dataset, kinds) == ("colours", "image+text")
        return names[picture.getpixel((0, 0))]

class Prompts(Noise):
    def use_custom_prompt(self, dataset):
        return dataset == "Toy"

    def build_prompt(self, line, dataset=None):
        return [*self.dump_image(line, dataset), f"mine: {line['prompt']}"]
"""


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))


@pytest.fixture
def wrappers(tmp_path: Path) -> str:
    (tmp_path / "wrappers.py").write_text(textwrap.dedent(NOISE))
    return str(tmp_path / "wrappers.py")


def pictures(run: Any) -> dict[str, str]:
    """What was drawn, by sample; pictures go by their content."""
    return {
        sample["id"]: str([output["images"] for one in sample["exchanges"] for output in one["response"]["outputs"]])
        for sample in samples_of(run)
    }


def value(run: Any, task: str) -> Any:
    return run.results["tasks"][task]["results"][0]["value"]


@pytest.mark.parametrize("name", ["Noise", "Batch"])
def test_pictures_depend_on_their_sample_and_on_nothing_else(tmp_path: Path, wrappers: str, name: str) -> None:
    table = {"index": range(6), "prompt": [f"prompt {place}" for place in range(6)]}
    toy = write_class(tmp_path / "lib", IMAGES, columns=table)
    whole = run_toy(toy, tmp_path / "whole", model=f"ulm:{name}", model_path=wrappers)
    assert whole.exit_code == 0
    assert value(whole, "Toy") == 12
    drawn = pictures(whole)
    assert len(set(drawn.values())) == 6
    batched = run_toy(toy, tmp_path / "batched", model=f"ulm:{name}", model_path=wrappers, batch_size=4)
    assert pictures(batched) == drawn
    partly = run_toy(toy, tmp_path / "partly", model=f"ulm:{name}", model_path=wrappers, limit=2)
    assert pictures(partly).items() <= drawn.items()
    other = run_toy(toy, tmp_path / "other", model=f"ulm:{name}", model_path=wrappers, seed=99)
    assert pictures(other) != drawn


def test_an_interrupted_run_goes_on_and_draws_nothing_twice(tmp_path: Path, wrappers: str) -> None:
    table = {"index": range(6), "prompt": [f"prompt {place}" for place in range(6)]}
    toy = write_class(tmp_path / "lib", IMAGES, columns=table)
    told = {"model": "ulm:Stops", "model_path": wrappers, "model_args": {"folder": str(tmp_path)}}
    whole = pictures(run_toy(toy, tmp_path / "whole", **told))
    (tmp_path / "drawn").unlink()
    (tmp_path / "stop").touch()
    assert run_toy(toy, tmp_path / "run", **told).exit_code == 130
    assert 0 < len((tmp_path / "drawn").read_text().splitlines()) < 12
    (tmp_path / "stop").unlink()
    run = run_toy(toy, tmp_path / "run", **told)
    assert (run.exit_code, pictures(run)) == (0, whole)
    lines = (tmp_path / "drawn").read_text().splitlines()
    assert sorted(lines) == sorted(f"prompt {place}" for place in range(6) for _ in range(2))


def test_a_wrong_result_is_one_failed_sample(tmp_path: Path, wrappers: str) -> None:
    run = run_toy(write_class(tmp_path / "lib", IMAGES), tmp_path / "run", model="ulm:Fails", model_path=wrappers)
    assert run.exit_code == 1
    failed = [sample for sample in samples_of(run) if sample["status"] != "ok"]
    assert len(failed) == 1
    assert "gave a dict where an image was asked for" in str(failed[0]["error"])
    assert value(run, "Toy") == 4


def test_text_benchmarks_of_other_dialects_run_on_a_wrapper(tmp_path: Path, wrappers: str) -> None:
    folder = folder_of_colours(tmp_path / "tasks")
    run = polymeter.evaluate(
        "ulm:Reads", ["colours"], model_path=wrappers, include_paths=[folder], output=tmp_path / "run"
    )
    assert (run.exit_code, value(run, "colours")) == (0, 1.0)


def test_a_picture_where_text_is_asked_for_ends_at_the_probe(tmp_path: Path, wrappers: str) -> None:
    folder = folder_of_colours(tmp_path / "tasks")
    with pytest.raises(PlanError, match="gave an Image where a text was asked for"):
        polymeter.evaluate(
            "ulm:Noise", ["colours"], model_path=wrappers, include_paths=[folder], output=tmp_path / "run"
        )


@pytest.mark.parametrize("name", ["Prompts", "Made"])  # the class, and a function that makes one
def test_a_wrappers_own_prompt_is_what_is_asked(tmp_path: Path, wrappers: str, name: str) -> None:
    columns = {"index": [1, 2], "prompt": ["one", "two"], "image": [png_base64("red"), png_base64("blue")]}
    toy = write_class(tmp_path / "lib", IMAGES, columns=columns, base="ImageBaseDataset", type_="IT2I")
    run = run_toy(toy, tmp_path / "run", model=f"ulm:{name}", model_path=wrappers)
    assert run.exit_code == 0
    asked = [sample["exchanges"][0]["request"]["messages"] for sample in samples_of(run)]
    assert ["mine: one" in str(asked[0]), "mine: two" in str(asked[1])] == [True, True]


@pytest.mark.parametrize("name", ["Noise", "Prompts"])
def test_replicas_draw_and_ask_what_one_process_does(tmp_path: Path, wrappers: str, name: str) -> None:
    columns = {
        "index": range(4),
        "prompt": [f"prompt {place}" for place in range(4)],
        "image": [png_base64((place, 0, 0)) for place in range(4)],
    }
    toy = write_class(tmp_path / "lib", IMAGES, columns=columns)
    runs = [
        run_toy(toy, tmp_path / f"run{replicas}", model=f"ulm:{name}", model_path=wrappers, replicas=replicas)
        for replicas in (None, 2)
    ]
    assert [run.exit_code for run in runs] == [0, 0]
    alone, shared = (
        [
            [(one["role"], one["request"], one["response"]["outputs"]) for one in sample["exchanges"]]
            for sample in samples_of(run)
        ]
        for run in runs
    )
    assert alone == shared, "seeds, prompts of the model's own and images"
    assert len({str(sample) for sample in pictures(runs[1]).values()}) == 4
