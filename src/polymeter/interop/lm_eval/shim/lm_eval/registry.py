"""``lm_eval.api.registry``: what tasks and models register goes into Polymeter's registries, and can be looked up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polymeter.interop.lm_eval.models.base import LM_MODELS, get_model, register_model
from polymeter.interop.lm_eval.tasks.scoring.aggregations import FUNCTIONS
from polymeter.interop.lm_eval.tasks.scoring.filters import FILTERS, find_filter
from polymeter.interop.lm_eval.tasks.scoring.metrics import DEFAULTS, KNOWN
from polymeter.metrics import as_written
from polymeter.tasks.yaml.registration import (
    AGGREGATION_DEFINITIONS,
    METRIC_DEFINITIONS,
    register_aggregation,
    register_filter,
    register_metric,
)

__all__ = [
    "AGGREGATION_REGISTRY",
    "DEFAULT_METRIC_REGISTRY",
    "FILTER_REGISTRY",
    "HIGHER_IS_BETTER_REGISTRY",
    "METRIC_REGISTRY",
    "MODEL_REGISTRY",
    "aggregation_registry",
    "filter_registry",
    "get_aggregation",
    "get_filter",
    "get_metric",
    "get_metric_aggregation",
    "get_model",
    "higher_is_better_registry",
    "is_higher_better",
    "metric_registry",
    "model_registry",
    "register_aggregation",
    "register_filter",
    "register_metric",
    "register_model",
]


def get_filter(filter_name: Any) -> Any:
    """Return the filter of a name; a class or function is returned unchanged.

    Raises:
        KeyError: if no filter has that name.
    """
    if callable(filter_name):
        return filter_name
    found = find_filter(str(filter_name))
    if found is None:
        raise KeyError(f"There is no filter {filter_name!r}. Known: {', '.join(sorted(FILTERS))}.")
    return found


def get_metric(name: str, hf_evaluate_metric: bool = False) -> Callable[..., Any] | None:
    """The function that scores one sample; ``None`` for a name that has none.

    lm-eval's own metrics, which pass their argument on, do so here as well.
    """
    own = METRIC_DEFINITIONS.find(name, ())
    if own is not None:
        return own.score
    if name == "exact_match":
        return exact_match_hf_evaluate
    return _passed_on if name in KNOWN else None


def get_aggregation(name: str) -> Callable[..., Any] | None:
    """The function that aggregates all values into one number; ``None`` for a name that has none."""
    own = AGGREGATION_DEFINITIONS.find(name, ())
    return own.aggregate if own is not None else FUNCTIONS.get(name)


def get_metric_aggregation(name: str) -> Callable[..., Any] | None:
    """A metric's default aggregation; ``None`` for a name that has none."""
    own = METRIC_DEFINITIONS.find(name, ())
    default = own.aggregation if own is not None else KNOWN[name].aggregation if name in KNOWN else ""
    return get_aggregation(default)


def is_higher_better(metric_name: str) -> bool | None:
    """A metric's direction; ``None`` for a name that has none."""
    own = METRIC_DEFINITIONS.find(metric_name, ())
    if own is not None:
        return own.higher_is_better
    return KNOWN[metric_name].higher_is_better if metric_name in KNOWN else None


def exact_match_hf_evaluate(predictions: Any, references: Any, **options: Any) -> dict[str, float]:
    """The share of predictions that equal their reference, under the name of the metric."""
    return {"exact_match": as_written.exact_match(references=references, predictions=predictions, **options)}


def _passed_on(items: Any) -> Any:
    return items


AGGREGATION_REGISTRY = aggregation_registry = dict(FUNCTIONS)
DEFAULT_METRIC_REGISTRY = {kind: list(names) for kind, names in DEFAULTS.items()}
FILTER_REGISTRY = filter_registry = dict(FILTERS)
HIGHER_IS_BETTER_REGISTRY = higher_is_better_registry = {name: known.higher_is_better for name, known in KNOWN.items()}
METRIC_REGISTRY = metric_registry = {name: get_metric(name) for name in KNOWN}
MODEL_REGISTRY = model_registry = LM_MODELS
