"""What a run may say to all of its data adapters, beyond the options that every dialect knows
(``RunOptions.dialect_options["adapter"]``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.options import Options, identity, runtime

STRATEGIES = ("auto", "rule", "llm", "llm_recall")
EVAL_TYPES = ("checkpoint", "service", "custom")


class AdapterRunOptions(Options):
    """Settings of one run for its data adapters."""

    dataset_args: dict[str, dict[str, Any]] = identity(
        dict, "By benchmark: what its registration should say otherwise, and further arguments of its adapter."
    )
    judge_strategy: str = identity("auto", "Who scores: auto (as the benchmark says), rule, llm, or llm_recall.")
    judge_model_args: dict[str, Any] = identity(dict, "Arguments of the judge: its prompts and how verdicts are read.")
    eval_type: str | None = identity(None, "What adapters are told of the model: checkpoint, service or custom.")
    dataset_hub: str = identity("", "Whose ids dataset ids are: modelscope or huggingface.")
    dataset_dir: str = runtime("", "Where a hub's files are kept.")
    analysis_report: bool = runtime(False, "Whether the judge writes an analysis into each report.")
    predict_only: bool = identity(False, "Keep the answers and score nothing.")
    model_id: str = runtime("", "The model's name in reports; default: the last part of its own.")


def read_run_options(options: Mapping[str, Any]) -> AdapterRunOptions:
    """The settings.

    Raises:
        PlanError: An unknown setting, or a value that it cannot have; the nearest ones are named.
    """
    told = AdapterRunOptions.make(options, where="dialect_options adapter")
    _check("judge_strategy", told.judge_strategy, STRATEGIES)
    if told.eval_type is not None:
        _check("eval_type", told.eval_type, EVAL_TYPES)
    for name, settings in told.dataset_args.items():
        _check_settings(f"dataset_args of {name!r}", settings)
    return told


def _check_settings(where: str, settings: Mapping[str, Any]) -> None:
    """Refuse values that would fail inside an author's code, where the error would blame him."""
    for name in ("subset_list", "metric_list"):
        value = settings.get(name)
        if value is not None and not isinstance(value, (list, tuple)):
            raise PlanError(f"{name!r} must be a list of names, not {value!r}.", where=where)
    number = settings.get("few_shot_num")
    if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 0):
        raise PlanError(f"'few_shot_num' must be a whole number from 0 on, not {number!r}.", where=where)


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        hint = did_you_mean(value, known) or f"Known: {', '.join(known)}."
        raise PlanError(f"There is no {name} {value!r}.", where="dialect_options adapter", hint=hint)
