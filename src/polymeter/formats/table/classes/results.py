"""From the scores of a table's rows to results: over all rows, then by each value of the columns that group them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from polymeter.core.task import MetricKey, ReduceContext, Result, ScoredRow
from polymeter.formats.table.classes.cells import text_of
from polymeter.metrics.basic import MEAN
from polymeter.stats import MetricPlan, reduce_rows

if TYPE_CHECKING:
    import pandas as pd

UNPARSED, ROTATION = "unparsed", "rotation_acc"
"""Metrics that are computed for the whole table only."""
GROUP_COLUMNS = ("split", "l2-category", "category", "tag")
"""Columns whose values name subsets: VLMEvalKit's three, and GenEval's."""
_NO_FILTER = "none"


def sorted_results(
    rows: Iterable[ScoredRow], data: pd.DataFrame, metrics: Mapping[str, bool], context: ReduceContext
) -> list[Result]:
    """Means with their intervals: of each metric over all rows, then over the rows of each subset ``(column, value)``.

    Args:
        rows: In sample order; their ``index`` is their position in the table. Rows without a score are not counted.
        data: The table.
        metrics: Name → whether higher is better. The first one is reported even if no row has a score.
        context: Its seed feeds resampling.
    """
    light = [replace(row, subset=(), load_responses=None) for row in rows]
    plans = [MetricPlan(name, label, MEAN, metrics.get(name)) for name, label in _keys(light, metrics)]
    results = reduce_rows(light, plans, context)
    for column in GROUP_COLUMNS:
        if column in data.columns:
            names = [text_of(cell) for cell in data[column]]
            named = [replace(row, subset=(column, names[row.index])) for row in light if names[row.index]]
            by_subset = [plan for plan in plans if plan.name not in {UNPARSED, ROTATION}]
            results += [result for result in reduce_rows(named, by_subset, context) if result.subset]
    order = {(plan.name, plan.filter): number for number, plan in enumerate(plans)}
    return sorted(results, key=lambda result: order[result.metric, result.filter])


def _keys(rows: Sequence[ScoredRow], metrics: Mapping[str, bool]) -> list[MetricKey]:
    """The metrics that rows have, in the order of ``metrics``, then of their appearance."""
    keys: dict[MetricKey, None] = {}
    for row in rows:
        if row.score is not None:
            keys.update(dict.fromkeys(row.score.values))
    names = [*metrics]
    fallback = [(names[0], _NO_FILTER)] if names else []
    return sorted(keys, key=lambda key: names.index(key[0]) if key[0] in names else len(names)) or fallback
