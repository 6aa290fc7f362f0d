"""Results of repeats.

Each repeat is reduced by the task's own reduction, like a run of its own. Under the metric's own key stands the mean of
these results, and behind it the estimates. A question is a unit of all intervals: its repeats are one value, so that
they count as a cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polymeter.core.errors import PolymeterError
from polymeter.core.identity import seed_for
from polymeter.core.metric import Aggregation
from polymeter.core.records.attempts import are_shares, filter_of, is_of_repeat, repeats_in, with_estimates
from polymeter.core.request import Response
from polymeter.core.task import MetricKey, ReduceContext, Result, ScoredRow
from polymeter.run.repeats.scoring import places_of_repeat, score_of_repeat
from polymeter.stats import MetricPlan, RowReduction

ResultKey = tuple[str, str, tuple[str, ...]]
Reduce = Callable[[Iterable[ScoredRow], ReduceContext], list[Result]]
FurtherSubsets = Callable[[int], Sequence[tuple[str, ...]]]
_MEAN = Aggregation("mean", lambda values: math.fsum(values) / len(values), "mean")


@dataclass(frozen=True, slots=True)
class RowsOfRepeat:
    """The rows of a task as one repeat alone would have left them; every iteration reads them anew.

    Attributes:
        rows: The rows of all repeats.
        number: The number of the repeat, from 0.
    """

    rows: Iterable[ScoredRow]
    number: int

    def __iter__(self) -> Iterator[ScoredRow]:
        for row in self.rows:
            if row.score is None:
                yield replace(row, load_responses=None)
                continue
            places = places_of_repeat(row.score, self.number)
            yield replace(
                row, score=score_of_repeat(row.score, self.number), load_responses=_ResponsesAt(row.responses, places)
            )


@dataclass(frozen=True, slots=True)
class _ResponsesAt:
    """The responses at some places, loaded when they are asked for."""

    load: Callable[[], tuple[Response, ...]]
    places: Sequence[int]

    def __call__(self) -> tuple[Response, ...]:
        found = self.load()
        return tuple([found[place] for place in self.places])


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
    context = replace(context, failed=None if context.failed is None else _once(context.failed))
    each = [_of_repeat(reduce, RowsOfRepeat(rows, number), context, number) for number in range(n)]
    found = _over_questions(rows, n, context.seed, further_subsets)
    own = [_mean(of_key, found) for of_key in _by_key(each)]
    results: list[Result] = []
    for part in ([one for one in own if not one.subset], [one for one in own if one.subset]):
        results += [*part, *(estimate for one in part for estimate in _estimates(one, found, n))]
    return results


def _once(failed: Callable[[PolymeterError], None]) -> Callable[[PolymeterError], None]:
    """Report a failure of which every repeat has an equal one a single time."""
    told: set[str] = set()

    def fail(error: PolymeterError) -> None:
        if str(error) not in told:
            told.add(str(error))
            failed(error)

    return fail


def _of_repeat(reduce: Reduce, rows: RowsOfRepeat, context: ReduceContext, number: int) -> list[Result]:
    """Reduce one repeat. Files of the first stand where a run without repeats has them, those of others in a folder of
    their own.
    """
    if number == 0:
        return list(reduce(rows, context))
    folder = context.output_dir / f"repeat_{number + 1}"
    own = replace(context, output_dir=folder, seed=seed_for(context.seed, "repeat", number))
    return [
        replace(result, artifacts=tuple(_placed(path, folder) for path in result.artifacts))
        for result in reduce(rows, own)
    ]


def _placed(path: str, folder: Path) -> str:
    """Return the path of a file, relative to the run folder. A reduction may name it relative to the folder above its
    own.
    """
    run = folder.parent.parent
    return path if (run / path).exists() else f"{folder.parent.name}/{path}"


def _by_key(each: Sequence[Sequence[Result]]) -> list[list[Result]]:
    """Return the results of all repeats, together by what they are results of."""
    found: dict[ResultKey, list[Result]] = {}
    for results in each:
        for result in results:
            found.setdefault((result.metric, result.filter, result.subset), []).append(result)
    return list(found.values())


def _mean(each: Sequence[Result], found: Mapping[ResultKey, Result]) -> Result:
    """Return the mean of the results of repeats.

    If it is the mean of the questions' values, its uncertainty is that of these. Otherwise its error is at most the
    mean of the repeats' errors, however much these depend on each other, and so are the ends of its interval.
    """
    first = each[0]
    artifacts = tuple(dict.fromkeys(path for result in each for path in result.artifacts))
    value = _mean_value([result.value for result in each])
    known = found.get((first.metric, first.filter, first.subset))
    if known is not None and _is_close(value, known.value) and first.item_errors is None:
        return replace(
            known,
            value=value,
            higher_is_better=first.higher_is_better,
            artifacts=artifacts,
            n_planned=first.n_planned,
            bounds=first.bounds,
        )
    ends = [result.interval for result in each if result.interval is not None]
    errors = [result.stderr for result in each if result.stderr is not None]
    is_known = len(ends) == len(each)
    return replace(
        first,
        value=value,
        n=min(result.n for result in each),
        stderr=math.fsum(errors) / len(errors) if len(errors) == len(each) else None,
        interval=(_mean_of([low for low, _ in ends]), _mean_of([high for _, high in ends])) if is_known else None,
        ci_method=first.ci_method if is_known else None,
        no_interval="" if is_known else next((one.no_interval for one in each if one.no_interval), ""),
        artifacts=artifacts,
        spread=None,
    )


def _mean_value(values: Sequence[Any]) -> Any:
    """Return the mean of numbers, or of those under each key; other values are all kept, if they differ."""
    if all(isinstance(value, (int, float)) for value in values):
        return _mean_of(values)
    if all(isinstance(value, dict) and value.keys() == values[0].keys() for value in values):
        return {key: _mean_value([value[key] for value in values]) for key in values[0]}
    return values[0] if all(value == values[0] for value in values) else list(values)


def _mean_of(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _is_close(value: Any, other: Any) -> bool:
    return (
        isinstance(value, (int, float))
        and isinstance(other, (int, float))
        and math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-12)
    )


def _over_questions(
    rows: Iterable[ScoredRow], n: int, seed: int, further_subsets: FurtherSubsets | None
) -> dict[ResultKey, Result]:
    """Return the means over questions of the metrics' own values and of their estimates, for the whole task and for
    each subset.

    ``pass@k`` and ``pass^k`` are only those of metrics whose values are all 0 or 1. A question with a NaN is left
    out of them, and their ``n`` is smaller.
    """
    not_shares: dict[MetricKey, None] = {}
    whole = _means()
    grouped: dict[str, RowReduction] = {}  # rows may be in a subset of each column
    for row in rows:
        score = row.score
        if score is not None:
            values = with_estimates(score.values)
            not_shares |= {key: None for key, each in repeats_in(score.values).items() if not are_shares(each)}
            kept = {
                key: value
                for key, value in values.items()
                if isinstance(value, (int, float)) and not is_of_repeat(key[1])
            }
            score = replace(score, values=kept)
        whole.add(score, row.subset, row.cluster, row.id)
        for path in further_subsets(row.index) if further_subsets is not None else ():
            grouped.setdefault(path[0], _means()).add(score, path, row.cluster, row.id)
    unknown = {(metric, name) for metric, own in not_shares for name in _share_names(own, n)}
    results = [one for reduction in grouped.values() for one in reduction.results(seed) if one.subset]
    found = {(one.metric, one.filter, one.subset): one for one in [*results, *whole.results(seed)]}
    return {key: result for key, result in found.items() if key[:2] not in unknown}


def _means() -> RowReduction:
    return RowReduction((), lambda key: MetricPlan(*key, _MEAN, None))


def _estimates(result: Result, found: Mapping[ResultKey, Result], n: int) -> Iterator[Result]:
    """Yield the estimates of a metric.

    If all values of its questions are 0 or 1, they are shares of questions from 0 to 1, whatever the scale of the
    task's own number. Where lower values are better, a value of 1 is no success, and there is no ``pass@k``. Of other
    values, there is ``maj@N`` if the task's number is their mean, and otherwise only ``mean@N``.
    """
    yield replace(result, filter=filter_of(f"mean@{n}", result.filter), artifacts=())
    shares = _share_names(result.filter, n)
    mean = found.get((result.metric, result.filter, result.subset))
    is_binary = (result.metric, shares[0], result.subset) in found
    if mean is None or not (is_binary or _is_close(result.value, mean.value)):
        return
    for name in ([] if result.higher_is_better is False else shares) + [filter_of(f"maj@{n}", result.filter)]:
        estimate = found.get((result.metric, name, result.subset))
        if estimate is not None:
            bounds = (0.0, 1.0) if is_binary else result.bounds
            yield replace(estimate, higher_is_better=result.higher_is_better, bounds=bounds)


def _share_names(own: str, n: int) -> list[str]:
    """Return the filters of all ``pass@k``, then of all ``pass^k``."""
    return [filter_of(f"pass{how}{k}", own) for how in "@^" for k in range(1, n + 1)]
