"""Results of repeats.

Each repeat is reduced by the task's own reduction, like a run of its own. Under the metric's own key stands the mean of
these results, and behind it the estimates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from polymeter.core.records.attempts import (
    are_shares,
    estimates_among,
    filter_of,
    is_of_repeat,
    repeats_in,
    with_estimates,
)
from polymeter.core.task import MetricKey, ReduceContext, Result, Score, ScoredRow
from polymeter.run.repeats.scoring import REPEATS, score_of_repeat
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


def reduce_repeats(
    reduce: Reduce,
    n: int,
    rows: Iterable[ScoredRow],
    context: ReduceContext,
    *,
    further_subsets: FurtherSubsets | None = None,
) -> list[Result]:
    """Return the results of a task with repeats: those of the task, each the mean over its repeats, then the estimates
    of each metric.

    Args:
        reduce: The task's own reduction.
        n: The number of repeats.
        rows: Its rows; read several times.
        context: The context of the reduction.
        further_subsets: The subsets of a row besides its own (``Task.further_subsets``).
    """
    found = _over_questions(rows, n, context.seed, further_subsets)
    repeats = [RowsOfVariant(rows, number, REPEATS, score_of_repeat) for number in range(n)]
    own = mean_results(reduce_variants(reduce, repeats, context), found)
    estimated = estimates_among({(one.metric, one.filter) for one in own})  # of the orders of choices, if there are
    return behind_their_parts(own, partial(_estimates, found=found, n=n, estimated=estimated))


def _over_questions(
    rows: Iterable[ScoredRow], n: int, seed: int, further_subsets: FurtherSubsets | None
) -> dict[ResultKey, Result]:
    """Return the means over questions of the metrics' own values and of their estimates. ``pass@k`` and ``pass^k`` are
    only those of metrics whose values are all 0 or 1.
    """
    not_shares: dict[MetricKey, None] = {}

    def values_of(score: Score) -> Mapping[MetricKey, Any]:
        not_shares.update({key: None for key, each in repeats_in(score.values).items() if not are_shares(each)})
        return {
            key: value
            for key, value in with_estimates(score.values).items()
            if isinstance(value, (int, float)) and not is_of_repeat(key[1])
        }

    found = over_questions(rows, values_of, seed, further_subsets)
    unknown = {(metric, name) for metric, own in not_shares for name in _share_names(own, n)}
    return {key: result for key, result in found.items() if key[:2] not in unknown}


def _estimates(
    result: Result, *, found: Mapping[ResultKey, Result], n: int, estimated: Collection[MetricKey]
) -> Iterator[Result]:
    """Yield the estimates of a metric; none of a result that is an estimate itself.

    If all values of its questions are 0 or 1, they are shares of questions from 0 to 1, whatever the scale of the
    task's own number. Where lower values are better, a value of 1 is no success, and there is no ``pass@k``. Of other
    values, there is ``maj@N`` if the task's number is their mean, and otherwise only ``mean@N``.
    """
    if (result.metric, result.filter) in estimated:
        return
    yield replace(result, filter=filter_of(f"mean@{n}", result.filter), artifacts=())
    shares = _share_names(result.filter, n)
    mean = found.get((result.metric, result.filter, result.subset))
    is_binary = (result.metric, shares[0], result.subset) in found
    if mean is None or not (is_binary or is_close(result.value, mean.value)):
        return
    for name in ([] if result.higher_is_better is False else shares) + [filter_of(f"maj@{n}", result.filter)]:
        estimate = found.get((result.metric, name, result.subset))
        if estimate is not None:
            bounds = (0.0, 1.0) if is_binary else result.bounds
            yield replace(estimate, higher_is_better=result.higher_is_better, bounds=bounds)


def _share_names(own: str, n: int) -> list[str]:
    """Return the filters of all ``pass@k``, then of all ``pass^k``."""
    return [filter_of(f"pass{how}{k}", own) for how in "@^" for k in range(1, n + 1)]
