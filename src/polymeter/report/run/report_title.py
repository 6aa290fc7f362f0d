"""The title of an HTML report: what was measured, with which model and when, and its first numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.report.formatting import clip, moment, one_line
from polymeter.report.scales import axis
from polymeter.report.table import Line
from polymeter.report.value_step import value_step

_MOST_NAMED = 2
"""Tasks and groups that a title names; it counts the others."""
_MOST_FIGURES = 3
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class HeadlineFigure:
    """A number of the title: the first of a task or group.

    Attributes:
        name: The task or group; empty if the report has no other.
        metric: The metric.
        value: The number.
        interval: Its 95 % interval; empty: it has none.
        n: The number of samples behind it.
        step: Its step on the colour scale; ``None``: it has no place on one.
    """

    name: str
    metric: str
    value: str
    interval: str
    n: str
    step: int | None


@dataclass(frozen=True, slots=True)
class ReportTitle:
    """The title: tasks and model in words, the start of the run (may be empty), and the first numbers."""

    text: str
    when: str
    figures: tuple[HeadlineFigure, ...]

    @property
    def with_day(self) -> str:
        """The title of the browser's tab, with the day."""
        return " · ".join(filter(None, (self.text, self.when[:10])))


def report_title(manifest: Mapping[str, Any], model: str, lines: Sequence[Line]) -> ReportTitle:
    """Return the title of a report.

    Args:
        manifest: Content of ``run.json``.
        model: The name of the model.
        lines: The lines of the result table.
    """
    heads = [line for line in lines if line.depth == 0 and line.alias and not line.subset]
    names = [clip(one_line(line.alias), _LONGEST_NAME) for line in heads]
    if len(names) > _MOST_NAMED + 1:
        names = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]
    when = moment(str(manifest["started"])) if manifest.get("started") else ""
    text = " · ".join(filter(None, (", ".join(names), model)))
    return ReportTitle(text, one_line(when), tuple(_figures(heads, lines)))


def _figures(heads: Sequence[Line], lines: Sequence[Line]) -> Iterator[HeadlineFigure]:
    for head in heads[:_MOST_FIGURES]:
        own = (line for line in lines if (line.kind, line.name) == (head.kind, head.name) and not line.subset)
        line = next((line for line in own if line.number is not None), None)
        if line is None:
            continue
        is_lower_better = {"↓": True, "↑": False}.get(line.direction)
        step = value_step(line.number, axis(line.bounds, ()), is_lower_better=is_lower_better)
        metric = " · ".join(filter(None, (line.metric, "" if line.filter == "none" else line.filter)))
        name = clip(one_line(head.alias), _LONGEST_NAME) if len(heads) > 1 else ""
        yield HeadlineFigure(name, metric, line.value, line.interval_text, line.n, step)
