"""Reducing variants: each by the task's own reduction, like a run of its own, and their results to means.

A question is a unit of all intervals: its variants are one value, so that they count as a cluster.
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
from polymeter.core.records.spread import UNBOUNDED, Bounds
from polymeter.core.request import Response
from polymeter.core.task import MetricKey, ReduceContext, Result, Score, ScoredRow
from polymeter.run.variants.scoring import VariantKind
from polymeter.stats import MetricPlan, RowReduction

ResultKey = tuple[str, str, tuple[str, ...]]
Reduce = Callable[[Iterable[ScoredRow], ReduceContext], list[Result]]
FurtherSubsets = Callable[[int], Sequence[tuple[str, ...]]]
BoundsOf = Callable[[MetricKey], Bounds]
ScoreOf = Callable[[Score, int], Score]
"""From the score of a sample and the number of a variant to the score of that variant."""
_MEAN = Aggregation("mean", lambda values: math.fsum(values) / len(values), "mean")


@dataclass(frozen=True, slots=True)
class RowsOfVariant:
    """The rows of a task as one variant alone would have left them; every iteration reads them anew.

    Attributes:
        rows: The rows of all variants.
        number: The number of the variant, from 0.
        kind: What a variant is.
        score_of: Returns its score.
    """

    rows: Iterable[ScoredRow]
    number: int
    kind: VariantKind
    score_of: ScoreOf

    def __iter__(self) -> Iterator[ScoredRow]:
        for row in self.rows:
            if row.score is None:
                yield replace(row, load_responses=None)
                continue
            places = self.kind.places(row.score, self.number)
            yield replace(
                row, score=self.score_of(row.score, self.number), load_responses=_ResponsesAt(row.responses, places)
            )


@dataclass(frozen=True, slots=True)
class _ResponsesAt:
    """The responses at some places, loaded when they are asked for."""

    load: Callable[[], tuple[Response, ...]]
    places: Sequence[int]

    def __call__(self) -> tuple[Response, ...]:
        found = self.load()
        return tuple([found[place] for place in self.places])


def reduce_variants(reduce: Reduce, variants: Sequence[RowsOfVariant], context: ReduceContext) -> list[list[Result]]:
    """Return the results of each variant.

    Args:
        reduce: The task's own reduction.
        variants: The rows of each variant.
        context: The context of the reduction.
    """
    context = replace(context, failed=None if context.failed is None else _once(context.failed))
    return [_reduced(reduce, rows, context) for rows in variants]


def mean_results(each: Sequence[Sequence[Result]], found: Mapping[ResultKey, Result]) -> list[Result]:
    """Return the results of a task, each the mean over its variants.

    Args:
        each: The results of each variant.
        found: The means over questions; see ``over_questions``.
    """
    return [_mean(of_key, found) for of_key in _by_key(each)]


def over_questions(
    rows: Iterable[ScoredRow],
    values_of: Callable[[Score], Mapping[tuple[str, str], Any]],
    seed: int,
    further_subsets: FurtherSubsets | None,
    bounds_of: BoundsOf = lambda key: UNBOUNDED,
) -> dict[ResultKey, Result]:
    """Return the means over questions of their values, for the whole task and for each subset. A question with a NaN is
    left out of that mean, and its ``n`` is smaller.

    Args:
        rows: The rows of all variants; read once.
        values_of: Returns the numbers of a question, of a score.
        seed: For resampling.
        further_subsets: The subsets of a row besides its own (``Task.further_subsets``).
        bounds_of: Returns the range of a value, by its key.
    """
    whole = _means(bounds_of)
    grouped: dict[str, RowReduction] = {}  # rows may be in a subset of each column
    for row in rows:
        score = None if row.score is None else replace(row.score, values=values_of(row.score))
        whole.add(score, row.subset, row.cluster, row.id)
        for path in further_subsets(row.index) if further_subsets is not None else ():
            grouped.setdefault(path[0], _means(bounds_of)).add(score, path, row.cluster, row.id)
    results = [one for reduction in grouped.values() for one in reduction.results(seed) if one.subset]
    return {(one.metric, one.filter, one.subset): one for one in [*results, *whole.results(seed)]}


def behind_their_parts(results: Sequence[Result], further: Callable[[Result], Iterator[Result]]) -> list[Result]:
    """Return results, each part (the whole task, then the subsets) followed by further results of its own."""
    parts = [one for one in results if not one.subset], [one for one in results if one.subset]
    return [one for part in parts for one in (*part, *(more for own in part for more in further(own)))]


def _once(failed: Callable[[PolymeterError], None]) -> Callable[[PolymeterError], None]:
    """Report a failure of which every variant has an equal one a single time."""
    told: set[str] = set()

    def fail(error: PolymeterError) -> None:
        if str(error) not in told:
            told.add(str(error))
            failed(error)

    return fail


def _reduced(reduce: Reduce, rows: RowsOfVariant, context: ReduceContext) -> list[Result]:
    """Reduce one variant. Files of the first stand where a run without variants has them, those of others in a folder
    of their own.
    """
    word, number = rows.kind.word, rows.number
    if number == 0:
        return list(reduce(rows, context))
    folder = context.output_dir / f"{word}_{number + 1}"
    own = replace(context, output_dir=folder, seed=seed_for(context.seed, word, number))
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
    """Return the results of all variants, together by what they are results of."""
    found: dict[ResultKey, list[Result]] = {}
    for results in each:
        for result in results:
            found.setdefault((result.metric, result.filter, result.subset), []).append(result)
    return list(found.values())


def _mean(each: Sequence[Result], found: Mapping[ResultKey, Result]) -> Result:
    """Return the mean of the results of variants.

    If it is the mean of the questions' values, its uncertainty is that of these. Otherwise its error is at most the
    mean of the variants' errors, however much these depend on each other, and so are the ends of its interval.
    """
    first = each[0]
    artifacts = tuple(dict.fromkeys(path for result in each for path in result.artifacts))
    value = _mean_value([result.value for result in each])
    known = found.get((first.metric, first.filter, first.subset))
    if known is not None and is_close(value, known.value) and first.item_errors is None:
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


def is_close(value: Any, other: Any) -> bool:
    """Return whether two values are numbers that are equal but for rounding."""
    return (
        isinstance(value, (int, float))
        and isinstance(other, (int, float))
        and math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-12)
    )


def _means(bounds_of: BoundsOf) -> RowReduction:
    return RowReduction((), lambda key: MetricPlan(*key, _MEAN, None, bounds_of(key)))
