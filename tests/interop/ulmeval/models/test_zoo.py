"""``supported_ULM``: every name, what runs behind it, and what the others need."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from polymeter.core.content import Text
from polymeter.core.errors import ModelError, PlanError
from polymeter.core.guest_context import weights_from
from polymeter.core.request import GenerateImage, Message, Request
from polymeter.interop.ulmeval.models import UlmModel, ulm_model
from polymeter.interop.ulmeval.models.base import BaseModel
from polymeter.interop.ulmeval.models.native import NativeModel, sort_arguments, supported_ULM
from polymeter.interop.ulmeval.models.zoo import CLASSES, ENTRIES, Zoo, listed_names, native_backend
from polymeter.models.diffusers import DiffusersModel
from polymeter.models.hf import HfModel
from tests.helpers.janus import JANUS_SIZE, make_unified
from tests.helpers.openai_stub import OpenAIStub, failure, images, png

PIPELINES = {
    "FLUX.1-schnell": "FluxPipeline",
    "FLUX.1-dev": "FluxPipeline",
    "FLUX.1-Kontext-dev": "FluxKontextPipeline",
    "Qwen-Image": "QwenImagePipeline",
    "Sana-1.5-1.6B": "SanaPipeline",
    "Sana-1.5-4.8B": "SanaPipeline",
    "HiDream-Full": "HiDreamImagePipeline",
    "HiDream-Dev": "HiDreamImagePipeline",
    "HiDream-Fast": "HiDreamImagePipeline",
}
"""The pipeline of each model that diffusers runs."""

NAMES = {
    "gpt-image-1", "GeminiFlashPreviewImageGeneration2-0", "Imagen3", "Imagen4", "Imagen4-Ultra",
    "BAGEL-7B-MoT", "Janus-1.3B", "Janus-Pro-1B", "Janus-Pro-7B", "JanusFlow-1.3B",
    "Show-o", "Show-o-512x512", "Show-o-w-clip-vit-512x512", "Show-o-w-clip-vit", "OmniGen2",
    "FLUX.1-schnell", "FLUX.1-dev", "FLUX.1-Kontext-dev", "T2IR1", "NextStep-1-Large", "Emu3-Gen",
    "Qwen-Image", "Sana-1.5-1.6B", "Sana-1.5-4.8B", "HiDream-Full", "HiDream-Dev", "HiDream-Fast",
}  # fmt: skip
ABSENT = sorted(name for name, entry in ENTRIES.items() if not entry.backend)


@pytest.fixture(scope="module")
def janus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # tiny matrices are slower on several
    yield str(make_unified("janus", tmp_path_factory.mktemp("janus")))
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def face(janus: str) -> Any:
    """A model of the list, made once."""
    return supported_ULM["Janus-Pro-1B"](model_path=janus)


@pytest.fixture
def placed(janus: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The small Janus in place of the real one, as ``polymeter python --weights`` says it."""
    monkeypatch.setenv("POLYMETER_WEIGHTS", f"deepseek-community/Janus-Pro-1B={janus}")
    return janus


def test_every_name_is_there() -> None:
    assert set(Zoo(NativeModel)) == NAMES
    assert all(callable(make) for make in Zoo(NativeModel).values())
    assert ABSENT == [
        "BAGEL-7B-MoT", "JanusFlow-1.3B", "NextStep-1-Large", "Show-o", "Show-o-512x512", "Show-o-w-clip-vit",
        "Show-o-w-clip-vit-512x512", "T2IR1",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ABSENT)
def test_what_no_backend_runs_says_what_it_needs(name: str) -> None:
    for make in (supported_ULM[name], partial(ulm_model, name)):
        with pytest.raises(PlanError) as caught:
            make()
        assert f"Model {name!r} needs the code of https://github.com/" in str(caught.value)
        assert "--model ulm:NAME --model-path FILE" in str(caught.value)


def test_weights_that_must_be_converted_are_told() -> None:
    with pytest.raises(PlanError, match=r"convert_janus_weights_to_hf\.py.*--weights deepseek-ai/Janus-1\.3B=PATH"):
        supported_ULM["Janus-1.3B"]()


def test_unknown_names_and_other_spellings() -> None:
    assert supported_ULM["sana1.5_1.6b"] is supported_ULM["Sana-1.5-1.6B"]
    with pytest.raises(KeyError, match=r"There is no ULM 'Janus-Pro-1Z'\. Did you mean 'Janus-Pro-1B'"):
        supported_ULM["Janus-Pro-1Z"]


def test_ours_can_be_replaced() -> None:
    zoo = Zoo(NativeModel)
    zoo["Show-o"] = zoo["Mine"] = BaseModel
    assert set(zoo.added) == {"Show-o", "Mine"}
    assert (zoo.built_in("Show-o"), zoo.built_in("show_o_512x512"), zoo.built_in("Mine")) == ("", "Show-o-512x512", "")


def test_classes_by_the_names_of_configuration_files(janus: str) -> None:
    assert set(CLASSES.values()) <= NAMES
    model = supported_ULM.of_class("JanusPro")(model_path=janus)
    assert isinstance(model.backend, HfModel)
    with pytest.raises(KeyError, match=r"ULMEvalKit has no class 'JanusPor'\. Did you mean 'JanusPro'"):
        supported_ULM.of_class("JanusPor")


def test_the_guides_examples(placed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = supported_ULM["Janus-Pro-1B"]()
    first, second = model.generate(["A photo of the Opera House."], num_generations=2)
    first.save("photo0.png")
    assert first.size == (JANUS_SIZE, JANUS_SIZE)
    assert not np.array_equal(first, second)
    again = model.generate("A photo of the Opera House.")
    assert np.array_equal(again[0], first)
    monkeypatch.setenv("SEED", "7")
    assert not np.array_equal(model.generate("A photo of the Opera House.")[0], first)
    model.close()


def test_settings_and_files_may_be_given(face: Any, janus: str, tmp_path: Path) -> None:
    other = supported_ULM["Janus-Pro-1B"](model_path=janus, cfg_weight=1, dtype="float32")
    assert other.backend.identity["dtype"] == "float32"
    assert not np.array_equal(face.generate("a star")[0], other.generate("a star")[0])
    with pytest.raises(PlanError, match="gone"):
        supported_ULM["Janus-Pro-1B"](model_path=str(tmp_path / "gone"))


def test_the_backend_itself_runs_in_an_evaluation(janus: str) -> None:
    with weights_from({"deepseek-ai/Janus-Pro-1B": janus}):
        model = ulm_model("Janus-Pro-1B")
        with pytest.raises(PlanError, match=r"Model 'Janus-Pro-1B' has no argument 'dtpe'\..* Did you mean 'dtype'"):
            ulm_model("Janus-Pro-1B", dtpe="float32")
    assert ulm_model("Janus-Pro-7B", model_path=janus).identity == model.identity
    assert isinstance(model, HfModel)
    assert model.traits.requests["generate_image"] is True


def test_every_name_says_what_runs_it() -> None:
    names = listed_names()
    assert set(names) == NAMES
    assert names["Emu3-Gen"] == "hf:BAAI/Emu3-Gen-hf"
    assert names["Janus-1.3B"].startswith("hf:deepseek-ai/Janus-1.3B; needs its weights in the form of Transformers")
    assert {name for name, runner in names.items() if runner.startswith("needs ")} == set(ABSENT)


def test_the_llama_of_hidream_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "polymeter.interop.ulmeval.models.native.backend_arguments", lambda name: frozenset({"parts", "device"})
    )
    parts = {"text_encoder_4": "org/llama", "tokenizer_4": "org/llama"}
    assert sort_arguments("HiDream-Dev", {"llama_id": "org/llama", "seed": None}) == ("", {"parts": parts}, {})


def test_its_face_can_be_measured_as_a_wrapper_too(face: Any) -> None:
    asks = (GenerateImage(seed=1), GenerateImage(seed=2, repeat=1), GenerateImage(seed=5))
    requests = [Request((Message("user", (Text("a star"),)),), ask) for ask in asks]
    pictures = [response.outputs[0].images[0] for response in UlmModel.around(face).respond(requests)]
    assert not np.array_equal(pictures[0], pictures[2])
    assert [picture.size for picture in pictures] == [(JANUS_SIZE, JANUS_SIZE)] * 3
    assert isinstance(pictures[0], Image.Image)


def test_names_of_endpoints_ask_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polymeter.interop.ulmeval.models.native.sleep", lambda seconds: None)
    replies = iter([failure("busy", 503), *[images(png("red"))] * 2])
    with OpenAIStub(lambda _: next(replies)) as stub:
        model = supported_ULM["gpt-image-1"](base_url=stub.base_url, retry=10, img_size=-1, quality="low", wait=0)
        (picture,) = model.generate(["a red square"])
        (edited,) = model.generate([{"type": "image", "value": picture}, {"type": "text", "value": "bluer"}])
        paths, sent = [one.path for one in stub.received], stub.received[0].body
    assert picture.convert("RGB").getpixel((0, 0)) == edited.convert("RGB").getpixel((0, 0)) == (255, 0, 0)
    assert paths == ["/v1/images/generations", "/v1/images/generations", "/v1/images/edits"]
    assert (sent["model"], sent["prompt"], sent["quality"]) == ("gpt-image-1", "a red square", "low")
    assert "img_size" not in sent


def test_what_an_endpoint_refuses_is_an_error() -> None:
    with OpenAIStub(lambda _: failure("no such style", 400)) as stub:
        model = supported_ULM["gpt-image-1"](base_url=stub.base_url)
        with pytest.raises(ModelError, match="no such style"):
            model.generate("a red square")


@pytest.mark.parametrize("name", sorted(PIPELINES))
def test_models_of_the_list_draw_in_runs_as_they_do_there(tmp_path: Path, name: str) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("diffusers")
    index = {"_class_name": PIPELINES[name], "_diffusers_version": "0.42.1"}
    (tmp_path / "model_index.json").write_text(json.dumps(index))
    model = native_backend(name, {}, str(tmp_path))
    assert isinstance(model, DiffusersModel)
    assert model.identity["generation"] == json.loads(json.dumps(ENTRIES[name].settings))
    assert set(model.identity["parts"]) == ({"text_encoder_4", "tokenizer_4"} if "HiDream" in name else set())
    assert PIPELINES.keys() | {"OmniGen2"} == {key for key, entry in ENTRIES.items() if entry.backend == "diffusers"}
