"""VLMEvalKit's judges: the default of each dataset, what judge names stand for, and datasets that are not scored.

The tables are those of the tool's ``run.py`` and ``judge_util.py``: names are compared by parts, with their case, and
the first row that fits decides.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.model import ModelSpec
from polymeter.core.task import TaskSpec
from polymeter.interop.ulmeval.config import NamedObject, UlmevalConfig, dataset_of
from polymeter.interop.ulmeval.model_names import (
    ListedJudge,
    ListedModel,
    judge_address,
    judge_of,
    named_judge,
)

RULES_ALONE = ("exact_matching", "extract_matching")
"""Names of judges that are none: the rules of the dataset read the answers."""
_CHOICES = ("MCQ", "Y/N", "MCQ_MMMU_Pro")
_CHOICES_BY_NAME = ("moviechat1k", "mme-reasoning")
_MINI, _FULL = "gpt-4o-mini", "gpt-4o"
_BY_RULES = ("VisualPuzzles", "PuzzleVQA", "VisuLogic")
_OLYMPIAD, _OLYMPIAD_ARGUMENT = "OlympiadBench", "olympiad_use_api_judger"
_BY_NAME: tuple[tuple[tuple[str, ...], str], ...] = (
    (("LLaVABench_KO",), "gpt-4o-0806"),
    (("MMVet", "LLaVABench", "MMBench_Video"), "gpt-4-turbo"),
    (("VGRPBench",), _FULL),
    (
        (
            "MathVista",
            "MathVerse",
            "MathVision",
            "LENS",
            "DynaMath",
            "VL-RewardBench",
            "LogicVista",
            "MOAT",
            "OCR_Reasoning",
            "VTCBench",
            "Asclepius",
            "MMSafetyBench",
            "MSSBench",
            "SIUO",
            "XSTest",
            "Flames",
        ),
        _MINI,
    ),
    ((_OLYMPIAD,), ""),
    (("MMLongBench_32K", "MMLongBench_128K", "MMLongBench_256K", "MMLongBench_512K"), "gpt-5.5-2026-04-24"),
    (
        (
            "MMLongBench",
            "MMDU",
            "DUDE",
            "SLIDEVQA",
            "MIA-Bench",
            "WildVision",
            "MMAlignBench",
            "MM-IFEval",
            "ChartMimic",
        ),
        _FULL,
    ),
    (("VDC",), "llama31-8b"),
    (("Video_MMLU_QA", "Video_MMLU_CAP"), "qwen-72b"),
    (("MMVMBench",), _FULL),
    (("CVQA_EN", "CVQA_LOC"), "gpt-4.1"),
    (("M4Bench",), _FULL),
    (("AyaVisionBench",), "gpt-4.1"),
    (("MathCanvas",), "gpt-4.1-2025-04-14"),
    (("MMReason", "CoreCognition"), "gpt-4.1"),
    (("WorldVQA",), "gpt-4o-1120"),
    (("Video-MME", "MaCBench", "SciDocBench"), _MINI),
)
_VERSIONS: Mapping[str, str] = {
    "gpt-4-turbo": "gpt-4-1106-preview",
    "gpt-4-0613": "gpt-4-0613",
    "gpt-4-0125": "gpt-4-0125-preview",
    "gpt-4-0409": "gpt-4-turbo-2024-04-09",
    "chatgpt-1106": "gpt-3.5-turbo-1106",
    "chatgpt-0125": "gpt-3.5-turbo-0125",
    "gpt-4o": "gpt-4o-2024-05-13",
    "gpt-4o-0806": "gpt-4o-2024-08-06",
    "gpt-4o-1120": "gpt-4o-2024-11-20",
    "gpt-4o-mini": "gpt-4o-mini-2024-07-18",
}
_SILICON_URL, _SILICON_KEY = "https://api.siliconflow.cn/v1", "SiliconFlow_API_KEY"
_AT_SILICON: Mapping[str, str] = {
    "qwen-7b": "Qwen/Qwen2.5-7B-Instruct",
    "qwen-72b": "Qwen/Qwen2.5-72B-Instruct",
    "deepseek": "deepseek-ai/DeepSeek-V3",
}
_LLAMA, _LLAMA_ID = "llama31-8b", "meta-llama/Llama-3.1-8B-Instruct"
_OPENAI_KEY = "OPENAI_API_KEY"
_LOCAL_LLM = "LOCAL_LLM"
_NO_ANSWERS = "its test split has no published answers"
_UNSCORED: Mapping[str, str] = {
    "AesBench_TEST": "its authors score it",
    "DocVQA_TEST": _NO_ANSWERS,
    "InfoVQA_TEST": _NO_ANSWERS,
    "Q-Bench1_TEST": _NO_ANSWERS,
    "A-Bench_TEST": _NO_ANSWERS,
    "MMMU_TEST": _NO_ANSWERS,
}
_UNSCORED_BY_PART: Mapping[str, str] = {
    "MLLMGuard_DS": "VLMEvalKit has no evaluation of it",
    "MMT-Bench_ALL": _NO_ANSWERS,
}


def default_judge(names: str, kind: str, arguments: Mapping[str, Any] | None = None) -> str:
    """The judge that the tool takes for a dataset if the command names none; empty: none.

    Args:
        names: The dataset's name; the tool adds the name of its class's dataset where a configuration renames it.
        kind: The class's TYPE.
        arguments: ``--judge-args``.
    """
    if kind in _CHOICES or _holds(names.lower(), _CHOICES_BY_NAME):
        is_open = _holds(names, ("WeMath", "MME-Reasoning"))
        return RULES_ALONE[0] if not is_open and _holds(names, _BY_RULES) else _MINI
    name = next((judge for parts, judge in _BY_NAME if _holds(names, parts)), "")
    is_olympiad = not name and _OLYMPIAD in names and bool((arguments or {}).get(_OLYMPIAD_ARGUMENT))
    return _MINI if is_olympiad else name


def listed_judge(config: UlmevalConfig, label: str, spec: TaskSpec) -> ListedJudge:
    """The judge of a dataset: the command's, else the tool's default.

    The tool scores by rules alone if its judge does not answer. Here that holds for a default judge without a key, and
    the run says so; a judge that the command names must be reachable.

    Raises:
        PlanError: if the command's judge cannot be asked.
    """
    named = named_judge(config)
    kind = str(spec.config.get("TYPE") or "")
    name = named or default_judge(_judged_names(config, label, spec), kind, config.judge_args)
    if not name:
        return ListedJudge()
    if name in RULES_ALONE:
        return ListedJudge(name=name)
    if not named and not _is_reachable(name, config):
        variable = _SILICON_KEY if name in _AT_SILICON else _OPENAI_KEY
        return ListedJudge(
            notes=(
                f"{label} has no judge: {name}, the default, needs {variable}, which is not set. Rules alone read the "
                "answers. --judge names a judge.",
            )
        )
    return _chosen(name, config)


def unscored(spec: TaskSpec) -> str:
    """The reason why the tool scores no answers of a dataset; empty: it does."""
    part = next((reason for part, reason in _UNSCORED_BY_PART.items() if part in spec.name), "")
    return _UNSCORED.get(spec.name, part)


def _chosen(name: str, config: UlmevalConfig) -> ListedJudge:
    backend, colon, _ = name.partition(":")
    if colon or backend == "mock":
        return ListedJudge(judge_of(name, config))
    version = os.environ.get(_LOCAL_LLM) or _VERSIONS.get(name, name)
    if name == _LLAMA:
        return ListedJudge(ListedModel(ModelSpec("hf", _LLAMA_ID)), name)
    if name in _AT_SILICON and not judge_address(config):
        if not os.environ.get(_SILICON_KEY):
            raise PlanError(f"The judge {name!r} needs a key.", where="--judge", hint=f"Set {_SILICON_KEY}.")
        arguments = {"base_url": _SILICON_URL, "api_key_env": _SILICON_KEY}
        return ListedJudge(ListedModel(ModelSpec("openai", _AT_SILICON[name], arguments)), name)
    return ListedJudge(judge_of(name, config, model=_AT_SILICON.get(name, version)), name)


def _is_reachable(name: str, config: UlmevalConfig) -> bool:
    if name == _LLAMA:
        return True
    own = _SILICON_KEY if name in _AT_SILICON else _OPENAI_KEY
    return bool(config.judge_args.get("key") or judge_address(config) or os.environ.get(own))


def _judged_names(config: UlmevalConfig, label: str, spec: TaskSpec) -> str:
    """The text in which the table's parts are looked for."""
    named = next((item for item in config.datasets if item.name == label), NamedObject(label))
    base = dataset_of(named)[0] if named.class_name else spec.name
    return label if base == label else f"{label} {base} {base.replace('-', '_')}"


def _holds(text: str, parts: Iterable[str]) -> bool:
    return any(part in text for part in parts)
