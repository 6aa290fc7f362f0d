"""Write ``docs/metrics.md`` from the registered metrics and aggregations: ``python -m scripts.metrics_page``.

A test compares the page with them, so it fails until this was run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from polymeter.core.metric import Metric
from polymeter.core.names.registries import AGGREGATIONS, METRICS
from polymeter.metrics.defaults import DEFAULT_METRICS, OUTPUT_FAMILIES, keyword_names
from scripts.markdown import table

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"
_PAGE = """# Metrics

The metrics that `metric_list` of a task YAML can name. [Writing a benchmark in YAML](tasks.md) shows them in use.
[How an answer is read](reading.md) explains which texts are equal.

The value of a sample depends on the metric and on the task's `output_type`. The aggregation, `mean` unless another is
named, turns the values of all samples into one result. Arguments are further keys of the metric's entry. A lower value
is better for metrics marked ↓.

{sections}## Aggregations

{aggregations}"""


def page() -> str:
    """Return the page: a table for each output type, and one of the aggregations."""
    sections = "".join(f"## `{name}`\n\n{_about(name)}\n\n{_table(name)}\n" for name in DEFAULT_METRICS)
    names = [name for name in AGGREGATIONS if AGGREGATIONS.is_builtin(name)]
    results = [(f"`{name}`", AGGREGATIONS.find(name).summary) for name in names]
    aggregations = table(("aggregation", "result"), _joined(results))
    return _PAGE.format(sections=sections, aggregations=aggregations)


def _about(output_type: str) -> str:
    family = [f"`{name}`" for name, head in OUTPUT_FAMILIES.items() if head == output_type]
    default = " and ".join(f"`{name}`" for name in DEFAULT_METRICS[output_type]) or "none"
    also = f" Also for {', '.join(family[:-1])} and {family[-1]}." if family else ""
    return f"Default: {default}.{also}"


def _table(output_type: str) -> str:
    head = ("metric", "value of a sample", "aggregation", "arguments")
    # Log-probabilities are compared without any.
    width = 4 if output_type.startswith("generate_") else 3
    return table(head[:width], _joined([row[:width] for row in _rows(output_type)]))


def _joined(rows: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Join rows that differ in nothing but their names."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, *others in rows:
        names.setdefault(tuple(others), []).append(name)
    return [(", ".join(own), *others) for others, own in names.items()]


def _rows(output_type: str) -> Iterator[tuple[str, ...]]:
    for metric, names in _metrics():
        if output_type in metric.values:
            name = ", ".join(f"`{name}`" for name in names) + ("" if metric.higher_is_better else " ↓")
            arguments = ", ".join(f"`{argument}`" for argument in keyword_names(metric) or ())
            aggregation = "" if metric.of_sets or metric.aggregation == "mean" else f"`{metric.aggregation}`"
            yield name, metric.values[output_type], aggregation, arguments


def _metrics() -> Iterator[tuple[Metric, list[str]]]:
    """Yield each metric that comes with Polymeter, with all of its names, its own first."""
    builtin = {name: METRICS.get(name) for name in METRICS if METRICS.is_builtin(name)}
    for name, metric in builtin.items():
        if metric.name == name:
            yield metric, [name, *(other for other, one in builtin.items() if one is metric and other != name)]


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
