"""Metrics that ``metric_list`` names."""

from polymeter.interop.evalscope.tasks.metrics import Metric, MetricRegistry, metric_registry

__all__ = ["Metric", "MetricRegistry", "metric_registry"]
