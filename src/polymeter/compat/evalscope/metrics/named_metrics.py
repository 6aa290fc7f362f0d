"""Metrics that ``metric_list`` names."""

from polymeter.dialects.adapter.named_metrics import Metric, MetricRegistry, metric_registry

__all__ = ["Metric", "MetricRegistry", "metric_registry"]
