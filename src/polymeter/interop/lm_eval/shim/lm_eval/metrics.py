"""``lm_eval.api.metrics``: what is not an aggregation there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from polymeter.interop.lm_eval.tasks.scoring.aggregations import aggregation_of, mean
from polymeter.interop.lm_eval.tasks.scoring.stated_errors import NOT_STATED, mean_stderr, stated_stderr

__all__ = [
    "aggregate_subtask_metrics",
    "is_non_str_iterable",
    "mean_stderr",
    "metric_max_over_ground_truths",
    "pop_stddev",
    "sample_stddev",
    "stderr_for_metric",
]


def metric_max_over_ground_truths(
    metric_fn: Callable[[Any, Any], Any], prediction: Any, ground_truths: Iterable[Any]
) -> Any:
    """The greatest value of a metric over several references."""
    return max(metric_fn(prediction, ground_truth) for ground_truth in ground_truths)


def pop_stddev(arr: Sequence[float]) -> float:
    """The standard deviation of a population."""
    middle = mean(arr)
    return math.sqrt(sum((value - middle) ** 2 for value in arr) / len(arr))


def sample_stddev(arr: Sequence[float]) -> float:
    """The standard deviation of a sample, with ``n - 1``."""
    middle = mean(arr)
    return math.sqrt(sum((value - middle) ** 2 for value in arr) / (len(arr) - 1))


def stderr_for_metric(metric: Callable[..., Any], bootstrap_iters: int) -> Callable[[Sequence[Any]], Any] | None:
    """From an aggregation, the function that gives its standard error; ``None`` if lm-eval states none for it."""
    name = aggregation_of(metric)
    if not name or bootstrap_iters <= 0 or _states_none(name):
        return None
    return partial(_stated, name, bootstrap_iters)


def aggregate_subtask_metrics(metrics: Sequence[float], sizes: Sequence[int], weight_by_size: bool = True) -> float:
    """The mean of tasks' numbers, weighted by their sizes or not."""
    weights = sizes if weight_by_size else [1] * len(metrics)
    return sum(value * weight for value, weight in zip(metrics, weights, strict=True)) / sum(weights)


def is_non_str_iterable(obj: Any) -> bool:
    """Return whether something can be iterated over and is not text."""
    return isinstance(obj, Iterable) and not isinstance(obj, str)


def _stated(name: str, iterations: int, values: Sequence[Any]) -> Any:
    return stated_stderr("", name, values, iterations)


def _states_none(name: str) -> bool:
    """Return whether no error is stated for an aggregation, whatever its values."""
    return name in ("weighted_perplexity", "bits_per_byte", "brier_score", "bypass", NOT_STATED)
