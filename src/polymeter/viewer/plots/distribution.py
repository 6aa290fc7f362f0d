"""The distribution of each metric's values over the samples, and over those of each subset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from polymeter.core.records.stored_samples import named
from polymeter.report.formatting import count, number
from polymeter.report.scales import Scale, axis
from polymeter.report.table import bounds_of
from polymeter.viewer.plots.bins import Bins, bins_of
from polymeter.viewer.plots.columns import Columns, Floats
from polymeter.viewer.plots.view import MOST_BINS, PlotTable, PlotView, percent, row, shade

ORDER = 10
MOST_METRICS = 24
MOST_SUBSETS = 60
_BINS_BY_SUBSET = 10
_OF_MEAN = "The dashed line is the mean."


def make(columns: Columns, results: Mapping[str, Any]) -> Iterator[PlotView]:
    """A plot for each metric that samples have numbers for; those of the results come first."""
    declared = {
        named(str(one.get("metric")), str(one.get("filter") or "none")): one
        for one in results.get("results", ())
        if not one.get("subset")
    }
    names = [
        *(name for name in declared if name in columns.scores),
        *(name for name in columns.scores if name not in declared),
    ]
    for place, name in enumerate(names[:MOST_METRICS]):
        values = columns.scores[name]
        is_scored = np.isfinite(values)
        if not is_scored.any():
            continue
        found = values[is_scored]
        result = declared.get(name, {})
        ends = (float(found.min()), float(found.max()))
        scale = axis(bounds_of(result), ends)
        n_left = len(names) - MOST_METRICS
        note = f"{count(n_left, 'further metric')} not shown." if place == MOST_METRICS - 1 and n_left > 0 else ""
        yield _plot(columns, name, found, is_scored, scale, note)


def _plot(columns: Columns, name: str, values: Floats, is_scored: Any, scale: Scale | None, note: str) -> PlotView:
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
    notes = (_OF_MEAN if bins.width else "", note)
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
        " ".join(filter(None, notes)),
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
