"""The distribution of each metric's values over the samples, and over those of each subset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polymeter.core.records.stored_samples import named
from polymeter.report.formatting import count, listing, number
from polymeter.report.scales import Scale, axis
from polymeter.report.table import bounds_of
from polymeter.viewer.plots.bins import Bins, bins_of
from polymeter.viewer.plots.columns import Columns, Floats
from polymeter.viewer.plots.view import MOST_BINS, PlotTable, PlotView, Stack, StackPart, percent, row, shade

ORDER = 10
MOST_METRICS = 24
MOST_SUBSETS = 60
_BINS_BY_SUBSET = 10
_OF_MEAN = "The dashed line is the mean."


@dataclass(frozen=True, slots=True)
class _Metric:
    """A metric: its name, its entry in the results, the values of scored samples, and a mask of these samples."""

    name: str
    result: Mapping[str, Any]
    values: Floats
    is_scored: Any

    @property
    def is_binary(self) -> bool:
        """True if its values are 0 and 1 only."""
        return bool(np.isin(self.values, (0.0, 1.0)).all())

    @property
    def scale(self) -> Scale | None:
        """Its axis."""
        return axis(bounds_of(self.result), (float(self.values.min()), float(self.values.max())))


def make(columns: Columns, results: Mapping[str, Any]) -> Iterator[PlotView]:
    """A plot for each metric that samples have numbers for; those of the results come first. Metrics of 0 and 1 share
    one plot, with a stacked bar each.
    """
    declared = {
        named(str(one.get("metric")), str(one.get("filter") or "none")): one
        for one in results.get("results", ())
        if not one.get("subset")
    }
    names = [
        *(name for name in declared if name in columns.scores),
        *(name for name in columns.scores if name not in declared),
    ]
    metrics = [one for name in names[:MOST_METRICS] if (one := _metric(columns, name, declared)) is not None]
    n_left = len(names) - MOST_METRICS
    note = f"{count(n_left, 'further metric')} not shown." if n_left > 0 else ""
    binary = [one for one in metrics if one.is_binary]
    plots = [_plot(columns, one.name, one.values, one.is_scored, one.scale) for one in metrics if not one.is_binary]
    if binary:
        plots.insert(0, _shares(columns, binary))
    for plot in plots:
        is_last = plot is plots[-1]
        yield replace(plot, note=" ".join(filter(None, (plot.note, note)))) if is_last and note else plot


def _metric(columns: Columns, name: str, declared: Mapping[str, Mapping[str, Any]]) -> _Metric | None:
    values = columns.scores[name]
    is_scored = np.isfinite(values)
    return _Metric(name, declared.get(name, {}), values[is_scored], is_scored) if is_scored.any() else None


def _shares(columns: Columns, metrics: Sequence[_Metric]) -> PlotView:
    """The plot of metrics whose values are 0 and 1."""
    stacks, rows = [], []
    tables: list[PlotTable] = []
    for one in metrics:
        n, n_ones = len(one.values), int(one.values.sum())
        shares = ((n - n_ones) / n, n_ones / n)
        stacks.append(_stack(one, shares, (n - n_ones, n_ones)))
        cells = [f"{n - n_ones:,}", percent(shares[0]), f"{n_ones:,}", percent(shares[1])]
        rows.append(row(one.name, cells, (None, shade(shares[0]), None, shade(shares[1]))))
        tables += _by_subset(columns, one.name, one.values, one.is_scored, one.scale)
    names = listing(one.name for one in metrics)
    heads = ("Metric", "Samples with 0", "Share", "Samples with 1", "Share")
    readings = [_reading_of_shares(one, with_name=len(metrics) > 1) for one in metrics]
    return PlotView(
        f"distribution-{metrics[0].name}",
        f"Distribution of {names}",
        " ".join(readings),
        (PlotTable(f"Samples by value of {names}", heads, tuple(rows)), *tables),
        stacks=tuple(stacks),
    )


def _stack(metric: _Metric, shares: tuple[float, float], counts: tuple[int, int]) -> Stack:
    """The stacked bar of a metric, the better value at the left."""
    order = {True: ((1, "v4"), (0, "v0")), False: ((0, "v4"), (1, "v0"))}.get(
        metric.result.get("higher_is_better", True), ((1, "plain"), (0, "none"))
    )
    parts, start = [], 0.0
    for value, fill in order:
        width = 100 * shares[value]
        if counts[value]:
            text = f"{count(counts[value], 'sample')} with {value}: {percent(shares[value])}"
            parts.append(StackPart(text, round(start, 3), round(width, 3), fill))
        start += width
    return Stack(metric.name, tuple(parts))


def _reading_of_shares(metric: _Metric, *, with_name: bool) -> str:
    bins = bins_of(metric.values, metric.scale, MOST_BINS)
    said = _reading(metric.values, bins, bins.counts() / len(metric.values), float(metric.values.mean()))
    return f"{metric.name}: {said[0].lower()}{said[1:]}" if with_name else said


def _plot(columns: Columns, name: str, values: Floats, is_scored: Any, scale: Scale | None) -> PlotView:
    bins = bins_of(values, scale, MOST_BINS)
    counts = bins.counts()
    shares = counts / len(values)
    mean = float(values.mean())
    rows = [
        row(label, (f"{n:,}", percent(share)), (None, shade(share)))
        for label, n, share in zip(bins.labels, counts.tolist(), shares.tolist(), strict=True)
    ]
    tables = [PlotTable(f"Samples by value of {name}", ("Value", "Samples", "Share"), tuple(rows))]
    tables += _by_subset(columns, name, values, is_scored, scale)
    ends = None if scale is None else [scale.low, scale.high]
    chart = {
        "kind": "bars",
        "labels": [*bins.labels] if bins.width == 0 else None,
        "x": [*bins.middles] if bins.width else [*range(len(bins.labels))],
        "width": bins.width,
        "y": counts.tolist(),
        "mean": mean if bins.width else None,
        "ends": ends if bins.width else None,
        "x_label": name,
        "y_label": "samples",
    }
    return PlotView(
        f"distribution-{name}",
        f"Distribution of {name}",
        _reading(values, bins, shares, mean),
        tuple(tables),
        chart,
        _OF_MEAN if bins.width else "",
    )


def _reading(values: Floats, bins: Bins, shares: Floats, mean: float) -> str:
    n = count(len(values), "sample")
    if len(bins.labels) == 1:
        return f"All of {n} have {bins.labels[0]}."
    if bins.width == 0:
        frequent = np.argsort(-shares, kind="stable")[:2]
        said = " and ".join(f"{percent(float(shares[place]))} have {bins.labels[place]}" for place in frequent)
        return f"Of {n}, {said}; the mean is {number(mean)}."
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return (
        f"The middle half of {n} lies between {number(float(low))} and {number(float(high))}, with the median at "
        f"{number(float(middle))} and the mean at {number(mean)}."
    )


def _by_subset(columns: Columns, name: str, values: Floats, is_scored: Any, scale: Scale | None) -> Iterator[PlotTable]:
    subsets = columns.subset
    if len(subsets.names) < 2:
        return
    bins = bins_of(values, scale, _BINS_BY_SUBSET)
    codes = subsets.codes[is_scored]
    rows = []
    for place, subset in enumerate(subsets.names[:MOST_SUBSETS]):
        chosen = codes == place
        n = int(chosen.sum())
        if n == 0:
            continue
        shares = bins.counts(chosen) / n
        cells = [f"{n:,}", number(float(values[chosen].mean())), *(f"{100 * share:.0f} %" for share in shares.tolist())]
        rows.append(row(subset, cells, (None, None, *(shade(share) for share in shares.tolist()))))
    caption = f"{name} by subset: share of its samples by value"
    if len(subsets.names) > MOST_SUBSETS:
        caption += f" ({MOST_SUBSETS} of {len(subsets.names):,} subsets)"
    yield PlotTable(caption, ("Subset", "Samples", "Mean", *bins.labels), tuple(rows), is_open=True)
