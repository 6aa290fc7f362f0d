"""The main scores of the parts of a task, on one axis: subsets from the results, categories from the index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polymeter.report.formatting import number
from polymeter.report.scales import Bar, Scale, bar_of
from polymeter.report.table import Line, title_of
from polymeter.report.value_step import value_step
from polymeter.stats import mean_interval, mean_spread
from polymeter.viewer.sample_index import FIELD, SCORE, Main, SampleIndex
from polymeter.viewer.site import Query, address

MOST_PARTS = 400
MOST_FIELDS = 3
MOST_VALUES = 16
"""The most values of a field of rows for which its categories are drawn."""
_UNIT = Scale(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a task: its label, its score ready to print, its bar, and a link to its samples."""

    label: str
    value: str
    interval: str
    n: str
    bar: Bar
    step: int | None
    link: str


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The parts of a task in one metric.

    Attributes:
        title: The metric and what divides the samples.
        ends: The low end, the middle and the high end of the axis.
        whole: The bar of the whole task; ``None`` if it has no score.
        parts: The parts.
        n: The number of all parts, of which the first are here.
    """

    title: str
    ends: tuple[str, str, str]
    whole: Bar | None
    parts: tuple[Part, ...]
    n: int


def subset_breakdowns(
    run: str, results: Mapping[str, Any], drawn: Sequence[tuple[Line, Bar | None]]
) -> list[Breakdown]:
    """The breakdowns of all tasks by their subsets, one for each metric.

    Args:
        run: The key of the run.
        results: Its results.
        drawn: The lines of its table, each with its bar.
    """
    found: dict[tuple[str, str], list[tuple[Line, Bar]]] = {}
    whole: dict[tuple[str, str], Bar] = {}
    for line, bar in drawn:
        key = (line.name, f"{line.metric} {line.direction}".strip())
        if line.kind != "task" or bar is None:
            continue
        if line.subset:
            found.setdefault(key, []).append((line, bar))
        else:
            whole.setdefault(key, bar)
    is_one = len(results.get("tasks", {})) == 1
    shown = []
    for (task, metric), rows in found.items():
        columns = {line.subset[0] if len(line.subset) > 1 else "subset" for line, _ in rows}
        by = columns.pop() if len(columns) == 1 else "subset"
        of = "" if is_one else f"{title_of(results, 'task', task)}: "
        parts = tuple(_part_of_line(run, line, bar, by) for line, bar in rows[:MOST_PARTS])
        ends = _ends_of_text(rows[0][1].ends)
        shown.append(Breakdown(f"{of}{metric} by {by}", ends, whole.get((task, metric)), parts, len(rows)))
    return shown


def category_breakdowns(run: str, task: str, index: SampleIndex, main: Main | None) -> Iterator[Breakdown]:
    """The breakdowns of a task's main metric by the fields of its rows that put them into a few categories.

    Args:
        run: The key of the run.
        task: The task.
        index: The index of its samples.
        main: The main metric; without one there is nothing to draw.
    """
    if main is None or not index.n:
        return
    values = index.column(SCORE + main.name)
    # Values that are different in all rows, such as file names, are no categories.
    fields = {
        name: counts
        for name, counts in index.fields.items()
        if 2 <= len(counts) <= MOST_VALUES and max(counts.values()) > 1
    }
    columns = {name: (counts, index.column(FIELD + name), ("category", f"{name}:")) for name, counts in fields.items()}
    if 2 <= len(index.subsets) <= MOST_VALUES:
        columns = {"subset": (index.subsets, index.column("subset"), ("subset", "")), **columns}
    scale = Scale(main.low, main.high)
    direction = "↓" if main.is_lower_better else "↑"
    seen: list[Any] = []
    for name, (counts, codes, (parameter, prefix)) in columns.items():
        # A field that divides the samples as an earlier one does would be drawn twice.
        if any(_is_same_division(codes, before) for before in seen):
            continue
        seen.append(codes)
        parts = []
        for place, label in enumerate(counts):
            own = values[codes == place]
            query = (("task", task), (parameter, prefix + label))
            if (part := _part_of_values(own, main, scale, label, run, query)) is not None:
                parts.append(part)
        if len(parts) > 1:
            whole = bar_of(float(np.nanmean(values)), None, scale)
            ends = (f"{scale.low:g}", f"{(scale.low + scale.high) / 2:g}", f"{scale.high:g}")
            yield Breakdown(f"{main.name} {direction} by {name}", ends, whole, tuple(parts), len(parts))
        if len(seen) == MOST_FIELDS:
            return


def _part_of_line(run: str, line: Line, bar: Bar, by: str) -> Part:
    """A subset of the results. Its label has its column only if the title does not name it."""
    path = "/".join(line.subset)
    label = "/".join(line.subset[1:]) if len(line.subset) > 1 and by == line.subset[0] else path
    low, _, high = (float(end) for end in _ends_of_text(bar.ends))
    is_lower_better = {"↑": False, "↓": True}.get(line.direction)
    step = value_step(line.number, Scale(low, high), is_lower_better=is_lower_better)
    link = address(f"/run/{run}/samples", (("task", line.name), ("subset", path)))
    return Part(label, line.value, line.interval_text or "no interval", line.n, bar, step, link)


def _part_of_values(values: Any, main: Main, scale: Scale, label: str, run: str, query: Query) -> Part | None:
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    mean = float(known.mean())
    interval = mean_interval(mean_spread(known, bounds=(scale.low, scale.high))).interval
    text = "no interval" if interval is None else f"{number(interval[0])} – {number(interval[1])}"
    step = value_step(mean, scale, is_lower_better=main.is_lower_better)
    bar = bar_of(mean, interval, scale)
    return Part(label, number(mean), text, f"{len(known):,}", bar, step, address(f"/run/{run}/samples", query))


def _is_same_division(codes: Any, before: Any) -> bool:
    """Return whether two columns of codes put samples into the same categories."""
    return bool(
        codes.max() == before.max() and len(np.unique(codes.astype(np.int64) * 1000 + before)) == codes.max() + 1
    )


def _ends_of_text(ends: str) -> tuple[str, str, str]:
    """The ends of a bar's axis with their middle: bars name them only if they are not 0 and 1."""
    low, _, high = (ends or f"{_UNIT.low:g} – {_UNIT.high:g}").partition(" – ")
    return low, f"{(float(low) + float(high)) / 2:g}", high
