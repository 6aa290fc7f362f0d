"""Metrics by name, as benchmarks list them in ``metric_list``.

A metric here is an aggregation: the scores of a subset's samples in, one number out. The nine image scorers are the
exception: their ``object`` makes a scorer, which an adapter calls in ``match``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.interop.evalscope.tasks.scores import mean, pass_at_k, weighted_mean
from polymeter.metrics.image_text import SCORERS, image_scorer

_MOST_TRIES = 16


@dataclass
class Metric:
    """A name and what computes it.

    Attributes:
        name: Under which benchmarks list it.
        object: From a list of scores to a number; for an image scorer, a maker of one.
    """

    name: str = "default_metric"
    object: Callable[..., Any] = mean


class MetricRegistry:
    """Metrics by name. Adapters add theirs when they are made; the last one of a name counts."""

    def __init__(self) -> None:
        self.metrics: dict[str, Metric] = {}

    def register(self, metric: Metric) -> None:
        """Add a metric under its name."""
        self.metrics[metric.name] = metric

    def get(self, name: str) -> Metric:
        """The metric of that name.

        Raises:
            PlanError: There is none; the nearest ones are named.
        """
        metric = self.metrics.get(name)
        if metric is None:
            hint = did_you_mean(name, self.metrics) or f"Known: {', '.join(self.metrics)}."
            raise PlanError(f"There is no metric {name!r}.", where="metric_list", hint=hint)
        return metric

    def list_metrics(self) -> list[str]:
        """All names, in the order in which they were added."""
        return list(self.metrics)


def _built_in() -> MetricRegistry:
    registry = MetricRegistry()
    for name in ("AverageAccuracy", "AverageBLEU", "AverageRouge", "AveragePass@1"):
        registry.register(Metric(name, mean))
    for name in ("WeightedAverageAccuracy", "WeightedAverageBLEU"):
        registry.register(Metric(name, weighted_mean))
    for k in range(1, _MOST_TRIES + 1):
        registry.register(Metric(f"Pass@{k}", partial(pass_at_k, k=k)))
    for name in SCORERS:
        registry.register(Metric(name, partial(image_scorer, name)))
    return registry


metric_registry = _built_in()
