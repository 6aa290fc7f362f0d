"""The default reduction from rows to results. Formats with other reductions bring their own.

One pass over the rows keeps the values of each metric and nothing else. All results are computed from these values, in
row order.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from polymeter.core.errors import ScoreError
from polymeter.core.identity import seed_for
from polymeter.core.metric import Aggregation
from polymeter.core.records.spread import UNBOUNDED, Bounds, is_bounded
from polymeter.core.task import MetricKey, ReduceContext, Result, Score, ScoredRow
from polymeter.stats.estimate import Estimate, estimate
from polymeter.stats.means.clusters import ALONE, Partition

_ABSENT = object()
_FAST = frozenset({float, int, bool})
_FIRST = 0
"""The index of the first row's subset."""

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class MetricPlan:
    """One metric of a task's results.

    Attributes:
        name: Its name, the first part of its key in a score.
        filter: The filter that the answers went through, the second part.
        aggregation: The function that turns its values into one number.
        higher_is_better: The direction; ``None``: unknown.
        bounds: The range of its values.
    """

    name: str
    filter: str
    aggregation: Aggregation
    higher_is_better: bool | None
    bounds: Bounds = UNBOUNDED


def reduce_rows(rows: Iterable[ScoredRow], metrics: Sequence[MetricPlan], context: ReduceContext) -> list[Result]:
    """Compute the results of a task from its rows.

    A row without a score, without a metric's key, or with NaN as its value is left out of that metric. The whole task
    comes first. If the rows have more than one subset, each subset follows, in order of appearance. Under a closed-form
    mean, dictionaries of numbers become a dictionary of means. Intervals are those of ``mean_intervals`` and
    ``bootstrap``. Clusters count if there are at least two.

    Args:
        rows: In sample order; read once.
        metrics: The metrics to compute.
        context: The context; its ``seed`` is used for resampling.

    Raises:
        ScoreError: if an aggregation raises, or a value under a mean is not a number. The message names metric, sample
            and value.
    """
    reduction = RowReduction(metrics)
    for row in rows:
        reduction.add(row.score, row.subset, row.cluster, row.id)
    return reduction.results(context.seed)


class RowReduction:
    """A reduction that receives its rows one by one, for callers that make several reductions in one pass; see
    ``reduce_rows``.

    Args:
        metrics: The metrics to compute.
        plan_of: A function that returns the plan of another metric, by its key, when a row first has it; ``None``: the
            metric is left out. Its results come after those of earlier metrics.
    """

    def __init__(
        self, metrics: Iterable[MetricPlan], plan_of: Callable[[MetricKey], MetricPlan | None] | None = None
    ) -> None:
        self._columns: list[_MetricColumn] = []
        self._plan_of = plan_of
        self._known: set[MetricKey] = set()
        self._subsets: dict[tuple[str, ...], int] = {}
        self._clusters: dict[str, int] = {}
        for plan in metrics:
            self._compute(plan)

    def expect(self, plan: MetricPlan) -> None:
        """Include results of a metric, even if no row has it."""
        if all(column.key != (plan.name, plan.filter) for column in self._columns):
            self._compute(plan)

    def add(self, score: Score | None, subset: tuple[str, ...], cluster: str | None, sample_id: str) -> None:
        """Add a row."""
        number = _number_of(subset, self._subsets)
        if score is None:
            return
        of_cluster = ALONE if cluster is None else _number_of(cluster, self._clusters)
        values = score.values
        if self._plan_of is not None and not self._known.issuperset(values):
            self._learn(values, self._plan_of)
        for column in self._columns:
            value = values.get(column.key, _ABSENT)
            if value is not _ABSENT:
                column.add(value, number, of_cluster, sample_id)

    def results(self, seed: int) -> list[Result]:
        """Return the results of the rows so far: of each metric, for the whole and then for each subset."""
        parts: list[tuple[tuple[str, ...], int | None]] = [((), None)]
        if len(self._subsets) > 1:
            parts += self._subsets.items()
        return [column.result(path, number, seed) for column in self._columns for path, number in parts]

    def _learn(self, keys: Iterable[MetricKey], plan_of: Callable[[MetricKey], MetricPlan | None]) -> None:
        for key in keys:
            if key not in self._known:
                self._known.add(key)
                plan = plan_of(key)
                if plan is not None:
                    self._compute(plan)

    def _compute(self, plan: MetricPlan) -> None:
        self._known.add((plan.name, plan.filter))
        self._columns.append(_MeanColumn(plan) if plan.aggregation.uncertainty == "mean" else _MetricColumn(plan))


class _MetricColumn:
    """The values of one metric, of any type."""

    __slots__ = ("clusters", "key", "plan", "subsets", "values")

    def __init__(self, plan: MetricPlan) -> None:
        self.plan = plan
        self.key = (plan.name, plan.filter)
        self.values: list[Any] | array[float] = []
        # Most rows have neither a subset nor a cluster, so both are kept only from the first row that has one.
        self.subsets: array[int] | None = None
        self.clusters: array[int] | None = None

    def add(self, value: Any, subset: int, cluster: int, sample_id: str) -> bool:
        """Add the value of one sample unless it is NaN, and return whether it was added."""
        if _is_nan(value):
            return False
        self._append(value, subset, cluster)
        return True

    def result(self, path: tuple[str, ...], subset: int | None, seed: int) -> Result:
        """Return the result of one subset, or of the whole."""
        plan = self.plan
        number, n = self.estimate(subset, seed_for(seed, plan.name, plan.filter, *path), self._label(path))
        return Result(
            plan.name,
            plan.filter,
            value=number.value,
            n=n,
            subset=path,
            stderr=number.stderr,
            interval=number.interval,
            stderr_method=number.method,
            higher_is_better=plan.higher_is_better,
            ci_method=number.ci_method,
            no_interval=number.no_interval,
            spread=number.spread,
            bounds=self._range(number, n),
        )

    def _range(self, number: Estimate, n: int) -> Bounds:
        """Return the declared range, unless a value contradicts it. If none is declared, return 0 to 1 if several
        values lie there.
        """
        declared = next(
            (bounds for bounds in (self.plan.bounds, self.plan.aggregation.bounds) if is_bounded(bounds)), None
        )
        if declared is None:
            return number.spread.bounds if number.spread is not None and n > 1 else UNBOUNDED
        is_kept = _is_in(number.value, declared) if number.spread is None else number.spread.bounds == declared
        return declared if is_kept else UNBOUNDED

    def estimate(self, subset: int | None, seed: int, label: str) -> tuple[Estimate, int]:
        """Return the estimate for one subset (``None``: for the whole), and the number of samples behind it."""
        positions = self._positions(subset)
        n = len(self.values) if positions is None else len(positions)
        if n == 0:
            return Estimate(None), 0
        values = self._at(positions)
        plan = self.plan
        partition = None
        if self.clusters is not None and plan.aggregation.uncertainty != "none":
            clusters = np.asarray(self.clusters, dtype=np.int64)
            clusters = clusters if positions is None else clusters[positions]
            partition = Partition.of_codes(clusters) if bool((clusters != ALONE).any()) else None
        return (
            estimate(values, plan.aggregation, clusters=partition, seed=seed, label=label, bounds=plan.bounds),
            n,
        )

    def _append(self, value: Any, subset: int, cluster: int) -> None:
        if subset or self.subsets is not None:
            self.subsets = _noted(subset, self.subsets, _FIRST, len(self.values))
        if cluster != ALONE or self.clusters is not None:
            self.clusters = _noted(cluster, self.clusters, ALONE, len(self.values))
        self.values.append(value)

    def _positions(self, subset: int | None) -> NDArray[np.intp] | None:
        if subset is None:
            return None
        if self.subsets is None:
            return np.arange(len(self.values) if subset == _FIRST else 0)
        return np.flatnonzero(np.asarray(self.subsets) == subset)

    def _at(self, positions: NDArray[np.intp] | None) -> Sequence[Any]:
        return list(self.values) if positions is None else [self.values[i] for i in positions.tolist()]

    def _label(self, path: tuple[str, ...]) -> str:
        where = f" in subset {'/'.join(path)!r}" if path else ""
        return f"metric {self.plan.name!r} (filter {self.plan.filter!r}){where}"


class _MeanColumn(_MetricColumn):
    """Numbers in a compact array, or dictionaries of numbers: then one column per key."""

    __slots__ = ("parts",)

    def __init__(self, plan: MetricPlan) -> None:
        super().__init__(plan)
        self.values: array[float] = array("d")
        self.parts: dict[Any, _MeanColumn] = {}

    def add(self, value: Any, subset: int, cluster: int, sample_id: str) -> bool:
        if type(value) not in _FAST:
            if isinstance(value, Mapping) and (self.parts or not self.values):
                return self._add_parts(value, subset, cluster, sample_id)
            value = self._as_number(value, sample_id)
        if value != value:  # noqa: PLR0124  (only NaN differs from itself)
            return False
        if self.parts:
            raise self._not_a_number(value, sample_id, "Other samples have a dictionary of numbers for this metric.")
        self._append(value, subset, cluster)
        return True

    def estimate(self, subset: int | None, seed: int, label: str) -> tuple[Estimate, int]:
        if not self.parts:
            return super().estimate(subset, seed, label)
        means = {key: part.estimate(subset, seed, label)[0].value for key, part in self.parts.items()}
        positions = self._positions(subset)
        n = len(self.values) if positions is None else len(positions)
        return Estimate(means if n else None), n

    def _at(self, positions: NDArray[np.intp] | None) -> array[float]:
        """Return an array: a list of a million floats needs four times the memory."""
        if positions is None:
            return self.values
        return array("d", np.asarray(self.values)[positions].tobytes())

    def _add_parts(self, value: Mapping[Any, Any], subset: int, cluster: int, sample_id: str) -> bool:
        is_added = False
        for key, item in value.items():
            if isinstance(item, Mapping):
                raise self._not_a_number(item, sample_id, f"It is under the key {key!r}.")
            is_added |= self.parts.setdefault(key, _MeanColumn(self.plan)).add(item, subset, cluster, sample_id)
        if is_added:
            self._append(math.nan, subset, cluster)  # count the sample; the numbers are in the parts
        return is_added

    def _as_number(self, value: Any, sample_id: str) -> float:
        if hasattr(value, "dtype") and tuple(getattr(value, "shape", (0,))) == ():
            value = value.item()
        if isinstance(value, Real):
            return float(value)
        raise self._not_a_number(value, sample_id, "Give a number, or NaN if the sample has none.")

    def _not_a_number(self, value: Any, sample_id: str, hint: str) -> ScoreError:
        shown = repr(value)[:200]
        return ScoreError(
            f"Metric {self.plan.name!r} of sample {sample_id!r} is {shown}, which has no {self.plan.aggregation.name}.",
            where=f"filter {self.plan.filter!r}",
            hint=hint,
        )


def _noted(number: int, before: array[int] | None, usual: int, n_before: int) -> array[int]:
    """Return the numbers of a column's rows with one more. Rows before the first kept one get the usual number."""
    numbers = array("q", [usual]) * n_before if before is None else before
    numbers.append(number)
    return numbers


def _number_of(label: K, numbers: dict[K, int]) -> int:
    return numbers.setdefault(label, len(numbers))


def _is_in(value: Any, bounds: Bounds) -> bool:
    """Check that a value is not known to lie outside a range."""
    low, high = bounds
    if not isinstance(value, (int, float)):
        return True
    return (low is None or value >= low) and (high is None or value <= high)


def _is_nan(value: Any) -> bool:
    """Return whether a value is NaN, in Python's or NumPy's precision."""
    if isinstance(value, float):
        return value != value  # noqa: PLR0124
    return isinstance(value, np.floating) and bool(np.isnan(value))
