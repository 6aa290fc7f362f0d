"""Metrics that come with Polymeter, one file per family, looked up by name in ``polymeter.core.names.registries``.

A metric computes the value of one sample. An aggregation turns many values into one number. ``polymeter.stats``
estimates the uncertainty of that number.
"""

from polymeter.metrics.defaults import (
    DEFAULT_METRICS,
    aggregation_keywords,
    aggregation_of,
    check_kwargs,
    check_pair,
    default_metrics,
    output_family,
)

__all__ = [
    "DEFAULT_METRICS",
    "aggregation_keywords",
    "aggregation_of",
    "check_kwargs",
    "check_pair",
    "default_metrics",
    "output_family",
]
