"""What a run may say to all of its YAML tasks, beyond the options that every dialect knows
(``RunOptions.dialect_options["task_yaml"]``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from polymeter.core.model import ModelTraits
from polymeter.core.options import Options, identity
from polymeter.formats.task_yaml.config import MetricItem, TaskConfig

_BYPASS = "bypass"


class YamlRunOptions(Options):
    """Settings of one run for its YAML tasks. All of them can change a number."""

    repeats: int = identity(1, "Ask every question so many times; above 1 it wins over the task's own.", ge=1)
    reasoning_tags: Any = identity(None, "Pairs of tags around reasoning, where the task names none; 'none': no pairs.")
    process_with_media: bool = identity(False, "Give process_results the row with its media.")
    predict_only: bool = identity(False, "Keep the answers and compute no metric.")
    force_simple: bool = identity(False, "Use doc_to_text and doc_to_visual where a task has doc_to_messages as well.")


def read_run_options(options: Mapping[str, Any]) -> YamlRunOptions:
    """The settings.

    Raises:
        PlanError: An unknown setting, or a value of the wrong type.
    """
    return YamlRunOptions.make(options, where="dialect_options task_yaml")


def configured(config: TaskConfig, options: YamlRunOptions) -> TaskConfig:
    """A task's configuration as this run wants it."""
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


def traits_for(traits: ModelTraits, options: YamlRunOptions) -> ModelTraits:
    """What a task is told of the model."""
    return replace(traits, kind="simple") if options.force_simple else traits


def keep_answers(doc: Any, results: Sequence[Any]) -> Mapping[str, Any]:
    """The scorer of a run that only predicts: it looks at no target, so none can be wrong."""
    return {_BYPASS: results[0] if len(results) == 1 else list(results)}
