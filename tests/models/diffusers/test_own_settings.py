"""What a model is given once: generation settings for requests that name none, parts that its folder lacks, and how
many images a call draws.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as pil

from polymeter.core.errors import PlanError
from polymeter.core.request import GenerateImage
from polymeter.models.diffusers import DiffusersModel
from polymeter.models.diffusers.draw import Artist
from polymeter.models.diffusers.index import Role
from polymeter.models.diffusers.rows import ImageRow
from tests.helpers.mixed_requests import request

USUAL = {"num_inference_steps": 2, "size": "48x32"}


def drawn(model: DiffusersModel, ask: GenerateImage) -> Any:
    (response,) = model.respond([request("a star", ask=ask)])
    assert response.error is None, response.error
    return np.asarray(response.outputs[0].images[0])


def test_settings_of_the_model_count_where_a_request_names_none(loaded: Callable[..., Any]) -> None:
    model, plain = loaded("stable_diffusion", generation=USUAL), loaded("stable_diffusion")
    told = GenerateImage(seed=1, size=(48, 32), extra={"num_inference_steps": 2})
    assert np.array_equal(drawn(model, GenerateImage(seed=1)), drawn(plain, told))
    other = GenerateImage(seed=1, size=(32, 32), extra={"num_inference_steps": 3})
    assert np.array_equal(drawn(model, other), drawn(plain, other))
    assert model.identity != plain.identity


@pytest.mark.parametrize(
    ("generation", "told"),
    [
        ({"num_inferense_steps": 3}, "Did you mean 'num_inference_steps'"),
        ({"n": 4}, r"not a setting of a model\. .*Set it for the benchmarks: --gen-kwargs n=4"),
        ({"size": "big"}, "The size of an image is width and height, not 'big'"),
    ],
)
def test_settings_of_the_model_are_checked(
    pipeline_folder: Callable[..., Path], generation: dict[str, Any], told: str
) -> None:
    with pytest.raises(PlanError, match=told):
        DiffusersModel(str(pipeline_folder("stable_diffusion")), generation=generation)


def test_what_a_model_is_given_is_not_told_as_a_setting_of_the_task(pipeline_folder: Callable[..., Path]) -> None:
    model = DiffusersModel(str(pipeline_folder("flux")), generation={"negative_prompt": "blue", "true_cfg_scale": 1})
    assert model.ignores(GenerateImage()) == {}
    assert list(model.ignores(GenerateImage(extra={"negative_prompt": "red"}))) == ["negative_prompt"]


def test_a_part_that_the_folder_lacks_is_read_from_elsewhere(
    pipeline_folder: Callable[..., Path], loaded: Callable[..., Any], tmp_path: Path
) -> None:
    whole = pipeline_folder("stable_diffusion")
    folder = shutil.copytree(whole, tmp_path / "lacking")
    index = json.loads((folder / "model_index.json").read_text())
    for part in ("text_encoder", "tokenizer"):
        shutil.move(folder / part, tmp_path / part)
        del index[part]
    (folder / "model_index.json").write_text(json.dumps(index))
    parts = {part: str(tmp_path / part) for part in ("text_encoder", "tokenizer")}
    model = DiffusersModel(str(folder), parts=parts)
    model.load()
    ask = GenerateImage(seed=1, size=(32, 32), extra={"num_inference_steps": 2})
    assert np.array_equal(drawn(model, ask), drawn(loaded("stable_diffusion"), ask))
    with pytest.raises(PlanError, match=r"has no part 'text_encoder_4'\..* Did you mean 'text_encoder'"):
        DiffusersModel(str(folder), parts={"text_encoder_4": "x"})
    with pytest.raises(PlanError, match=r"Reading the part 'text_encoder' from 'gone/gone'.*--weights gone/gone=PATH"):
        DiffusersModel(str(folder), parts={**parts, "text_encoder": "gone/gone"}).load()


@pytest.mark.parametrize(
    ("size", "n_rows", "told"),
    [
        (4, 1, "draws one image per call on any batch size, so that batches change no pixel"),
        (2, 4, "draw 4 images each: a batch size of 2 is filled up"),
        (4, 4, ""),
        (None, 1, ""),
    ],
)
def test_a_batch_size_that_does_not_do_what_it_seems_to_is_told_of(
    pipeline_folder: Callable[..., Path], caplog: pytest.LogCaptureFixture, size: int | None, n_rows: int, told: str
) -> None:
    model = DiffusersModel(str(pipeline_folder("stable_diffusion")), images_per_call=n_rows)
    model.planned_batch_size = size
    with caplog.at_level(logging.WARNING, "polymeter"):
        model.load()
    assert told in caplog.text
    assert bool(told) == bool(caplog.text)


class Padding:
    """Stands for a pipeline that pads the prompts of a call to the longest: an image shows how long that is."""

    def __init__(self, pads: bool) -> None:
        self.calls: list[int] = []
        self._pads = pads

    def __call__(self, prompt: list[str], generator: Any, **rest: Any) -> Any:
        self.calls.append(len(prompt))
        lengths = [max(map(len, prompt)) if self._pads else len(text) for text in prompt]
        made = [pil.new("L", (1, 1), min(length, 255)) for length in lengths]
        return type("Made", (), {"images": made})()


@pytest.mark.parametrize("pads", [True, False])
def test_prompts_that_change_their_neighbours_are_drawn_alone(pads: bool, caplog: pytest.LogCaptureFixture) -> None:
    pipeline = Padding(pads)
    artist = Artist(pipeline, Role(Padding, {"prompt": None}, ""), 3)
    row = ImageRow(0, "a", (), 1, {}, None)
    rows = [replace(row, prompt="a" * length) for length in (1, 9, 4, 2)]
    with caplog.at_level(logging.WARNING, "polymeter"):
        shades = [one[0].getpixel((0, 0)) for one in artist.draw(rows) if isinstance(one, tuple)]
        artist.draw(rows[:1])
    assert shades == [1, 9, 4, 2]
    assert pipeline.calls == [3] * (7 if pads else 5)  # two to try it out
    assert ("depend on the other images of their call" in caplog.text) == pads


def test_the_weights_are_of_the_commit_that_was_planned_with(
    pipeline_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = DiffusersModel(str(pipeline_folder("stable_diffusion")), revision="main")
    model._commit = "0123abc"
    seen = []

    def stop(settings: Any, kind: Any) -> None:
        seen.append(settings.revision)
        raise InterruptedError

    monkeypatch.setattr("polymeter.models.diffusers.model.load_pipelines", stop)
    with pytest.raises(InterruptedError):
        model.load()
    assert seen == ["0123abc"]
