"""``lmms_eval.api.registry``: what tasks and models register goes into Polymeter's registries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polymeter.core.names.registries import AGGREGATIONS, METRICS
from polymeter.interop.lmms_eval.models.base import LMMS_MODELS, register_model
from polymeter.interop.lmms_eval.shim.lmms_eval.metrics import median
from polymeter.metrics.as_written import AS_WRITTEN
from polymeter.tasks.yaml.registration import register_aggregation, register_filter, register_metric

__all__ = [
    "DEFAULT_METRIC_REGISTRY",
    "MODEL_REGISTRY",
    "get_aggregation",
    "get_metric",
    "get_metric_aggregation",
    "get_model",
    "is_higher_better",
    "register_aggregation",
    "register_filter",
    "register_metric",
    "register_model",
]

DEFAULT_METRIC_REGISTRY = {
    "loglikelihood": ["perplexity", "acc"],
    "multiple_choice": ["acc", "acc_norm"],
    "generate_until": ["exact_match"],
    "generate_until_multi_round": ["exact_match"],
    "generate_until_agentic": ["exact_match"],
}


MODEL_REGISTRY = LMMS_MODELS


def get_model(model_name: str) -> Any:
    """The model wrapper that is registered under a name."""
    return LMMS_MODELS.get(model_name)


def get_metric(name: str, hf_evaluate_metric: bool = False) -> Callable[..., Any] | None:
    """The function that scores one sample; ``None`` for a metric whose values the task computes itself. One that
    lmms-eval has too compares texts as they are written, as there.
    """
    is_ours = METRICS.is_builtin(name) and METRICS.shadowed(name) is None
    return AS_WRITTEN[name] if is_ours and name in AS_WRITTEN else METRICS.get(name).score


def get_aggregation(name: str) -> Callable[..., Any]:
    """The function that aggregates all values into one number."""
    is_ours = AGGREGATIONS.is_builtin(name) and AGGREGATIONS.shadowed(name) is None
    return median if is_ours and name == "median" else AGGREGATIONS.get(name).aggregate


def get_metric_aggregation(name: str) -> Callable[..., Any]:
    """A metric's default aggregation."""
    return get_aggregation(METRICS.get(name).aggregation)


def is_higher_better(metric_name: str) -> bool:
    """A metric's direction."""
    return METRICS.get(metric_name).higher_is_better
