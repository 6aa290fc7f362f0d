"""lm-eval's model names: the backend, its arguments and options, and what is refused."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.names.registries import MODELS
from polymeter.interop.lm_eval.model_names import LmEvalRoute, route

pytestmark = pytest.mark.needs_system("lm_eval")


@pytest.mark.parametrize(
    ("name", "arguments", "spec", "ours"),
    [
        ("hf", {"pretrained": "a/b"}, "hf:a/b", {}),
        ("hf-auto", {"pretrained": "a/b", "revision": "main", "dtype": "float32"}, "hf:a/b", {"dtype": "float32"}),
        ("huggingface", {"pretrained": "a/b", "revision": "v2", "peft": "c/d"}, "hf:a/b", {
            "revision": "v2", "adapter": "c/d"}),
        ("hf-multimodal", {"pretrained": "a/b", "max_images": 2, "max_pixels": 9}, "hf:a/b", {"max_pixels": 9}),
        ("hf", {"pretrained": "a/b", "parallelize": True}, "hf:a/b", {"device_map": "auto"}),
        ("hf", {"pretrained": "a/b", "load_in_4bit": True}, "hf:a/b", {
            "quantization": {"quant_method": "bitsandbytes", "load_in_4bit": True}}),
        ("hf", {"pretrained": "a/b", "enable_thinking": False, "chat_template_args": {"x": 1}}, "hf:a/b", {
            "chat_template_args": {"enable_thinking": False, "x": 1}}),
        ("hf", {"pretrained": "a/b", "add_bos_token": False}, "hf:a/b", {"add_bos_token": False}),
        ("hf", {"pretrained": "a/b", "add_bos_token": None, "tokenizer": None, "subfolder": ""}, "hf:a/b", {}),
        ("hf", {"pretrained": "a/b", "tokenizer": "c/d", "prefix_token_id": 0}, "hf:a/b", {
            "tokenizer": "c/d", "prefix_token_id": 0}),
        ("hf", {"pretrained": "a/b", "softmax_dtype": "float32"}, "hf:a/b", {"softmax_dtype": "float32"}),
        ("local-completions", {"model": "m", "base_url": "http://h:8/v1/completions"}, "openai:m", {
            "api": "completions", "base_url": "http://h:8/v1"}),
        ("local-chat-completions", {"model": "m", "base_url": "http://h:8/v1/chat/completions/"}, "openai:m", {
            "api": "chat", "base_url": "http://h:8/v1"}),
        ("openai-completions", {"model": "davinci-002"}, "openai:davinci-002", {"api": "completions"}),
        ("openai-chat-completions", {"model": "gpt-4.1"}, "openai:gpt-4.1", {"api": "chat"}),
        ("anthropic-chat", {"model": "claude-x"}, "anthropic:claude-x", {}),
        ("gguf", {"base_url": "http://h:8"}, "openai:model", {"api": "completions", "base_url": "http://h:8/v1"}),
        ("ggml", {"pretrained": "w.gguf"}, "llamacpp:w.gguf", {}),
        ("dummy", {}, "mock", {"answer": "lol"}),
        ("mock", {"answer": "x"}, "mock", {"answer": "x"}),
        ("hf:a/b", {"dtype": "float32"}, "hf:a/b", {"dtype": "float32"}),
    ],
)  # fmt: skip
def test_a_name_is_one_of_our_backends(name: str, arguments: dict[str, Any], spec: str, ours: dict[str, Any]) -> None:
    routed = route(name, arguments)
    is_cut = (name.startswith("hf") and ":" not in name) or name == "huggingface"
    assert routed.arguments.pop("cut_prompts", False) is is_cut, "there long prompts are cut on the left"
    assert (routed.spec, routed.arguments) == (spec, ours)


def test_a_part_of_a_folder_is_the_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "step").mkdir()
    assert route("hf", {"pretrained": str(tmp_path), "subfolder": "step"}).spec == f"hf:{tmp_path / 'step'}"
    with pytest.raises(PlanError, match=r"there is no folder .*/stop"):
        route("hf", {"pretrained": str(tmp_path), "subfolder": "stop"})
    of_hub = route("hf", {"pretrained": "a/b", "subfolder": "step"})
    assert (of_hub.spec, of_hub.arguments["subfolder"]) == ("hf:a/b", "step")


def test_settings_of_the_run_are_options_of_it() -> None:
    told = {"num_concurrent": 8, "max_retries": 2, "timeout": 60, "batch_size": 4}
    routed = route("local-completions", {"model": "m", "base_url": "http://h/v1", **told})
    assert routed.options == {"concurrency": 8, "max_retries": 2, "timeout_s": 60, "batch_size": 4}
    assert set(routed.arguments) == {"api", "base_url"}, "none of them is part of what the model is"


def test_a_token_goes_into_a_header() -> None:
    routed = route("local-completions", {"model": "m", "auth_token": "secret", "header": {"X": "y"}})
    assert routed.arguments["headers"] in ({"X": "y"}, {"X": "y", "Authorization": "Bearer secret"})
    routed = route("local-completions", {"model": "m", "header": {"X": "y"}, "auth_token": "secret"})
    assert routed.arguments["headers"] == {"X": "y", "Authorization": "Bearer secret"}


def test_a_started_server_gets_its_arguments() -> None:
    if "vllm" not in MODELS:
        pytest.skip("no backend starts servers")
    routed = route(
        "vllm",
        {
            "pretrained": "a/b",
            "dtype": "float16",
            "tensor_parallel_size": 2,
            "data_parallel_size": 3,
            "gpu_memory_utilization": 0.8,
            "max_model_len": 4096,
            "enforce_eager": True,
            "rope_scaling": {"factor": 2},
            "enable_thinking": False,
        },
    )
    assert routed.spec == "vllm:a/b"
    assert shlex.split(routed.arguments.pop("server_args")) == [
        "--dtype", "float16", "--tensor-parallel-size", "2", "--gpu-memory-utilization", "0.8",
        "--max-model-len", "4096", "--enforce-eager", "--rope-scaling", '{"factor": 2}',
    ]  # fmt: skip
    assert routed.options == {"replicas": 3}
    template = {"chat_template_kwargs": {"enable_thinking": False}}
    assert routed.arguments == {"api": "completions", "extra_body": template}
    assert route("vllm", {"pretrained": "a"}, is_chat=True).arguments == {"api": "chat"}
    assert route("sglang", {"pretrained": "a", "tp_size": 2}).arguments["server_args"] == "--tp-size 2"


@pytest.mark.parametrize("name", ["local-completions", "openai-chat-completions", "vllm", "sglang"])
def test_a_length_of_answers_is_the_default_of_tasks(name: str) -> None:
    routed = route(name, {"model": "m", "max_gen_toks": 512})
    assert routed.answer_length == 512
    assert "max_gen_toks" not in routed.arguments
    assert route(name, {"model": "m"}).answer_length is None


def test_the_mark_behind_reasoning_is_kept() -> None:
    assert route("hf", {"pretrained": "a", "think_end_token": "</think>"}).think_end == "</think>"
    with pytest.raises(PlanError, match="number of a token"):
        route("hf", {"pretrained": "a", "think_end_token": 200008})


@pytest.mark.parametrize(
    ("name", "arguments", "what", "hint"),
    [
        ("hf", {}, "needs a name", "pretrained=NAME"),
        ("local-completions", {"base_url": "http://h/v1"}, "endpoint's name", "model=NAME"),
        ("gguf", {}, "needs base_url", "base_url="),
        ("hf", {"pretrained": "a", "dtipe": "x"}, "no argument 'dtipe'", "'dtype'"),
        ("hf", {"pretrained": "a", "gguf_file": "x.gguf"}, "llama.cpp", "llamacpp:FILE.gguf"),
        ("hf", {"pretrained": "a", "backend": "rwkv"}, "checkpoint states its own type", "Leave it out"),
        ("local-completions", {"model": "m", "max_gen_toks": "many"}, "not a number of tokens", ""),
        ("local-completions", {"model": "m", "verify_certificate": False}, "verified", "SSL_CERT_FILE"),
        ("nemo_lm", {}, "does not run", "local-completions"),
        ("anthropic-completions", {}, "does not run", "anthropic-chat"),
        ("steered", {}, "does not run", "hf_steered.py"),
        ("hugginface", {}, "There is no model", "'huggingface'"),
    ],
)
def test_what_cannot_be_honoured_is_refused(name: str, arguments: dict[str, Any], what: str, hint: str) -> None:
    with pytest.raises(PlanError) as refused:
        route(name, arguments)
    assert what in refused.value.what
    assert hint in refused.value.hint


@pytest.mark.parametrize(
    ("name", "arguments", "n_notes"),
    [
        ("hf", {"pretrained": "a", "logits_cache": True, "truncation": False, "backend": "causal"}, 2),
        ("local-completions", {"model": "m", "tokenizer": "t", "tokenized_requests": True, "seed": 1234}, 1),
        ("hf", {"pretrained": "a", "low_cpu_mem_usage": True}, 0),
        ("local-completions", {"model": "m", "seed": 7, "max_length": 4096}, 2),
    ],
)
def test_what_has_no_effect_is_noted(name: str, arguments: dict[str, Any], n_notes: int) -> None:
    routed: LmEvalRoute = route(name, arguments)
    assert len(routed.notes) == n_notes, routed.notes
    assert all("has no effect" in note for note in routed.notes)
