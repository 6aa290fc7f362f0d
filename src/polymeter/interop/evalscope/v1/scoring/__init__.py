"""Scores of EvalScope 1.x. To import it registers the metrics, filters and aggregations that have a name there."""

from polymeter.interop.evalscope.v1.scoring import (
    aggregators,
    bayes,
    decisions,
    error_rates,
    filters,
    model_metrics,
    text_metrics,
)

__all__ = ["aggregators", "bayes", "decisions", "error_rates", "filters", "model_metrics", "text_metrics"]
