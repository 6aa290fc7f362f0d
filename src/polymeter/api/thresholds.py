"""Thresholds: the least that a number of a run must be (``fail_under``), and which of them were missed.

A threshold names a task or group and one of its metrics: ``demo.anls``; ``demo.anls,NAME`` is that of one filter, and
``demo.anls/KEY`` one entry of a value with several. Names may hold dots themselves.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.text.json_text import as_number
from polymeter.report.formatting import number, one_line
from polymeter.report.table import spread_value

if TYPE_CHECKING:
    from polymeter.run.plan.plan import Plan

OPTION = "--fail-under"
_FORM = f"Write {OPTION} TASK.METRIC=VALUE, such as {OPTION} demo.anls=0.9."
_MOST_NAMED = 8


def check_thresholds(thresholds: Mapping[str, Any], plan: Plan) -> None:
    """Check that a run can have the numbers that thresholds name, as far as its plan says.

    Raises:
        PlanError: if a threshold is not a number, or names a task, group or metric that the run will not have.
    """
    known = _planned_metrics(plan)
    for name, least in thresholds.items():
        if not isinstance(least, (int, float)) or isinstance(least, bool) or math.isnan(least):
            raise PlanError(f"The threshold of {name!r} is {least!r}, which is not a number.", where=OPTION, hint=_FORM)
        owners = _owners(name, known)
        if not owners:
            owner = name.rpartition(".")[0] or name
            hint = did_you_mean(owner, known) or f"It has {_first_names(known)}."
            raise PlanError(f"There is no task or group {owner!r} in this run.", where=OPTION, hint=hint)
        if not any(_is_of(name[len(owner) + 1 :], known[owner]) for owner in owners):
            metric, metrics = name[len(owners[0]) + 1 :], known[owners[0]] or ()
            hint = did_you_mean(metric, metrics) or f"It has {_first_names(metrics)}."
            raise PlanError(f"{owners[0]!r} has no metric {metric!r}.", where=OPTION, hint=hint)


def missed_thresholds(thresholds: Mapping[str, float], results: Mapping[str, Any]) -> list[str]:
    """One sentence for each threshold that the results of a run do not reach.

    Where no filter is named, the metric must reach it under every filter. For a metric whose lower values are better,
    the threshold is the most that it may be. A number that is missing, or is not a number, misses its threshold.

    Args:
        thresholds: The least value by name.
        results: The content of ``results.json``.
    """
    return [sentence for name, least in thresholds.items() for sentence in _missed(name, least, results)]


def _missed(name: str, least: float, results: Mapping[str, Any]) -> Iterator[str]:
    holders = {**results.get("tasks", {}), **results.get("groups", {})}
    for owner in _owners(name, holders):
        found = [*_values(name[len(owner) + 1 :], holders[owner])]
        for filter_name, value, is_higher_better in found:
            shown = f"{name} ({filter_name})" if len(found) > 1 else name
            if not isinstance(value, (int, float)) or math.isnan(value):
                yield one_line(f"{shown} has no value.")
            elif is_higher_better is False and value > least:
                yield one_line(f"{shown} is {_exact(value, least)}, above {least:g}; lower is better.")
            elif is_higher_better is not False and value < least:
                yield one_line(f"{shown} is {_exact(value, least)}, below {least:g}.")
        if found:
            return
    yield one_line(f"{name} is not among the results.")


def _values(wanted: str, holder: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool | None]]:
    """Filter, value and direction of each result for the whole that a metric names."""
    for result in holder.get("results", ()):
        if result.get("subset"):
            continue
        filter_name = str(result.get("filter") or "none")
        for metric, value in spread_value(str(result["metric"]), result.get("value")):
            if wanted in (metric, f"{metric},{filter_name}"):
                yield filter_name, as_number(value), result.get("higher_is_better")


def _owners(name: str, known: Collection[str]) -> list[str]:
    """The tasks and groups that a name may begin with, the longest first."""
    ends = [position for position, character in enumerate(name) if character == "."]
    return [name[:end] for end in reversed(ends) if name[:end] in known and name[end + 1 :]]


def _planned_metrics(plan: Plan) -> dict[str, Collection[str] | None]:
    """The metrics of each task and group of a plan; ``None`` where only a run shows them."""
    from polymeter.run.plan.selection import format_of

    known: dict[str, Collection[str] | None] = {}
    for spec in plan.selection.tasks:
        of_format = format_of(spec).metrics
        known[spec.name] = None if of_format is None or plan.parity.system else of_format(spec)
    for group in plan.selection.groups:
        metrics = [str(aggregate.get("metric", "")) for aggregate in group.aggregates]
        known[group.name] = None if plan.parity.system else metrics
    return known


def _is_of(wanted: str, metrics: Collection[str] | None) -> bool:
    """Return whether a metric with, maybe, a key and a filter is one of these."""
    return metrics is None or any(
        wanted == metric or wanted.startswith((f"{metric},", f"{metric}/")) for metric in metrics
    )


def _first_names(names: Collection[str]) -> str:
    shown = ", ".join([*names][:_MOST_NAMED])
    return f"{shown} and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else shown or "none"


def _exact(value: float, least: float) -> str:
    """A value as tables show it; with all its digits where it would look like the threshold."""
    shown = number(value)
    return repr(value) if shown == number(float(least)) else shown
