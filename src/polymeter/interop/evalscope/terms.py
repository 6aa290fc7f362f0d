"""What the fields of a ``TaskConfig`` mean here: which become options of the run, which are refused, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.interop.evalscope.config import TaskConfig
from polymeter.interop.evalscope.model_names import Chosen, judge_prompts

STAGES = ("all", "infer", "review")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "model_task": ("text_generation", "image_generation"),
    "eval_type": ("checkpoint", "service", "custom"),
    "stage": STAGES,
    "judge_strategy": ("auto", "rule", "llm", "llm_recall"),
}
_HUBS = ("modelscope", "huggingface", "local")
_BACKENDS = ("Native", "OpenCompass", "VLMEvalKit", "RAGEval", "ThirdParty")
_COLLECTION = "data_collection"
_REFUSED: Mapping[str, tuple[Any, str]] = {
    "template_type": (None, "it has no effect in EvalScope either; chat_template takes a Jinja template"),
    "mem_cache": (False, "it has no effect in EvalScope either; use_cache names a folder to go on in"),
    "outputs": (None, "it has no effect in EvalScope either; work_dir says where results go"),
    "dry_run": (False, "'polymeter check --prompts' shows what a benchmark asks, without a model"),
}


def check(config: TaskConfig) -> None:
    """Refuse what cannot be done.

    Raises:
        PlanError: A field has a value that it cannot have, or asks for something that Polymeter does not do.
    """
    for name, known in _CHOICES.items():
        value = getattr(config, name)
        if value not in known:
            hint = did_you_mean(str(value), known) or f"Known: {', '.join(known)}."
            raise PlanError(f"There is no {name} {value!r}.", where=f"TaskConfig {name}", hint=hint)
    for name, (unset, reason) in _REFUSED.items():
        if getattr(config, name) not in (unset, None):
            raise PlanError(f"{name} cannot be used here: {reason}.", where=f"TaskConfig {name}")
    _check_backend(config)
    if config.model_id in (None, "", ".", "..") or any(sign in str(config.model_id) for sign in "/\\"):
        raise PlanError(
            f"The model_id {config.model_id!r} cannot name a folder.",
            where="TaskConfig model_id",
            hint="Choose a word.",
        )
    if not config.datasets:
        raise PlanError("No dataset is named.", where="TaskConfig datasets", hint="'polymeter tasks' lists them.")
    if _COLLECTION in config.datasets:
        raise PlanError(
            "A collection of datasets cannot be run as one dataset.",
            where="TaskConfig datasets",
            hint="Name the datasets themselves; each has its own report.",
        )
    if config.dataset_hub and config.dataset_hub.lower() not in _HUBS:
        hint = did_you_mean(config.dataset_hub.lower(), _HUBS) or f"Known: {', '.join(_HUBS)}."
        raise PlanError(f"There is no dataset_hub {config.dataset_hub!r}.", where="TaskConfig dataset_hub", hint=hint)
    if config.stage == "review" and not config.use_cache:
        raise PlanError(
            "The stage 'review' scores answers that are there already, and no folder with answers is named.",
            where="TaskConfig stage",
            hint="Name it with use_cache: the folder that the stage 'infer' or 'all' has written.",
        )


def run_options(config: TaskConfig, chosen: Chosen) -> dict[str, Any]:
    """Options of the run, except where it goes; those that are not said are absent."""
    told: dict[str, Any] = {
        "limit": config.limit,
        "seed": config.seed,
        "generation": config.generation_config or None,
        "batch_size": config.eval_batch_size,
        "concurrency": config.eval_batch_size,
        "timeout_s": config.timeout,
        "dialect_options": {"adapter": adapter_options(config, chosen)},
    }
    return {name: value for name, value in told.items() if value is not None}


def adapter_options(config: TaskConfig, chosen: Chosen) -> dict[str, Any]:
    """Options of the run for its data adapters; those that are not said are absent."""
    told = {
        "dataset_args": {name: config.dataset_args[name] for name in config.datasets if name in config.dataset_args},
        "judge_strategy": config.judge_strategy,
        "judge_model_args": judge_prompts(config),
        "eval_type": chosen.eval_type,
        "dataset_hub": (config.dataset_hub or "").lower(),
        "dataset_dir": config.dataset_dir or "",
        "model_id": config.model_id or "",
        "analysis_report": config.analysis_report,
        "predict_only": config.stage == "infer",
    }
    return {name: value for name, value in told.items() if value}


def notes(config: TaskConfig) -> Iterator[str]:
    """What to say of fields that have no effect, or another one than there."""
    for name in config.dataset_args:
        if name not in config.datasets:
            hint = did_you_mean(name, config.datasets)
            yield f"dataset_args of {name!r} have no effect: it is none of the datasets. {hint}".strip()
    if config.stream:
        yield "stream has no effect: answers are the same, and nothing here is measured token by token."
    if config.judge_worker_num != 1:
        yield "judge_worker_num has no effect: how many judge calls run at a time is found out, up to eval_batch_size."


def _check_backend(config: TaskConfig) -> None:
    if config.eval_backend not in _BACKENDS:
        hint = did_you_mean(str(config.eval_backend), _BACKENDS) or f"Known: {', '.join(_BACKENDS)}."
        raise PlanError(
            f"There is no eval_backend {config.eval_backend!r}.", where="TaskConfig eval_backend", hint=hint
        )
    if config.eval_backend != "Native" or config.eval_config:
        raise PlanError(
            "Other evaluation tools are not called from here: eval_backend must be Native, without eval_config.",
            where="TaskConfig eval_backend",
            hint="Run that tool itself. Polymeter has benchmarks of lmms-eval and EvalScope as its own tasks.",
        )
