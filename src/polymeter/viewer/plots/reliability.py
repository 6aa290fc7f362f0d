"""The reliability diagram and the calibration error: they compare a model's confidence with its accuracy.

The confidence is the probability, among the choices of a sample, of the one that was taken. The expected calibration
error is that of Naeini et al. (2015), section "Experiments", with ten bins of equal width as in Guo et al. (2017).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from polymeter.core.records.stored_samples import named
from polymeter.report.formatting import count
from polymeter.stats import wilson_interval
from polymeter.viewer.plots.columns import Columns, Floats
from polymeter.viewer.plots.view import PlotTable, PlotView, percent, row

ORDER = 20
N_BINS = 10
LEAST_SAMPLES = 10


def make(columns: Columns, results: Mapping[str, Any]) -> Iterator[PlotView]:
    """Make one plot, for tasks whose model scored choices and whose samples are right or wrong."""
    found = _right(columns, results)
    if found is None:
        return
    name, is_right = found
    known = np.isfinite(columns.confidence) & np.isfinite(is_right)
    confidence, right = columns.confidence[known], is_right[known]
    n = len(right)
    if n < LEAST_SAMPLES:
        return
    codes = np.minimum((confidence * N_BINS).astype(np.int64), N_BINS - 1)
    counts = np.bincount(codes, minlength=N_BINS)
    sums = [np.bincount(codes, weights=weights, minlength=N_BINS) for weights in (confidence, right)]
    error = float(np.abs(sums[0] - sums[1]).sum() / n)
    rows, points = [], []
    for place in np.flatnonzero(counts).tolist():
        in_bin = int(counts[place])
        sure, accuracy = float(sums[0][place]) / in_bin, float(sums[1][place]) / in_bin
        low, high = wilson_interval(accuracy, in_bin)
        head = f"{place / N_BINS:.1f} – {(place + 1) / N_BINS:.1f}"
        rows.append(row(head, (f"{in_bin:,}", percent(sure), percent(accuracy), f"{percent(low)} – {percent(high)}")))
        points.append((sure, accuracy, low, high, in_bin))
    heads = ("Confidence", "Samples", "Mean confidence", "Accuracy", "95 % interval")
    chart = {
        "kind": "reliability",
        **{key: [point[place] for point in points] for place, key in enumerate(("x", "y", "low", "high", "n"))},
        "x_label": "confidence",
        "y_label": "accuracy",
    }
    yield PlotView(
        "reliability",
        "Reliability of the choices",
        _reading(float(confidence.mean()), float(right.mean()), error, n),
        (PlotTable("Accuracy by confidence", heads, tuple(rows)),),
        chart,
        "On the dashed line a model is right as often as it is sure. "
        f"Confidence is the probability, among its choices, of the one that a sample took; accuracy is {name}. ECE is "
        f"the expected calibration error over {N_BINS} bins of equal width.",
    )


def _right(columns: Columns, results: Mapping[str, Any]) -> tuple[str, Floats] | None:
    """Return the first metric that marks each sample as right (1) or wrong (0); ``None``: none does."""
    if not len(columns.confidence) or not np.isfinite(columns.confidence).any():
        return None
    declared = [
        named(str(one.get("metric")), str(one.get("filter") or "none"))
        for one in results.get("results", ())
        if one.get("higher_is_better") is not False
    ]
    for name in dict.fromkeys([*declared, *columns.scores]):
        values = columns.scores.get(name)
        if values is None:
            continue
        found = values[np.isfinite(values)]
        if len(found) and bool(np.isin(found, (0.0, 1.0)).all()):
            return name, values
    return None


def _reading(sure: float, accuracy: float, error: float, n: int) -> str:
    gap = 100 * (sure - accuracy)
    verdict = "neither too sure nor too unsure on average"
    if abs(gap) >= 1:
        points = f"{abs(gap):.0f} percentage point{'' if round(abs(gap)) == 1 else 's'}"
        verdict = f"too {'sure' if gap > 0 else 'unsure'} by {points}"
    return (
        f"Over {count(n, 'sample')} the model is {percent(sure)} sure of its choice and right in {percent(accuracy)}: "
        f"{verdict}. ECE {error:.3f}."
    )
