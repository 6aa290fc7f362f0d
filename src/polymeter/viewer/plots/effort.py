"""Plots of the score against the length, tokens and time of answers: they show whether longer answers are better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polymeter.core.records.spread import Bounds
from polymeter.core.records.stored_samples import named
from polymeter.report.formatting import count, number
from polymeter.report.table import bounds_of
from polymeter.stats import mean_interval, mean_spread
from polymeter.viewer.plots.bins import quantile_groups
from polymeter.viewer.plots.columns import Columns, Floats
from polymeter.viewer.plots.view import PlotTable, PlotView, row

ORDER = 40
MOST_GROUPS = 10
LEAST_IN_GROUP = 20
"""The fewest samples with an interval."""
_QUANTITIES = {
    "answer_chars": ("length of the answer", "characters", 1.0),
    "output_tokens": ("tokens of the answer", "tokens", 1.0),
    "latency_ms": ("time of the answer", "seconds", 0.001),
}


def make(columns: Columns, results: Mapping[str, Any]) -> Iterator[PlotView]:
    """A plot for each quantity that differs between samples, of the task's first metric."""
    name = _main(columns, results)
    if name is None:
        return
    scores, bounds = columns.scores[name], _bounds(name, results)
    for key, (title, unit, factor) in _QUANTITIES.items():
        taken = columns.counts.get(key)
        if taken is None:
            continue
        known = np.isfinite(taken) & np.isfinite(scores)
        x, y = taken[known] * factor, scores[known]
        if len(x) < 2 * LEAST_IN_GROUP or x.min() == x.max():
            continue
        yield _plot(key, name, title, unit, x, y, bounds)


def _main(columns: Columns, results: Mapping[str, Any]) -> str | None:
    """The first metric of the results that samples have numbers for; else the first that they have."""
    for one in results.get("results", ()):
        for name in (named(str(one.get("metric")), _filter(one)), f"{one.get('metric')}/score"):
            if name in columns.scores and not one.get("subset"):
                return name
    return next(iter(columns.scores), None)


def _bounds(name: str, results: Mapping[str, Any]) -> Bounds:
    """The range that a metric declares."""
    own = (one for one in results.get("results", ()) if not one.get("subset"))
    return next((bounds_of(one) for one in own if name == named(str(one.get("metric")), _filter(one))), (None, None))


def _filter(result: Mapping[str, Any]) -> str:
    return str(result.get("filter") or "none")


def _plot(key: str, name: str, title: str, unit: str, x: Floats, y: Floats, bounds: Bounds) -> PlotView:
    groups = quantile_groups(x, min(MOST_GROUPS, len(x) // LEAST_IN_GROUP))
    points, rows = [], []
    for places in groups:
        own_x, own_y = x[places], y[places]
        n = len(places)
        mean, start, stop = float(own_y.mean()), float(own_x.min()), float(own_x.max())
        found = mean_interval(mean_spread(own_y, bounds=bounds)).interval
        low, high = found or (mean, mean)
        head = f"{start:.4g}" if start == stop else f"{start:.4g} – {stop:.4g}"
        interval = f"{number(low)} – {number(high)}" if found else "–"
        rows.append(row(head, (f"{n:,}", number(mean), interval)))
        points.append((float(own_x.mean()), mean, low, high, n))
    correlation = rank_correlation(x, y)
    heads = (unit.capitalize(), "Samples", f"Mean {name}", "95 % interval")
    chart = {
        "kind": "means",
        **{field: [point[place] for point in points] for place, field in enumerate(("x", "y", "low", "high", "n"))},
        "x_label": unit,
        "y_label": name,
    }
    return PlotView(
        f"effort-{key}",
        f"{name} by {title}",
        _reading(points, correlation, unit, name, len(x)),
        (PlotTable(f"{name} by {title}", heads, tuple(rows)),),
        chart,
        f"Groups of about equally many samples; bars are 95 % intervals of their means.{_of_time(key)}",
    )


def _of_time(key: str) -> str:
    return " Times depend on the machine and on other programs." if key == "latency_ms" else ""


def _reading(points: Sequence[tuple[float, ...]], correlation: float | None, unit: str, name: str, n: int) -> str:
    first, last = points[0], points[-1]
    if len(points) == 1:
        return f"Nearly all of {count(n, 'sample')} need the same number of {unit}, so nothing can be compared."
    said = (
        f"From about {first[0]:.4g} to about {last[0]:.4g} {unit}, mean {name} goes from {number(first[1])} to "
        f"{number(last[1])}"
    )
    if correlation is None:
        return f"{said}."
    strength = "no" if abs(correlation) < 0.1 else "a weak" if abs(correlation) < 0.3 else "a clear"
    return f"{said}; there is {strength} rank correlation over {count(n, 'sample')} ({correlation:+.2f})."


def rank_correlation(x: Floats, y: Floats) -> float | None:
    """Spearman's rank correlation with mean ranks for ties; ``None`` if one side has only one value."""
    ranks = [_mean_ranks(values) for values in (x, y)]
    centred = [own - own.mean() for own in ranks]
    below = float(np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum()))
    return float((centred[0] * centred[1]).sum()) / below if below else None


def _mean_ranks(values: Floats) -> Floats:
    """The rank of each value; equal ones share the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks
