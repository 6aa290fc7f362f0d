"""The settings of a task that apply to this run and this model: options of the run, model-specific blocks, examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from polymeter.core.format import OpenContext
from polymeter.core.model import ModelTraits
from polymeter.core.names.parity import Parity
from polymeter.core.options import Options, identity
from polymeter.tasks.yaml.config import MetricItem, YamlFields

_BYPASS = "bypass"
_FALLBACK_BLOCKS = ("default", "dataset")


class YamlRunOptions(Options):
    """Options of a run for all of its YAML tasks, beyond those of every format
    (``RunOptions.dialect_options["task_yaml"]``). All of them can change a number.
    """

    repeats: int = identity(1, "How many times to ask every question; a value above 1 wins over the task's own.", ge=1)
    reasoning_tags: Any = identity(None, "Pairs of tags around reasoning, for tasks that name none; 'none': no pairs.")
    process_with_media: bool = identity(False, "Give process_results the row with its media.")
    predict_only: bool = identity(False, "Keep the answers and compute no metric.")
    fewshot_seed: int | None = identity(
        None, "Seed of the few-shot examples at parity with a system that draws them one after the other."
    )
    force_simple: bool = identity(False, "Use doc_to_text and doc_to_visual even if a task has doc_to_messages.")


def read_run_options(options: Mapping[str, Any]) -> YamlRunOptions:
    """The options of a run.

    Raises:
        PlanError: if an option is unknown, or a value has the wrong type.
    """
    return YamlRunOptions.make(options, where="dialect_options task_yaml")


def config_for_run(config: YamlFields, options: YamlRunOptions) -> YamlFields:
    """A task's configuration with the options of the run applied."""
    changes: dict[str, Any] = {}
    if options.repeats > 1:
        changes["repeats"] = options.repeats
    if config.reasoning_tags is None and options.reasoning_tags is not None:
        changes["reasoning_tags"] = options.reasoning_tags
    if options.process_with_media:
        changes["process_results_use_image"] = True
    if options.predict_only:
        changes |= {"metric_list": (MetricItem(metric=_BYPASS),), "process_results": None}
    return config.model_copy(update=changes) if changes else config


def config_at_parity(config: YamlFields, written: Mapping[str, Any], parity: Parity) -> YamlFields:
    """A task's configuration without the fields that the system to be matched does not read.

    Args:
        config: The configuration.
        written: Its values as they are written.
        parity: The system to be matched.
    """
    changes: dict[str, Any] = {}
    if parity.on("full-docs"):
        changes["full_docs"] = False
    if parity.on("cluster-error"):
        changes["cluster_key"] = None
    if parity.on("metadata-list") and isinstance(written.get("metadata"), list):
        changes["metadata"] = {}
    if parity.on("fewshot-rows") and config.fewshot_config:
        changes["fewshot_config"] = {key: value for key, value in config.fewshot_config.items() if key == "sampler"}
    return config.model_copy(update=changes) if changes else config


def traits_for_run(traits: ModelTraits, options: YamlRunOptions) -> ModelTraits:
    """The model's traits with the options of the run applied."""
    return replace(traits, kind="simple") if options.force_simple else traits


def keep_answers(doc: Any, results: Sequence[Any]) -> Mapping[str, Any]:
    """The scorer of a run that only predicts: it reads no target, so a broken one does no harm."""
    return {_BYPASS: results[0] if len(results) == 1 else list(results)}


def fewshot_count(config: YamlFields, context: OpenContext) -> int:
    """Return the number of examples before a question: the plan's number wins, unless the task sets 0."""
    if context.num_fewshot is None or config.num_fewshot == 0:
        return config.num_fewshot or 0
    return context.num_fewshot


def prompt_kwargs(block: Any, key: str) -> Any:
    """The settings that prompt hooks get from ``lmms_eval_specific_kwargs``; ``None``: they get the row alone.

    The model's own block is passed alone. Without one, ``default`` (or ``dataset``) is merged into the mapping, so
    that the other blocks stay visible, as published hooks expect; a mapping without any of these reaches the hooks
    unchanged.
    """
    if not isinstance(block, Mapping):
        return block
    if key and key in block:
        return block[key]
    for fallback in _FALLBACK_BLOCKS:
        if fallback in block:
            return {**block, **(block[fallback] or {})}
    return dict(block)


def target_kwargs(block: Any, key: str) -> Any:
    """The settings that ``doc_to_target`` gets from ``model_specific_target_kwargs``; ``None``: only the row."""
    if not isinstance(block, Mapping):
        return None
    return block.get(key, block.get("default"))


def generation_kwargs(block: Any, key: str) -> Mapping[str, Any]:
    """The generation settings that ``model_specific_generation_kwargs`` adds."""
    return target_kwargs(block, key) or {}
