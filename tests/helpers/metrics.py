"""What the value of one sample is, by metric and output type: the registered metrics' own words."""

from __future__ import annotations

from polymeter.core.names.registries import METRICS

VALUES: dict[tuple[str, str], str] = {
    (metric.name, output_type): phrase
    for metric in map(METRICS.get, METRICS)
    for output_type, phrase in metric.values.items()
}
