"""Metrics that come with Polymeter, one file per family, found by name through ``polymeter.core.registries``.

A metric makes the value of one sample; an aggregation makes one number of many values; ``polymeter.stats`` says how
sure it is.
"""

from polymeter.metrics.defaults import DEFAULT_METRICS, VALUES, check_kwargs, check_pair, default_metrics, output_family

__all__ = ["DEFAULT_METRICS", "VALUES", "check_kwargs", "check_pair", "default_metrics", "output_family"]
