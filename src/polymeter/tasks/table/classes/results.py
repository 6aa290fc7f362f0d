"""From the scores of a table's rows to results: over all rows, then by each value of the columns that group them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from polymeter.core.records.spread import UNBOUNDED, Bounds
from polymeter.core.task import MetricKey, ReduceContext, Result, ScoredRow
from polymeter.metrics.basic import MEAN
from polymeter.reading.choices import UNPARSED
from polymeter.stats import MetricPlan, RowReduction
from polymeter.tasks.table.classes.cells import text_of

if TYPE_CHECKING:
    import pandas as pd

ROTATION = "rotation_acc"
OF_WHOLE = frozenset({UNPARSED, ROTATION})
"""Metrics that are computed for the whole table only."""
GROUP_COLUMNS = ("split", "l2-category", "category", "tag")
"""Columns whose values name subsets: VLMEvalKit's three, and GenEval's."""
_NO_FILTER = "none"


def column_subsets(data: pd.DataFrame) -> Callable[[int], list[tuple[str, ...]]] | None:
    """Return the subsets ``(column, value)`` of ``sorted_results`` that hold a row, by its position; ``None``: the
    table has no column that groups its rows.
    """
    columns = [(name, data[name]) for name in GROUP_COLUMNS if name in data.columns]
    if not columns:
        return None
    return lambda row: [(name, value) for name, cells in columns if (value := text_of(cells.iloc[row]))]


def sorted_results(
    rows: Iterable[ScoredRow],
    data: pd.DataFrame,
    metrics: Mapping[str, bool],
    context: ReduceContext,
    ranges: Mapping[str, Bounds] = MappingProxyType({}),
) -> list[Result]:
    """Means with their intervals: of each metric over all rows, then over the rows of each subset ``(column, value)``.

    Args:
        rows: In sample order; their ``index`` is their position in the table. Rows without a score are not counted.
        data: The table.
        metrics: Name → whether higher is better. The first one is reported even if no row has a score.
        context: Its seed feeds resampling.
        ranges: Name → the range of a row's value, of metrics that have one.
    """
    seen: dict[MetricKey, MetricPlan] = {}

    def plan_of(key: MetricKey) -> MetricPlan:
        return seen.setdefault(key, MetricPlan(*key, MEAN, metrics.get(key[0]), ranges.get(key[0], UNBOUNDED)))

    def plan_of_part(key: MetricKey) -> MetricPlan | None:
        return None if key[0] in OF_WHOLE else plan_of(key)

    whole = RowReduction((), plan_of)
    of_parts = [
        (column, [text_of(cell) for cell in data[column]], RowReduction((), plan_of_part))
        for column in GROUP_COLUMNS
        if column in data.columns
    ]
    for row in rows:
        whole.add(row.score, (), row.cluster, row.id)
        for column, names, parts in of_parts:
            if names[row.index]:
                parts.add(row.score, (column, names[row.index]), row.cluster, row.id)
    if not seen and metrics:
        whole.expect(plan_of((next(iter(metrics)), _NO_FILTER)))
    results = whole.results(context.seed)
    for _, _, parts in of_parts:
        for plan in seen.values():
            if plan.name not in OF_WHOLE:
                parts.expect(plan)
        results += [result for result in parts.results(context.seed) if result.subset]
    places = {name: place for place, name in enumerate(metrics)}
    keys = sorted(seen, key=lambda key: places.get(key[0], len(places)))
    order = {key: place for place, key in enumerate(keys)}
    return sorted(results, key=lambda result: order[result.metric, result.filter])
