"""What is told of a pipeline before its weights are read, and how it is read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.model import ModelSpec
from polymeter.core.request import Generate, GenerateImage
from polymeter.models.diffusers import DiffusersModel
from polymeter.run.plan.models import make_model


def index_of(folder: Path, name: Any) -> Path:
    folder.mkdir()
    (folder / "model_index.json").write_text(json.dumps({"_class_name": name, "_diffusers_version": "0.42.1"}))
    return folder


def test_a_pipeline_says_what_it_can_do_before_it_is_loaded(pipeline_folder: Callable[..., Path]) -> None:
    draws = DiffusersModel(str(pipeline_folder("stable_diffusion"))).traits
    edits = DiffusersModel(str(pipeline_folder("pix2pix"))).traits
    assert draws.family == "StableDiffusionPipeline"
    assert draws.requests == {"generate": False, "loglikelihood": False, "generate_image": True}
    assert draws.modalities["image"]  # its parts make an image-to-image pipeline too
    assert edits.family == "StableDiffusionInstructPix2PixPipeline"
    assert edits.modalities["image"]


def test_one_that_only_draws_takes_no_image(tmp_path: Path) -> None:
    model = DiffusersModel(str(index_of(tmp_path / "sana", "SanaPipeline")))
    assert model.traits.modalities["image"] is False


def test_one_class_may_draw_and_edit(tmp_path: Path) -> None:
    model = DiffusersModel(str(index_of(tmp_path / "kontext", "FluxKontextPipeline")))
    assert model.traits.modalities["image"] is True
    told = model.ignores(GenerateImage(extra={"style": "vivid"}))
    assert told == {"style": "It is not a setting of FluxKontextPipeline."}


def test_a_class_may_be_named(pipeline_folder: Callable[..., Path]) -> None:
    folder = str(pipeline_folder("stable_diffusion"))
    model = DiffusersModel(folder, pipeline="StableDiffusionImg2ImgPipeline")
    model.load()
    assert set(model._artists) == {"StableDiffusionImg2ImgPipeline", "StableDiffusionPipeline"}
    assert model.identity != DiffusersModel(folder).identity


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("WanPipeline", "makes videos"),
        ("StableAudioPipeline", "makes sounds"),
        ("ShapEPipeline", "makes bodies in space"),
        ("LLaDA2Pipeline", "writes text"),
        ("StableDiffusionInpaintPipeline", "paints into a mask"),
        ("DiTPipeline", "draws classes by number"),
        ("DDPMPipeline", "accepts no prompt"),
        ("OmniGen2Pipeline", "has no pipeline 'OmniGen2Pipeline'.*trust_remote_code=true"),
        (["own", "OwnPipeline"], "has no pipeline 'OwnPipeline'.*trust_remote_code=true"),
    ],
)
def test_a_pipeline_for_something_else_is_refused(tmp_path: Path, name: Any, told: str) -> None:
    with pytest.raises(PlanError, match=told):
        DiffusersModel(str(index_of(tmp_path / "pipeline", name)))


def test_a_pipeline_with_code_of_its_own_is_not_read_for_what_it_can_do(tmp_path: Path) -> None:
    model = DiffusersModel(str(index_of(tmp_path / "own", ["own", "OwnPipeline"])), trust_remote_code=True)
    assert "image" not in model.traits.modalities  # unknown: settled by asking


def test_a_missing_folder_an_empty_one_and_a_file_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "sd.safetensors"
    file.write_bytes(b"")
    with pytest.raises(PlanError, match=r"pipeline folder .* does not exist"):
        DiffusersModel(str(tmp_path / "nothing"))
    with pytest.raises(PlanError, match=r"it has no model_index\.json.*hf:PATH"):
        DiffusersModel(str(tmp_path))
    with pytest.raises(PlanError, match=r"is a file\. A pipeline is a folder.*from_single_file"):
        DiffusersModel(str(file))


def test_a_hub_id_that_is_not_here_says_how_to_give_it() -> None:
    with pytest.raises(PlanError, match="--weights nobody/nothing=PATH"):
        DiffusersModel("nobody/nothing")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"dtype": "float61"}, "'float16'"),
        ({"scheduler": "EulerDiscretScheduler"}, "Did you mean 'EulerDiscreteScheduler'"),
        ({"pipeline": "StableDifusionPipeline"}, "Did you mean 'StableDiffusionPipeline'"),
        ({"device": "cuda:99"}, "Using the device 'cuda:99'"),
        ({"offload": "all"}, "'offload' cannot be 'all'"),
        ({"images_per_call": 0}, "at least 1"),
        ({"trust_remote_code": "no"}, "must be true or false"),
        ({"scheduler_args": "x"}, "must be a mapping"),
        ({"schedular": "x"}, "no argument 'schedular'. Did you mean 'scheduler'|Did you mean 'scheduler"),
    ],
)
def test_a_wrong_argument_is_refused(pipeline_folder: Callable[..., Path], args: dict[str, Any], told: str) -> None:
    with pytest.raises(PlanError, match=told):
        make_model(ModelSpec("diffusers", str(pipeline_folder("stable_diffusion")), args), {})


def test_offloading_needs_somewhere_to_come_from(pipeline_folder: Callable[..., Path]) -> None:
    with pytest.raises(PlanError, match="offload=model needs an accelerator"):
        DiffusersModel(str(pipeline_folder("stable_diffusion")), device="cpu", offload="model")


def test_a_setting_that_the_scheduler_has_not_is_refused(pipeline_folder: Callable[..., Path]) -> None:
    model = DiffusersModel(str(pipeline_folder("stable_diffusion")), scheduler_args={"beta_strat": 0.1})
    with pytest.raises(PlanError, match=r"DDIMScheduler has no setting 'beta_strat'.*'beta_start'"):
        model.load()


def test_a_scheduler_may_be_replaced(loaded: Callable[..., Any]) -> None:
    model = loaded("stable_diffusion", scheduler="EulerDiscreteScheduler", scheduler_args={"beta_end": 0.03})
    scheduler = model._artists["StableDiffusionPipeline"]._pipeline.scheduler
    assert type(scheduler).__name__ == "EulerDiscreteScheduler"
    assert (scheduler.config.beta_end, scheduler.config.num_train_timesteps) == (0.03, 100)


def test_both_uses_share_their_parts(loaded: Callable[..., Any]) -> None:
    draw, edit = (artist._pipeline for artist in loaded("stable_diffusion")._artists.values())
    assert draw is not edit
    assert draw.unet is edit.unet


def test_weights_are_read_in_the_type_they_are_stored_in(pipeline_folder: Callable[..., Path], tmp_path: Path) -> None:
    import diffusers
    import torch

    plain = diffusers.DiffusionPipeline.from_pretrained(pipeline_folder("stable_diffusion"))
    plain.to(torch.bfloat16).save_pretrained(tmp_path / "half")
    types = {}
    for dtype in ("auto", "float32"):
        model = DiffusersModel(str(tmp_path / "half"), dtype=dtype)
        model.load()
        types[dtype] = model._artists["StableDiffusionPipeline"]._pipeline.unet.dtype
    assert types == {"auto": torch.bfloat16, "float32": torch.float32}


def test_a_pipeline_is_known_by_its_content(pipeline_folder: Callable[..., Path], tmp_path: Path) -> None:
    folder = pipeline_folder("stable_diffusion")
    here = DiffusersModel(str(folder)).identity
    shutil.copytree(folder, tmp_path / "copy")
    assert DiffusersModel(str(tmp_path / "copy")).identity == here
    config = tmp_path / "copy" / "scheduler" / "scheduler_config.json"
    config.write_text(config.read_text().replace("0.02", "0.03"))
    assert DiffusersModel(str(tmp_path / "copy")).identity != here
    assert DiffusersModel(str(folder), scheduler="LCMScheduler").identity != here
    assert DiffusersModel(str(folder), device="cpu").identity == here


def test_a_missing_part_is_told_when_it_is_loaded(pipeline_folder: Callable[..., Path], tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(pipeline_folder("stable_diffusion"), folder)
    shutil.rmtree(folder / "unet")
    with pytest.raises(PlanError, match="Reading the weights of"):
        DiffusersModel(str(folder)).load()


def test_settings_that_change_nothing_are_told(pipeline_folder: Callable[..., Path]) -> None:
    stable = DiffusersModel(str(pipeline_folder("stable_diffusion")))
    flux = DiffusersModel(str(pipeline_folder("flux")))
    fine = GenerateImage((32, 32), 1, extra={"negative_prompt": "x", "guidance_scale": 3.0, "strength": 0.5})
    assert stable.ignores(fine) == {}
    assert stable.ignores(Generate()) == {}
    assert "StableDiffusionPipeline" in stable.ignores(GenerateImage(extra={"style": "vivid"}))["style"]
    told = flux.ignores(GenerateImage(extra={"negative_prompt": "x"}))["negative_prompt"]
    assert "true_cfg_scale above 1" in told
    assert flux.ignores(GenerateImage(extra={"negative_prompt": "x", "true_cfg_scale": 2.0})) == {}
    misspelt = stable.ignores(GenerateImage(extra={"negativ_prompt": "x"}))["negativ_prompt"]
    assert "It is not a setting of StableDiffusionPipeline" in misspelt
    assert "Did you mean 'negative_prompt'" in misspelt
    assert "negative_prompt" in (stable.known_settings() or ())
