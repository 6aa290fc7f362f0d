"""The scores of a comparison: one line for each metric of a task or group that is a mean of samples.

A difference is always the second run minus the first.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polymeter.analysis.comparison.copies import ALL_COPIES, copies_of
from polymeter.analysis.comparison.runs import ComparedRun, MeanResult, Subset
from polymeter.core.identity import seed_for
from polymeter.core.records.attempts import estimates_among
from polymeter.stats import (
    CombinedDifference,
    PairedDifference,
    Partition,
    detectable_effect,
    paired_difference,
    paired_test,
    unpaired_difference,
)
from polymeter.stats.intervals import Interval
from polymeter.store.reading.outcomes import SampleOutcome, ScoreKey

Kind = Literal["task", "subset", "group"]


@dataclass(frozen=True, slots=True)
class ScoreComparison:
    """One metric of a task or group in two runs.

    Attributes:
        kind: Whether it belongs to a task, a subset of a task, or a group.
        name: The name of the task or group.
        metric: The metric.
        filter: The filter that the answers went through.
        higher_is_better: Its direction; ``None``: unknown.
        is_main: Whether it is the first of its task, subset or group. Those lines are shown, and those of a kind form
            one family of tests.
        n: The number of pairs; if the runs have different samples, the number of samples of both together.
        first: The mean of the first run, over the pairs.
        second: The mean of the second run, over the pairs.
        difference: The second minus the first.
        stderr: Its standard error.
        interval: Its 95 % interval.
        ci_method: How the interval was computed.
        no_interval: Why the interval is missing; empty if there is one.
        p_value: The two-sided p-value of the hypothesis that the two models are equal.
        p_method: How the p-value was computed.
        p_corrected: The p-value, corrected for all lines that are tested together (Holm).
        family: The number of lines that are tested together.
        false_positive_rate: How often the test, before the correction, finds a difference between equal models, given
            the samples that differ; ``None`` if unknown.
        effect_size: Cohen's d: the difference over the standard deviation of the differences of pairs, or of the values
            if samples are not paired.
        odds_ratio: For right and wrong: the number of samples that only the second gets right, over the number that
            only the first gets right.
        detectable: The difference that four of five such comparisons would show; ``None`` without an interval.
        wins: The number of pairs in which the second is better, or has the higher value if the direction is unknown.
        ties: The number of pairs with equal values.
        losses: The number of pairs in which the first is better.
        gained: The ids of the samples in which the second is better, the greatest differences first.
        lost: The ids of the samples in which the first is better.
        n_only_first: The number of samples with a value only in the first run, which are left out.
        n_only_second: The same for the second run.
        n_neither: The number of samples of both runs without a value in either.
        subset: The path of the subset; empty for a whole task or a group.
        n_copies: The number of pairs that cannot differ, because both runs have the same answers. They count in the
            means and in no test.
    """

    kind: Kind
    name: str
    metric: str
    filter: str
    higher_is_better: bool | None
    is_main: bool
    n: int
    first: float | None
    second: float | None
    difference: float | None
    stderr: float | None = None
    interval: Interval | None = None
    ci_method: str | None = None
    no_interval: str = ""
    p_value: float | None = None
    p_method: str = ""
    p_corrected: float | None = None
    family: int = 1
    false_positive_rate: float | None = None
    effect_size: float | None = None
    odds_ratio: float | None = None
    detectable: float | None = None
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    n_only_first: int = 0
    n_only_second: int = 0
    n_neither: int = 0
    subset: Subset = ()
    n_copies: int = 0

    @property
    def gain(self) -> float | None:
        """The gain of the second run: the difference, with its sign reversed if lower values are better."""
        if self.difference is None:
            return None
        return -self.difference if self.higher_is_better is False else self.difference


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A metric that cannot be compared sample by sample, with the value of each run.

    Attributes:
        kind: Whether it belongs to a task, a subset of a task, or a group.
        name: The name of the task or group.
        metric: The metric.
        filter: The filter.
        why: The reason.
        first: The value of the first run.
        second: The value of the second run.
        subset: The path of the subset; empty for a whole task or a group.
    """

    kind: Kind
    name: str
    metric: str
    filter: str
    why: str
    first: Any
    second: Any
    subset: Subset = ()


@dataclass(slots=True)
class TaskScores:
    """The comparison of one task, with the parts that groups need."""

    lines: list[ScoreComparison]
    others: list[NotCompared]
    members: dict[ScoreKey, TaskDifference] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskDifference:
    """The parts of a task's comparison in one metric that groups need: the differences of its pairs, and both means."""

    differences: NDArray[np.float64]
    paired: PairedDifference
    partition: Partition | None
    scale: float
    first: float
    second: float


def task_scores(
    first: ComparedRun,
    second: ComparedRun,
    task: str,
    *,
    metric: str,
    is_unpaired: bool,
    has_subsets: bool = False,
    seed: int,
) -> TaskScores:
    """Compare all metrics of a task.

    Args:
        first: A run.
        second: The other run.
        task: A task of both.
        metric: Only this metric; empty: all.
        is_unpaired: Whether to compare means instead of samples.
        has_subsets: Whether to compare each subset that both runs have too.
        seed: For resampling.
    """
    found = _part_scores(first, second, task, (), metric=metric, is_unpaired=is_unpaired, seed=seed)
    in_both = set(second.subsets(task))
    for subset in first.subsets(task) if has_subsets else ():
        if subset in in_both:
            part = _part_scores(first, second, task, subset, metric=metric, is_unpaired=is_unpaired, seed=seed)
            found.lines += part.lines
            found.others += part.others
    return found


def _part_scores(
    first: ComparedRun,
    second: ComparedRun,
    task: str,
    subset: Subset,
    *,
    metric: str,
    is_unpaired: bool,
    seed: int,
) -> TaskScores:
    """Compare all metrics of a whole task, or of one subset."""
    kind: Kind = "subset" if subset else "task"
    means, others = first.means(task, subset)
    means_of_second, others_of_second = second.means(task, subset)
    found = TaskScores([], [])
    pairs = None
    if not is_unpaired:
        fixed = copies_of(first, second, task).fixed
        pairs = _Pairs(first.part(task, subset), second.part(task, subset), fixed)
    keys = {*means, *others}, {*means_of_second, *others_of_second}
    # Runs with different numbers of repeats: the metrics themselves are compared.
    only_of_one = (estimates_among(keys[0]) | estimates_among(keys[1])) - (keys[0] & keys[1])
    for key in dict.fromkeys([*means, *others, *means_of_second, *others_of_second]):
        if metric not in ("", key[0]) or key in only_of_one:
            continue
        one, two = _same_scale(means.get(key), means_of_second.get(key), first, second, task, subset)
        if one is None or two is None:
            why = _why_not(key, first, second, others, others_of_second, one)
            values = first.value(task, key, subset), second.value(task, key, subset)
            found.others.append(NotCompared(kind, task, *key, why, *values, subset))
        elif one.scale != two.scale:
            why = "only one of the runs gives it in percent"
            values = first.value(task, key, subset), second.value(task, key, subset)
            found.others.append(NotCompared(kind, task, *key, why, *values, subset))
        elif pairs is None:
            sides = first.part(task, subset), second.part(task, subset)
            line = _unpaired(*sides, task, one, is_main=not found.lines)
            found.lines.append(replace(line, kind=kind, subset=subset))
        else:
            own_seed = seed_for(seed, "compare", task, *key, *subset)
            line, member = pairs.compare(task, one, own_seed, is_main=not found.lines)
            found.lines.append(replace(line, kind=kind, subset=subset))
            if member is not None:
                found.members[key] = member
    return found


class _Pairs:
    """The samples of a task in two runs, side by side."""

    def __init__(
        self, first: Sequence[SampleOutcome], second: Sequence[SampleOutcome], fixed: Collection[str] = ()
    ) -> None:
        by_id = {outcome.id: outcome for outcome in second}
        self._pairs = [(outcome, by_id[outcome.id]) for outcome in first if outcome.id in by_id]
        labels = [outcome.cluster for outcome, _ in self._pairs]
        self._clusters = labels if any(label is not None for label in labels) else None
        self._is_fixed = np.array([outcome.id in fixed for outcome, _ in self._pairs], dtype=bool)

    def compare(
        self, task: str, result: MeanResult, seed: int, *, is_main: bool
    ) -> tuple[ScoreComparison, TaskDifference | None]:
        key, scale, direction = result.key, result.scale, result.higher_is_better
        a, b = (
            np.array([own.values.get(key, math.nan) for own in side], dtype=np.float64)
            for side in (zip(*self._pairs, strict=True) if self._pairs else ((), ()))
        )
        is_one, is_two = ~np.isnan(a), ~np.isnan(b)
        is_pair = is_one & is_two
        paired = paired_difference(b.tolist(), a.tolist(), clusters=self._clusters, bounds=result.bounds)
        n_only = int((is_one & ~is_two).sum()), int((is_two & ~is_one).sum())
        n_neither = int((~is_one & ~is_two).sum())
        if paired.difference is None:
            why = "no sample has a score in both"
            line = ScoreComparison("task", task, *key, direction, is_main, 0, None, None, None, no_interval=why)
            return replace(line, n_only_first=n_only[0], n_only_second=n_only[1], n_neither=n_neither), None
        test = paired_test(b.tolist(), a.tolist(), clusters=self._clusters, seed=seed)
        places = np.flatnonzero(is_pair)
        differences = (b - a)[places]
        gains = -differences if direction is False else differences
        mean_a, mean_b = (math.fsum(side[places].tolist()) / places.size for side in (a, b))
        line = ScoreComparison(
            "task",
            task,
            *key,
            direction,
            is_main,
            paired.n,
            scale * mean_a,
            scale * mean_b,
            scale * paired.difference,
            _scaled(paired.stderr, scale),
            _scaled_interval(paired.interval, scale),
            paired.ci_method,
            paired.no_interval,
            test.p_value,
            test.method,
            false_positive_rate=test.false_positive_rate,
            effect_size=test.effect_size,
            odds_ratio=test.odds_ratio if direction is not False or not test.odds_ratio else 1 / test.odds_ratio,
            detectable=_detectable(_scaled(paired.stderr, scale), paired.n, paired.interval),
            wins=int((gains > 0).sum()),
            ties=int((gains == 0).sum()),
            losses=int((gains < 0).sum()),
            gained=self._ids(places, gains),
            lost=self._ids(places, -gains),
            n_only_first=n_only[0],
            n_only_second=n_only[1],
            n_neither=n_neither,
        )
        is_copy = is_pair & self._is_fixed & (a == b)
        if is_copy.any():
            line = self._without_copies(line, a, b, is_copy, result, seed)
        if paired.spread is None:
            return line, None
        partition = None
        if self._clusters is not None:
            partition = Partition.of(self._clusters[place] for place in places)
            partition = partition if partition.count < places.size else None
        return line, TaskDifference(differences, paired, partition, scale, mean_a, mean_b)

    def _without_copies(
        self,
        line: ScoreComparison,
        a: NDArray[np.float64],
        b: NDArray[np.float64],
        is_copy: NDArray[np.bool_],
        result: MeanResult,
        seed: int,
    ) -> ScoreComparison:
        """Return a line whose test and interval rest on the pairs that can differ; its means rest on all."""
        n_copies = int(is_copy.sum())
        line = replace(line, n_copies=n_copies)
        if n_copies == line.n:
            return replace(
                line,
                stderr=None,
                interval=None,
                ci_method=None,
                no_interval=ALL_COPIES,
                p_value=None,
                p_method="",
                false_positive_rate=None,
                effect_size=None,
                odds_ratio=None,
                detectable=None,
            )
        own, its = (np.where(is_copy, math.nan, side).tolist() for side in (a, b))
        found = paired_difference(its, own, clusters=self._clusters, bounds=result.bounds)
        test = paired_test(its, own, clusters=self._clusters, seed=seed)
        share = result.scale * found.n / line.n  # of a difference of the pairs that can differ, in one of all
        return replace(
            line,
            stderr=_scaled(found.stderr, share),
            interval=_scaled_interval(found.interval, share),
            ci_method=found.ci_method,
            no_interval=found.no_interval,
            p_value=test.p_value,
            p_method=test.method,
            false_positive_rate=test.false_positive_rate,
            effect_size=test.effect_size,
            detectable=_detectable(_scaled(found.stderr, result.scale), found.n, found.interval),
        )

    def _ids(self, places: NDArray[np.intp], gains: NDArray[np.float64]) -> tuple[str, ...]:
        order = np.argsort(-gains, kind="stable")
        return tuple(self._pairs[places[i]][0].id for i in order[: int((gains > 0).sum())].tolist())


def _unpaired(
    first: Sequence[SampleOutcome], second: Sequence[SampleOutcome], task: str, result: MeanResult, *, is_main: bool
) -> ScoreComparison:
    key, scale = result.key, result.scale
    scored = [[own for own in side if key in own.values] for side in (first, second)]
    values = [[own.values[key] for own in side] for side in scored]
    clusters = [[own.cluster for own in side] for side in scored]
    found = unpaired_difference(
        values[1], values[0], first_clusters=clusters[1], second_clusters=clusters[0], bounds=result.bounds
    )
    n = len(values[0]) + len(values[1])
    if found is None:
        return ScoreComparison(
            "task", task, *key, result.higher_is_better, is_main, n, None, None, None, no_interval="a run has no score"
        )
    means = math.fsum(values[0]) / len(values[0]), math.fsum(values[1]) / len(values[1])
    blank = ScoreComparison("task", task, *key, result.higher_is_better, is_main, n, None, None, None)
    return replace(of_means(blank, means, found, scale), effect_size=found.effect_size)


def of_means(
    blank: ScoreComparison, means: tuple[float, float], found: CombinedDifference, scale: float
) -> ScoreComparison:
    """Return a blank line, filled with a difference of means.

    Args:
        blank: The line.
        means: The means of the first and the second run.
        found: Their difference.
        scale: The factor for all of them.
    """
    interval = _scaled_interval(found.interval, scale)
    stderr = _scaled(found.stderr, scale)
    return replace(
        blank,
        first=scale * means[0],
        second=scale * means[1],
        difference=scale * found.difference,
        stderr=stderr,
        interval=interval,
        ci_method=found.ci_method,
        no_interval=found.no_interval,
        p_value=found.p_value,
        p_method=found.p_method,
        false_positive_rate=found.false_positive_rate,
        detectable=_detectable(stderr, blank.n, interval),
    )


def _same_scale(
    one: MeanResult | None,
    two: MeanResult | None,
    first: ComparedRun,
    second: ComparedRun,
    task: str,
    subset: Subset,
) -> tuple[MeanResult | None, MeanResult | None]:
    """Return both results on one scale. A mean of 0 does not show whether it is in percent, so it gets the other's
    scale.
    """
    if one is None or two is None or one.scale == two.scale:
        return one, two
    if first.value(task, one.key, subset) == 0:
        return replace(one, scale=two.scale), two
    if second.value(task, two.key, subset) == 0:
        return one, replace(two, scale=one.scale)
    return one, two


def _why_not(
    key: ScoreKey,
    first: ComparedRun,
    second: ComparedRun,
    others: Mapping[ScoreKey, str],
    others_of_second: Mapping[ScoreKey, str],
    one: MeanResult | None,
) -> str:
    if key in others or key in others_of_second:
        return others.get(key) or others_of_second[key]
    return f"only {first.name if one is not None else second.name} has it"


def _detectable(stderr: float | None, n: int, interval: Interval | None) -> float | None:
    """Return the difference that four of five equally precise comparisons would show, or ``None`` if the samples are
    too few or too similar to estimate the precision, as for an interval.
    """
    if not stderr or n < 1 or interval is None:
        return None
    return detectable_effect(n, std_a=stderr * math.sqrt(n), std_b=0.0, correlation=0.0)


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else scale * value


def _scaled_interval(interval: Interval | None, scale: float) -> Interval | None:
    return None if interval is None else (scale * interval[0], scale * interval[1])


def mains(lines: Sequence[ScoreComparison]) -> Iterator[ScoreComparison]:
    """Yield the first metrics of whole tasks and of groups."""
    return (line for line in lines if line.is_main and line.kind != "subset")
