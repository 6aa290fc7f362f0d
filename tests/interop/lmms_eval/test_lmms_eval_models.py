"""lmms-eval's names of models, and what stands for them here."""

from __future__ import annotations

from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.interop.lmms_eval import model_names as routes
from polymeter.interop.lmms_eval.evaluation import LmmsEvalCommand, _prompts


@pytest.mark.parametrize(
    ("name", "told", "found"),
    [
        ("qwen2_5_vl", {"pretrained": "Qwen/X", "max_pixels": 9}, ("hf:Qwen/X", {"processor_args": {"max_pixels": 9}})),
        (
            "llava_hf",
            {"pretrained": "org/x", "device_map": "", "use_flash_attention_2": True, "peft": "org/lora"},
            ("hf:org/x", {"attn_implementation": "flash_attention_2", "adapter": "org/lora"}),
        ),
        ("async_openai", {"model_version": "gpt-4.1", "base_url": "u"}, ("openai:gpt-4.1", {"base_url": "u"})),
        ("openai_compatible", {"model": "m", "max_frames_num": 4}, ("openai:m", {"num_frames": 4})),
        ("claude", {"model_version": "c"}, ("anthropic:c", {})),
        ("gemini_api", {"model_version": "g"}, ("gemini:g", {})),
    ],
)
def test_models_of_transformers_and_of_endpoints_are_run_by_ours(name: str, told: dict[str, Any], found: Any) -> None:
    model, arguments, note = routes.model_and_arguments(name, told, None)
    assert (model, arguments) == found
    assert note.startswith(f"Polymeter's {model.partition(':')[0]!r} runs the model {name!r}.")


def test_with_a_path_the_name_is_that_of_a_wrapper() -> None:
    assert routes.model_and_arguments("qwen2_vl", {"pretrained": "x"}, "cpu", "mine.py") == (
        "lmms:qwen2_vl",
        {"device": "cpu", "pretrained": "x"},
        "",
    )


@pytest.mark.parametrize(
    ("name", "told", "found"),
    [
        (
            "vllm",
            {"model": "org/x", "tensor_parallel_size": 4, "gpu_memory_utilization": 0.8, "batch_size": 64},
            ("vllm:org/x", {"server_args": "--tensor-parallel-size 4 --gpu-memory-utilization 0.8"}),
        ),
        (
            "vllm_chat",
            {"model": "org/x", "trust_remote_code": True, "disable_log_stats": False, "max_frame_num": 16},
            ("vllm:org/x", {"server_args": "--trust-remote-code", "num_frames": 16}),
        ),
        (
            "sglang_runtime",
            {"model": "org/x", "gpu_memory_utilization": 0.7, "limit_mm_per_prompt": {"image": 4}, "threads": 8},
            (
                "sglang:org/x",
                {"server_args": "--mem-fraction-static 0.7 --limit-mm-per-prompt '{\"image\": 4}'"},
            ),
        ),
        (
            "vllm",
            {"model": "x", "server_args": "-q awq", "dtype": "half"},
            ("vllm:x", {"server_args": "-q awq --dtype half"}),
        ),
    ],
)
def test_what_an_engine_is_given_goes_into_the_command_line_of_its_server(
    name: str, told: dict[str, Any], found: tuple[str, dict[str, Any]]
) -> None:
    model, arguments, _ = routes.model_and_arguments(name, told, None)
    assert (model, arguments) == found


def test_a_server_takes_no_device() -> None:
    model, arguments, note = routes.model_and_arguments("vllm", {"model": "x"}, "cuda:0")
    assert (model, arguments) == ("vllm:x", {})
    assert "--device cuda:0 has no effect" in note


def test_an_unknown_model_is_refused_with_the_nearest() -> None:
    with pytest.raises(PlanError, match="There is no model 'qwen2_5_vll'") as caught:
        routes.model_and_arguments("qwen2_5_vll", {}, None)
    assert "'qwen2_5_vl'" in caught.value.hint
    assert "--model_path" in caught.value.hint


def test_tasks_prompts_are_chosen_by_lmms_evals_name() -> None:
    command = LmmsEvalCommand("qwen2_5_vl", "mme")
    assert _prompts(command, "hf:Qwen/X") == {"prompt_key": "qwen2_5_vl"}
    assert _prompts(command, "lmms:qwen2_5_vl") == {}
    assert _prompts(LmmsEvalCommand("hf", "mme"), "hf:Qwen/X") == {}
