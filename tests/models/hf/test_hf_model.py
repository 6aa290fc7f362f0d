"""The model as a user names it: what it is told, what it says before weights are read, what makes it this model."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.model import ModelSpec
from polymeter.core.names.installing import pip_install
from polymeter.core.request import Generate
from polymeter.models.hf import HfModel, digest
from polymeter.models.hf import load as loading
from polymeter.models.hf import model as model_module
from polymeter.models.hf.config import kind_of
from polymeter.run.plan.models import make_model
from tests.helpers.mixed_requests import mixed_requests, picture, request, texts


def test_importing_it_loads_nothing_heavy() -> None:
    code = "import sys, polymeter.models.hf; assert not {'torch', 'transformers'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_making_it_reads_no_weights(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    folder = tmp_path / "light"
    shutil.copytree(checkpoint("llava"), folder, ignore=shutil.ignore_patterns("*.safetensors"))
    made = HfModel(str(folder))
    assert made.traits.family == "llava"
    assert made.traits.requests == {"generate": True, "loglikelihood": True, "generate_image": False}
    assert made.traits.modalities == {"text": True, "image": True, "audio": False, "video": True}
    assert not made.traits.is_completion
    with pytest.raises(PlanError, match="Reading the weights of"):
        made.load()


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("/nowhere/at/all", {}, r"The checkpoint folder '/nowhere/at/all' does not exist"),
        ("nobody/nothing", {}, r"Offline, name a folder that contains it: --weights nobody/nothing=PATH"),
        (".", {}, r"is not a checkpoint: it has no config.json.*adapter="),
        ("CKPT", {"dtype": "flaot16"}, r"'dtype' cannot be 'flaot16'.*'float16'"),
        ("CKPT", {"video_as": "never"}, r"Known: auto, video, images"),
        ("CKPT", {"quantization": "4bit"}, r"'quantization' must be a mapping.*quantization=\{"),
        ("CKPT", {"device": "cpu", "device_map": "auto"}, r"device and device_map exclude each other"),
        ("CKPT", {"trust_remote_code": "no"}, r"'trust_remote_code' must be true or false, not 'no'"),
        ("CKPT", {"max_length": "long"}, r"'max_length' must be a number of at least 0, not 'long'"),
        ("CKPT", {"video_frames": 0}, r"'video_frames' must be a number of at least 1, not 0"),
        ("CKPT", {"device": "gpu"}, r"Using the device 'gpu' raised .*Known: cpu, cuda"),
        ("CKPT", {"adapter": "/nowhere/lora"}, r"'/nowhere/lora' is not an adapter: it has no adapter_config.json"),
        ("CKPT", {"processor_args": {"max_pixel": 9}}, r"has no argument 'max_pixel'"),
    ],
)
def test_wrong_arguments_are_told_before_loading(
    checkpoint: Callable[..., Path], name: str, args: dict[str, Any], message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        HfModel(str(checkpoint("llava")) if name == "CKPT" else name, **args)


def test_unknown_argument_names_the_nearest(checkpoint: Callable[..., Path]) -> None:
    spec = ModelSpec("hf", str(checkpoint("llama")), {"attn_implementaton": "eager"})
    with pytest.raises(PlanError, match=r"no argument 'attn_implementaton'.*Did you mean 'attn_implementation'"):
        make_model(spec, {})


def test_weights_stand_in_for_an_id(checkpoint: Callable[..., Path]) -> None:
    folder = str(checkpoint("llama"))
    made = make_model(ModelSpec("hf", "org/name"), {"org/name": folder})
    assert made.identity == HfModel(folder).identity


@pytest.mark.parametrize(
    ("package", "args", "extra"),
    [
        ("torch", {}, "hf"),
        ("transformers", {}, "hf"),
        ("accelerate", {"device_map": "auto"}, "hf"),
        ("peft", {"adapter": "somewhere"}, "lora"),
    ],
)
def test_missing_package_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, package: str, args: dict[str, Any], extra: str
) -> None:
    monkeypatch.setattr(model_module, "find_spec", lambda name: None if name == package else util.find_spec(name))
    with pytest.raises(PlanError, match=rf"{package}.*\[{extra}\]"):
        HfModel("any", **args)


@pytest.mark.skipif(util.find_spec("torchvision") is not None, reason="torchvision is installed")
def test_missing_torchvision_is_told_plainly(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    folder = tmp_path / "qwen"
    shutil.copytree(checkpoint("llava"), folder)
    config = {"model_type": "qwen2_5_vl", "architectures": ["Qwen2_5_VLForConditionalGeneration"]}
    (folder / "config.json").write_text(json.dumps(config))
    file = folder / "processor_config.json"
    told = json.loads(file.read_text()) | {"processor_class": "Qwen2_5_VLProcessor"}
    file.write_text(json.dumps(told))
    with pytest.raises(PlanError, match=r"'torchvision', needed by the processor of .* is not installed") as caught:
        HfModel(str(folder))
    assert caught.value.hint == f"Install it with: {pip_install(extra='vision')}"


def test_checkpoint_without_processor_is_told(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    folder = tmp_path / "bare"
    shutil.copytree(checkpoint("llava"), folder, ignore=shutil.ignore_patterns("*processor_config.json"))
    with pytest.raises(PlanError, match=r"it has no processor|Reading the processor"):
        HfModel(str(folder))


def test_missing_weights_are_refused(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "holes"
    shutil.copytree(checkpoint("llama"), folder)
    file = folder / "model.safetensors"
    weights = load_file(file)
    del weights["lm_head.weight"]
    save_file(weights, file, metadata={"format": "pt"})
    with pytest.raises(
        PlanError,
        match=r"has no values for 1 of the network's weights: lm_head.weight.*would be "
        "random",
    ):
        HfModel(str(folder)).load()
    forgiven = HfModel(str(folder), allow_missing_weights=True)
    forgiven.load()
    assert texts(forgiven.respond([request("Hi")]))


def test_identity_is_content_and_not_place(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    folder, copy = checkpoint("llama"), tmp_path / "copy"
    shutil.copytree(folder, copy)
    own = HfModel(str(folder)).identity
    assert HfModel(str(copy), device="cpu").identity == own
    for args in (
        {"dtype": "bfloat16"},
        {"attn_implementation": "eager"},
        {"chat_template": "{{ messages[0]['content'] }}"},
        {"max_length": 100},
        {"video_frames": 4},
    ):
        assert HfModel(str(copy), **args).identity != own
    weights = copy / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert HfModel(str(copy)).identity != own


def test_digest_of_large_weights_looks_at_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "_WHOLE_BYTES", 1)
    file = tmp_path / "model.safetensors"
    content = bytearray(300 * 64 * 1024)
    file.write_bytes(content)
    before = digest.checkpoint_digest(tmp_path)
    for place in (0, len(content) // 2, len(content) - 1):
        changed = bytearray(content)
        changed[max(0, place - 64 * 1024) : place + 64 * 1024] = b"\1" * len(
            changed[max(0, place - 65536) : place + 65536]
        )
        file.write_bytes(changed)
        assert digest.checkpoint_digest(tmp_path) != before
    file.write_bytes(content)
    assert digest.checkpoint_digest(tmp_path) == before


def test_dtype_and_attention_are_as_told(checkpoint: Callable[..., Path]) -> None:
    import torch

    made = HfModel(str(checkpoint("llava")), dtype="bfloat16", attn_implementation="eager")
    made.load()
    assert made._loaded.dtype == torch.bfloat16
    inputs = made._encoder.encode([request(picture(30, 30), "What?")]).inputs
    assert inputs["pixel_values"].dtype == torch.bfloat16
    assert inputs["input_ids"].dtype == torch.int64
    assert texts(made.respond([request(picture(30, 30), "What?")]))


def test_device_map_spreads_the_weights(checkpoint: Callable[..., Path], model: Callable[..., Any]) -> None:
    made = HfModel(str(checkpoint("llava")), device_map='{"": "cpu"}')
    made.load()
    requests = mixed_requests(made.traits.modalities)
    assert texts(made.respond(requests)) == texts(model("llava").respond(requests))


def test_adapter_changes_answers(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    pytest.importorskip("peft")
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    folder = checkpoint("llama")
    config = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM", init_lora_weights=False)
    torch.manual_seed(0)
    wrapped = get_peft_model(AutoModelForCausalLM.from_pretrained(folder), config)
    with torch.no_grad():
        for name, parameter in wrapped.named_parameters():
            if "lora_" in name:
                parameter.normal_(0.0, 0.3)
    adapter = tmp_path / "adapter"
    wrapped.save_pretrained(adapter)
    tuned, plain = HfModel(str(folder), adapter=str(adapter)), HfModel(str(folder))
    requests = mixed_requests(plain.traits.modalities)
    for made in (tuned, plain):
        made.load()
    assert texts(tuned.respond(requests)) == [texts(tuned.respond([one]))[0] for one in requests]
    assert texts(tuned.respond(requests)) != texts(plain.respond(requests))
    assert tuned.identity != plain.identity
    (adapter / "adapter_config.json").write_text("{}")
    broken = HfModel(str(folder), adapter=str(adapter))
    with pytest.raises(PlanError, match="Reading the adapter"):
        broken.load()


def test_quantization_is_passed_on(checkpoint: Callable[..., Path]) -> None:
    unnamed = HfModel(str(checkpoint("llama")), quantization={"load_in_4bits": True})
    with pytest.raises(PlanError, match=r"Reading the quantisation.*quant_method"):
        unnamed.load()
    made = loading._quantization({"quant_method": "bitsandbytes", "load_in_4bit": True})
    assert made.load_in_4bit is True


def test_auto_class_follows_the_saved_architecture() -> None:
    import transformers as hf

    config = hf.Gemma3Config()
    assert kind_of(config).auto_class == "AutoModelForImageTextToText"
    assert kind_of(config.text_config).auto_class == "AutoModelForCausalLM"
    assert kind_of(hf.WhisperConfig()).is_speech
    assert kind_of(hf.T5Config()).is_encoder_decoder
    assert kind_of(hf.Qwen2_5_VLConfig()).modalities["video"]
    assert kind_of(hf.VoxtralConfig()).modalities["audio"]
    with pytest.raises(PlanError, match="a model of type 'vit' as one that generates text"):
        kind_of(hf.ViTConfig())


def test_code_of_a_checkpoint_runs_only_when_let(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    folder = tmp_path / "remote"
    shutil.copytree(checkpoint("llama"), folder)
    file = folder / "config.json"
    told = {"model_type": "own_llama", "auto_map": {"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.OwnModel"}}
    file.write_text(json.dumps(json.loads(file.read_text()) | told))
    (folder / "own.py").write_text(
        "from transformers import LlamaConfig, LlamaForCausalLM\n"
        "class Own(LlamaConfig):\n    model_type = 'own_llama'\n"
        "class OwnModel(LlamaForCausalLM):\n    config_class = Own\n"
    )
    with pytest.raises(PlanError, match="trust_remote_code=true"):
        HfModel(str(folder))
    own, plain = HfModel(str(folder), trust_remote_code=True), HfModel(str(checkpoint("llama")))
    for made in (own, plain):
        made.load()
    assert own.traits.family == "own_llama"
    assert texts(own.respond([request("Hi")])) == texts(plain.respond([request("Hi")]))


def test_families_that_cannot_mix_are_kept_apart(model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made = model("llava")
    none, two = request("Hi"), request(picture(9, 9), picture(9, 9), "Hi")
    assert made.group_key(none) == made.group_key(two)
    monkeypatch.setattr(model_module, "_SAME_IMAGES", ("llava",))
    assert made.group_key(none) != made.group_key(two)


def test_transformers_stays_quiet(checkpoint: Callable[..., Path], capfd: pytest.CaptureFixture[str]) -> None:
    made = HfModel(str(checkpoint("llava")))
    made.load()
    made.respond([request("Hi", ask=Generate(4, 0.0, 0.5))])
    made.close()
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
