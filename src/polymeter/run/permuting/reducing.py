"""Results of orders.

Each order is reduced by the task's own reduction, like a run of its own. Under the metric's own key stands the mean of
these results, and behind it each order, the share of questions that are right in all of them, and how much the orders
differ. What was chosen, right or wrong, comes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from polymeter.core.records.attempts import (
    ALL_ORDERS,
    CHOICE_BIAS,
    CONSISTENCY,
    ORDER_SD,
    ORDER_SPREAD,
    filter_of,
    is_of_choices,
    is_of_part,
    orders_in,
)
from polymeter.core.records.spread import UNBOUNDED, Bounds
from polymeter.core.task import MetricKey, ReduceContext, Result, Score, ScoredRow
from polymeter.core.text.codec import is_nan
from polymeter.run.permuting.scoring import ORDERS, score_of_order
from polymeter.run.variants.reducing import (
    FurtherSubsets,
    Reduce,
    ResultKey,
    RowsOfVariant,
    behind_their_parts,
    is_close,
    mean_results,
    over_questions,
    reduce_variants,
)
from polymeter.stats.components import ConditionSpread, condition_spread

_NO_INTERVAL = "not a mean"


def reduce_orders(
    reduce: Reduce,
    k: int,
    rows: Iterable[ScoredRow],
    context: ReduceContext,
    *,
    further_subsets: FurtherSubsets | None = None,
) -> list[Result]:
    """Return the results of a task whose choices are permuted.

    Args:
        reduce: The task's own reduction.
        k: The number of orders.
        rows: Its rows; read several times.
        context: The context of the reduction.
        further_subsets: The subsets of a row besides its own (``Task.further_subsets``).
    """
    found = over_questions(rows, _numbers, context.seed, further_subsets, _bounds)
    spreads = _spreads(rows, further_subsets)
    orders = [RowsOfVariant(rows, number, ORDERS, score_of_order) for number in range(k)]
    each = reduce_variants(reduce, orders, context)
    own = mean_results(each, found)
    behind = behind_their_parts(own, partial(_estimates, each=each, found=found, spreads=spreads))
    chosen = sorted(
        (one for one in found.values() if is_of_choices((one.metric, one.filter))), key=lambda one: bool(one.subset)
    )
    return [*behind, *(replace(one, higher_is_better=True if one.filter == CONSISTENCY else None) for one in chosen)]


def _bounds(key: MetricKey) -> Bounds:
    if not is_of_choices(key):
        return UNBOUNDED
    return (-1.0, 1.0) if key[0] == CHOICE_BIAS else (0.0, 1.0)


def _numbers(score: Score) -> dict[MetricKey, Any]:
    return {
        key: value for key, value in score.values.items() if isinstance(value, (int, float)) and not is_of_part(key[1])
    }


def _estimates(
    result: Result,
    *,
    each: Sequence[Sequence[Result]],
    found: Mapping[ResultKey, Result],
    spreads: Mapping[ResultKey, ConditionSpread],
) -> Iterator[Result]:
    """Yield the estimates of a metric: its results in each order; the share of questions that are right in all of them,
    if they are right or wrong and higher is better; and if its number is the mean over questions, how much the orders
    differ.
    """
    key = (result.metric, result.filter, result.subset)
    for number, results in enumerate(each, 1):
        for one in results:
            if (one.metric, one.filter, one.subset) == key:
                yield replace(one, filter=filter_of(f"order {number}", result.filter), artifacts=(), spread=None)
    in_all = found.get((result.metric, filter_of(ALL_ORDERS, result.filter), result.subset))
    if in_all is not None and result.higher_is_better is not False:
        yield replace(in_all, higher_is_better=result.higher_is_better, bounds=(0.0, 1.0))
    mean, spread = found.get(key), spreads.get(key)
    if mean is None or spread is None or not is_close(result.value, mean.value):
        return
    for name, value in ((ORDER_SD, spread.observed), (ORDER_SPREAD, spread.beyond_sampling)):
        own = filter_of(name, result.filter)
        yield Result(result.metric, own, value, mean.n, result.subset, higher_is_better=False, no_interval=_NO_INTERVAL)


@dataclass(slots=True)
class _Table:
    """The values of the questions of one result in each order, and the clusters of the questions."""

    values: list[list[float]] = field(default_factory=list)
    clusters: list[str | None] = field(default_factory=list)


def _spreads(rows: Iterable[ScoredRow], further_subsets: FurtherSubsets | None) -> dict[ResultKey, ConditionSpread]:
    """Return how much the orders differ, by metric, for the whole task and for each subset; see
    ``stats.components.condition_spread``.
    """
    tables: dict[ResultKey, _Table] = {}
    for row in rows:
        further = further_subsets(row.index) if further_subsets is not None else ()
        for (metric, own), values in (orders_in(row.score.values) if row.score is not None else {}).items():
            if any(not isinstance(value, (int, float)) or is_nan(value) for value in values):
                continue
            for path in dict.fromkeys(((), row.subset, *further)):
                table = tables.setdefault((metric, own, path), _Table())
                table.values.append([float(value) for value in values])
                table.clusters.append(row.cluster)
    found = {key: condition_spread(table.values, table.clusters) for key, table in tables.items()}
    return {key: spread for key, spread in found.items() if spread is not None}
