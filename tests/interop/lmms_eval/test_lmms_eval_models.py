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


def test_a_server_is_started_apart() -> None:
    with pytest.raises(PlanError, match="Polymeter does not start vllm itself") as caught:
        routes.route("vllm", {})
    assert "vllm serve MODEL" in caught.value.hint


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
