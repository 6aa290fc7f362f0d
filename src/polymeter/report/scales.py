"""Scales: the place of a value between the ends of its metric. For interval bars and for worst-first order.

The ends are those that the metric declares. An end that is not declared is taken from several different values; a
single value gives no end, and then there is no axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.report.formatting import as_float, number
from polymeter.report.table import Line, bounds_of

_ENDS = (1.0, 2.0, 5.0, 10.0, 100.0)
BAR_PX = 168
BAR_INSET_PX = 4


@dataclass(frozen=True, slots=True)
class Scale:
    """The ends of a metric's axis."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """The position of a value: 0 at the low end, 1 at the high end; values beyond are clamped."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Bar:
    """An interval bar in pixels, with a text alternative."""

    value_px: float
    low_px: float | None
    width_px: float
    label: str
    ends: str


@dataclass(frozen=True, slots=True)
class MainMetric:
    """A metric that may order a task's samples.

    Attributes:
        metric: Its name.
        filter: The filter that the answers went through.
        is_lower_better: Its direction.
        bounds: Its range, as far as it is declared.
    """

    metric: str
    filter: str
    is_lower_better: bool
    bounds: tuple[float | None, float | None] = (None, None)

    @property
    def label(self) -> str:
        """Its name beside a sample's value."""
        return score_label(self.metric, self.filter)

    def value(self, sample: Mapping[str, Any]) -> float | None:
        """Its value for one sample, if that is a number (or a dictionary with a number as ``score``)."""
        for score in sample.get("scores", ()):
            if score.get("metric") == self.metric and score.get("filter") == self.filter:
                return number_of(score)
        return None

    def goodness(self, sample: Mapping[str, Any]) -> float | None:
        """Its value, negated where lower is better."""
        value = self.value(sample)
        return None if value is None else -value if self.is_lower_better else value


def metrics_of(task: Mapping[str, Any]) -> Iterator[MainMetric]:
    """The metrics of a task, in the order of its results."""
    for result in task.get("results", ()):
        if not result.get("subset"):
            yield MainMetric(
                str(result["metric"]),
                str(result.get("filter")),
                result.get("higher_is_better") is False,
                bounds_of(result),
            )


def score_label(metric: str, filter_name: str) -> str:
    """A metric with the filter that the answers went through, if they went through one."""
    return metric if filter_name in ("", "none", "None") else f"{metric} · {filter_name}"


def number_of(score: Mapping[str, Any]) -> float | None:
    """The value in a sample's score as a number, if it is one or a dictionary with one as ``score``."""
    value = score.get("value")
    return as_float(value.get("score") if isinstance(value, dict) else value)


def scale_of(values: Iterable[float]) -> Scale:
    """The narrowest customary scale that holds all values: 0 to 1, 2, 5, 10, 100, …; below zero likewise."""
    finite = [*values]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    return Scale(-_end(-low) if low < 0 else 0.0, _end(high) if high > 0 or low >= 0 else 0.0)


def axis(bounds: tuple[float | None, float | None], values: Iterable[float]) -> Scale | None:
    """The scale from a declared range; ends that are not declared come from the values if at least two differ.
    ``None``: there is no axis.
    """
    low, high = bounds
    finite = {*values}
    if low is None or high is None:
        if len(finite) < 2:
            return None
        found = scale_of(finite)
        low, high = found.low if low is None else low, found.high if high is None else high
    return Scale(low, high) if low < high else None


def bars(lines: Iterable[Line]) -> list[Bar | None]:
    """One bar for each line that has a number and whose metric has an axis; lines of one metric share it.

    Where a metric declares no range, different values determine the axis, not their intervals, which may reach beyond
    it. An interval is then drawn to the end of the axis; its label gives it in full.
    """
    table = [*lines]
    values: dict[str, list[float]] = {}
    bounds: dict[str, set[tuple[float | None, float | None]]] = {}
    for line in table:
        if line.number is not None:
            values.setdefault(line.metric, []).append(line.number)
            bounds.setdefault(line.metric, set()).add(line.bounds)
    axes = {
        metric: axis(next(iter(bounds[metric])) if len(bounds[metric]) == 1 else (None, None), numbers)
        for metric, numbers in values.items()
    }
    return [
        None
        if line.number is None or (scale := axes[line.metric]) is None
        else bar_of(line.number, line.interval, scale)
        for line in table
    ]


def bar_of(value: float, interval: tuple[float, float] | None, scale: Scale) -> Bar:
    """Return the bar of a value and its interval on a scale."""
    ends = "" if scale == Scale(0.0, 1.0) else f"{scale.low:g} – {scale.high:g}"
    if interval is None:
        return Bar(_px(scale, value), None, 0.0, number(value), ends)
    low, high = _px(scale, interval[0]), _px(scale, interval[1])
    label = f"{number(value)}, 95 % interval {number(interval[0])} to {number(interval[1])}"
    return Bar(_px(scale, value), low, round(max(high - low, 1.0), 1), label, ends)


def _px(scale: Scale, value: float) -> float:
    return round(BAR_INSET_PX + scale.at(value) * (BAR_PX - 2 * BAR_INSET_PX), 1)


def _end(value: float) -> float:
    for end in _ENDS:
        if value <= end:
            return end
    end = _ENDS[-1]
    while end < value:
        end *= 10
    return end
