"""From rows to results: the task's own aggregations run once over all values, registered ones as everywhere."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from polymeter.core.errors import ScoreError, boundary
from polymeter.core.metric import Aggregation
from polymeter.core.task import ReduceContext, Result, ScoredRow
from polymeter.core.text.codec import jsonable
from polymeter.stats.reduction import MetricPlan, reduce_rows
from polymeter.tasks.yaml.scoring.item_errors import ItemErrors, item_errors, number_of
from polymeter.tasks.yaml.scoring.metrics import BoundMetric

if TYPE_CHECKING:
    from polymeter.tasks.yaml.outputs.output_types import CompileSetup

T = TypeVar("T")
NO_FILTER = "none"
"""The filter name of values that no filter has read."""
_CHUNK = 1000
Reduce = Callable[[Iterable[ScoredRow], ReduceContext], list[Result]]


def reduction(setup: CompileSetup, filters: Sequence[str] = (NO_FILTER,)) -> Reduce:
    """The ``reduce`` of a task with these readings, by its metrics."""
    parts = setup.parts
    return partial(
        reduce_task,
        task=setup.spec.name,
        metrics=parts.metrics,
        filters=filters,
        score_key=parts.config.score_key,
        cluster_key=setup.spec.config.get("cluster_key"),
        has_mean_errors=not setup.parity.on("function-error"),
    )


def reduce_task(
    rows: Iterable[ScoredRow],
    context: ReduceContext,
    *,
    task: str,
    metrics: Sequence[BoundMetric],
    filters: Sequence[str],
    score_key: str,
    cluster_key: str | None = None,
    has_mean_errors: bool = True,
) -> list[Result]:
    """Results of a task, metrics in the author's order within each filter.

    An aggregation that fails leaves the other metrics alone: its result has no value, and the failure goes to
    ``context.failed``, or is raised if that is ``None``.

    Args:
        rows: In sample order; read once, or twice if the task has its own aggregations.
        context: The context of the reduction.
        task: Name of the task, for messages.
        metrics: The task's metrics.
        filters: The names of its readings.
        score_key: The key under which values that are dictionaries hold their number, for its uncertainty.
        cluster_key: The key under which they may hold their cluster.
        has_mean_errors: Whether an author's function that returns the mean has the mean's uncertainty.

    Raises:
        ScoreError: if an aggregation raised.
    """
    # An author's aggregation may do anything, so it gets all values at once and is called once.
    own = {(metric.name, name): metric for name in filters for metric in metrics if metric.aggregate is not None}
    results: dict[tuple[str, str], Result] = {}
    plans = []
    values = _gather(rows, own) if own else {}
    for name in filters:
        for metric in metrics:
            key = (metric.name, name)
            if metric.aggregation is not None:
                plans.append(MetricPlan(metric.name, name, metric.aggregation, metric.higher_is_better, metric.bounds))
                continue
            value, errors = _aggregated(task, metric, values[key], context, (score_key, cluster_key))
            better, n = metric.higher_is_better, len(values[key])
            results[key] = Result(metric.name, name, jsonable(value), n, higher_is_better=better, item_errors=errors)
            if has_mean_errors and _is_mean(value, values[key], score_key):
                # The author's function returned the mean, so the mean's uncertainty applies to it.
                plans.append(MetricPlan(metric.name, name, _constant(value), metric.higher_is_better, metric.bounds))
    held = {key: values[key] for plan in plans if (key := (plan.name, plan.filter)) in own}
    usual = _reduced(_Numbers(rows, score_key, held) if held else rows, plans, context)
    for result in usual:
        if not result.subset:
            key = (result.metric, result.filter)
            results[key] = replace(result, item_errors=results[key].item_errors) if key in results else result
    results.update(_resampled(rows, metrics, filters, results))
    ordered = [results[(metric.name, name)] for name in filters for metric in metrics]
    return ordered + [result for result in usual if result.subset]


def _resampled(
    rows: Iterable[ScoredRow],
    metrics: Sequence[BoundMetric],
    filters: Sequence[str],
    results: Mapping[tuple[str, str], Result],
) -> Iterator[tuple[tuple[str, str], Result]]:
    """The results whose standard error is drawn as in another system: chunks of resamples with Python's own generator,
    each seeded by its number.
    """
    drawn = {(metric.name, name): metric for name in filters for metric in metrics if metric.resamples}
    for key, values in (_gather(rows, drawn) if drawn else {}).items():
        metric = drawn[key]
        if metric.aggregation is None or len(values) < 2:
            continue
        size = min(_CHUNK, metric.resamples)
        numbers = []
        for seed in range(metric.resamples // size):
            generator = random.Random(seed)
            numbers += [
                float(metric.aggregation.aggregate(generator.choices(values, k=len(values)))) for _ in range(size)
            ]
        middle = sum(numbers) / len(numbers)
        stderr = math.sqrt(sum((number - middle) ** 2 for number in numbers) / (len(numbers) - 1))
        yield key, replace(results[key], stderr=stderr, stderr_method="bootstrap")


def _reduced(rows: Iterable[ScoredRow], plans: Sequence[MetricPlan], context: ReduceContext) -> list[Result]:
    """All in one pass; one by one if that fails, so that a failure stays with its own metric."""
    if not plans:
        return []
    try:
        return reduce_rows(rows, plans, context)
    except ScoreError:
        if context.failed is None:
            raise
    results: list[Result] = []
    for plan in plans:
        reduced = _guarded(partial(reduce_rows, rows, [plan], context), context)
        results += reduced or [Result(plan.name, plan.filter, None, 0, higher_is_better=plan.higher_is_better)]
    return results


def _guarded(do: Callable[[], T], context: ReduceContext) -> T | None:
    try:
        return do()
    except ScoreError as error:
        if context.failed is None:
            raise
        context.failed(error)
        return None


class _Numbers:
    """Rows in which the values of some keys, dictionaries, are replaced by the number that they hold.

    Args:
        rows: The rows.
        score_key: Where the dictionaries hold it.
        values: The values of each key in the order of the rows, as the author's function has left them.
    """

    def __init__(
        self, rows: Iterable[ScoredRow], score_key: str, values: Mapping[tuple[str, str], Sequence[Any]]
    ) -> None:
        self._rows, self._score_key, self._values = rows, score_key, values

    def __iter__(self) -> Iterator[ScoredRow]:
        left = {key: iter(values) for key, values in self._values.items()}
        for row in self._rows:
            score = row.score
            if score is None:
                yield row
                continue
            found = {key: next(values) for key, values in left.items() if key in score.values}
            numbers = {key: value[self._score_key] for key, value in found.items() if isinstance(value, Mapping)}
            yield replace(row, score=replace(score, values={**score.values, **numbers})) if numbers else row


def _gather(rows: Iterable[ScoredRow], own: dict[tuple[str, str], BoundMetric]) -> dict[tuple[str, str], list[Any]]:
    values: dict[tuple[str, str], list[Any]] = {key: [] for key in own}
    for row in rows:
        if row.score is not None:
            scored = row.score.values
            for key, items in values.items():
                if key in scored:
                    items.append(scored[key])
    return values


def _aggregated(
    task: str, metric: BoundMetric, values: Sequence[Any], context: ReduceContext, keys: tuple[str, str | None]
) -> tuple[Any, ItemErrors | None]:
    """Return the result of the task's own aggregation. If it changed the values of its items, their standard errors
    come with it.
    """
    items = list(values)  # its own list, which it may sort; what it writes into an item changes the value as well
    before = sorted(repr(number_of(item, *keys)) for item in items)
    value = _guarded(partial(_aggregate, task, metric, items, context), context)
    numbers = [number for item in items if (number := number_of(item, *keys)) is not None]
    after = sorted(repr(number_of(item, *keys)) for item in items)
    return value, None if after == before else item_errors(numbers)


def _aggregate(task: str, metric: BoundMetric, values: list[Any], context: ReduceContext) -> Any:
    """Call the task's own aggregation, once; not at all if there are no values."""
    if not values or metric.aggregate is None:
        return None
    with boundary(ScoreError, f"The aggregation of metric {metric.name!r} of task {task!r}"):
        return metric.aggregate(values, args=context.args) if metric.wants_args else metric.aggregate(values)


def _is_mean(value: Any, values: Sequence[Any], score_key: str) -> bool:
    """Return whether a number is the mean of plain numbers, or of those that dictionaries hold under the task's key.
    Only then does it have the mean's standard error.
    """
    values = [item.get(score_key) if isinstance(item, Mapping) else item for item in values]
    if not values or not _is_number(value) or not all(_is_number(item) for item in values):
        return False
    return math.isclose(float(value), math.fsum(map(float, values)) / len(values), rel_tol=1e-9, abs_tol=1e-12)


def _is_number(value: Any) -> bool:
    if hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        value = value.item()
    return isinstance(value, (int, float)) and not math.isnan(value)


def _constant(value: Any) -> Aggregation:
    number = value.item() if hasattr(value, "dtype") else value
    return Aggregation("mean", lambda values: number, "mean")
