"""Which judge VLMEvalKit takes for which dataset, and what its name stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.model import ModelSpec
from polymeter.core.task import TaskSpec
from polymeter.interop.ulmeval.config import NamedObject, UlmevalConfig
from polymeter.interop.ulmeval.model_names import JUDGE_KEY
from polymeter.interop.ulmeval.vlmevalkit.judges import default_judge, listed_judge, unscored

PLAIN = UlmevalConfig()
KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "SiliconFlow_API_KEY", "LOCAL_LLM")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


def spec(name: str, kind: str = "VQA") -> TaskSpec:
    return TaskSpec(name, "dataset_class", Path("x.py"), {"TYPE": kind}, "hash")


@pytest.mark.parametrize(
    ("name", "kind", "judge"),
    [
        ("MMBench_DEV_EN", "MCQ", "gpt-4o-mini"),
        ("POPE", "Y/N", "gpt-4o-mini"),
        ("VisuLogic", "MCQ", "exact_matching"),
        ("PuzzleVQA", "MCQ", "exact_matching"),
        ("moviechat1k_global_14f", "Video-VQA", "gpt-4o-mini"),
        ("MME-Reasoning", "VQA", "gpt-4o-mini"),
        ("MMVet_Hard", "VQA", "gpt-4-turbo"),
        ("LLaVABench", "VQA", "gpt-4-turbo"),
        ("LLaVABench_KO", "VQA", "gpt-4o-0806"),
        ("MMBench_Video_8frame_nopack", "Video-VQA", "gpt-4-turbo"),
        ("MMBench-Video", "Video-VQA", ""),
        ("MathVista_MINI", "VQA", "gpt-4o-mini"),
        ("MMLongBench_128K", "VQA", "gpt-5.5-2026-04-24"),
        ("MMLongBench_DOC", "VQA", "gpt-4o"),
        ("VDC_8f", "Video-VQA", "llama31-8b"),
        ("Video_MMLU_QA_16f", "Video-VQA", "qwen-72b"),
        ("CVQA_EN", "VQA", "gpt-4.1"),
        ("Video-MME_8f", "Video-MCQ", "gpt-4o-mini"),
        ("OlympiadBench", "VQA_ex_prompt", ""),
        ("OCRBench", "VQA", ""),
        ("mathvista", "VQA", ""),
    ],
)
def test_the_judge_of_a_dataset(name: str, kind: str, judge: str) -> None:
    assert default_judge(name, kind) == judge


def test_an_argument_may_ask_for_a_judge() -> None:
    assert default_judge("OlympiadBench_EN", "VQA", {"olympiad_use_api_judger": True}) == "gpt-4o-mini"


def test_a_default_judge_without_a_key_leaves_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = listed_judge(PLAIN, "MMStar", spec("MMStar", "MCQ"))
    assert (judge.model, judge.name) == (None, "")
    assert "gpt-4o-mini, the default, needs OPENAI_API_KEY" in judge.notes[0]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    judge = listed_judge(PLAIN, "MMStar", spec("MMStar", "MCQ"))
    assert judge.model is not None
    assert judge.model.spec == ModelSpec("openai", "gpt-4o-mini-2024-07-18")
    assert judge.name == "gpt-4o-mini"


def test_a_judge_that_is_named_must_be_reachable() -> None:
    for name, variable in (("gpt-4o", "OPENAI_API_KEY"), ("deepseek", "SiliconFlow_API_KEY")):
        with pytest.raises(PlanError) as caught:
            listed_judge(UlmevalConfig(judge=name), "MMStar", spec("MMStar", "MCQ"))
        assert variable in caught.value.hint


def test_rules_alone_are_no_model() -> None:
    judge = listed_judge(UlmevalConfig(judge="exact_matching"), "MMStar", spec("MMStar", "MCQ"))
    assert (judge.model, judge.name, judge.notes) == (None, "exact_matching", ())


def test_names_of_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    def model(judge: str, **args: str) -> ModelSpec:
        chosen = listed_judge(UlmevalConfig(judge=judge, judge_args=args), "X", spec("X")).model
        assert chosen is not None
        return chosen.spec

    here = {"api_base": "http://here/v1/chat/completions"}
    assert model("gpt-4-turbo", **here) == ModelSpec("openai", "gpt-4-1106-preview", {"base_url": "http://here/v1"})
    assert model("my-own", **here).name == "my-own"
    assert model("x", key="k").args == {"api_key_env": JUDGE_KEY}
    assert model("mock:echo") == ModelSpec("mock", "echo")
    assert model("openai:x", **here) == ModelSpec("openai", "x", {"base_url": "http://here/v1"})
    assert model("llama31-8b").backend == "hf"
    monkeypatch.setenv("SiliconFlow_API_KEY", "k")
    assert model("qwen-72b") == ModelSpec(
        "openai",
        "Qwen/Qwen2.5-72B-Instruct",
        {"base_url": "https://api.siliconflow.cn/v1", "api_key_env": "SiliconFlow_API_KEY"},
    )
    monkeypatch.setenv("LOCAL_LLM", "local")
    assert model("gpt-4o", **here).name == "local"


def test_a_renamed_dataset_is_found_by_its_own_name_too() -> None:
    named = NamedObject("mine", "VideoMME", {"dataset": "Video-MME"})
    judge = listed_judge(UlmevalConfig(datasets=(named,)), "mine", spec("Video-MME", "Video-MCQ"))
    assert "gpt-4o-mini" in judge.notes[0]


def test_datasets_that_are_not_scored() -> None:
    assert "no published answers" in unscored(spec("DocVQA_TEST"))
    assert unscored(spec("MMT-Bench_ALL_MI"))
    assert not unscored(spec("DocVQA_VAL"))
