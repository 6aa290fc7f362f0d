"""The numbers of a comparison: one line for each metric of a task or group that is a mean of samples.

A difference is always the second run less the first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polymeter.api.compared_runs import ComparedRun, MeanResult
from polymeter.core.identity import seed_for
from polymeter.report.formatting import number
from polymeter.stats import (
    MemberDifference,
    PairedDifference,
    Partition,
    detectable_effect,
    group_difference,
    paired_difference,
    paired_test,
    unpaired_difference,
)
from polymeter.stats.intervals import Interval
from polymeter.store.outcomes import Outcome, ScoreKey

_ROUNDED = 6e-5


@dataclass(frozen=True, slots=True)
class ScoreComparison:
    """One metric of a task or group in two runs.

    Attributes:
        kind: Whether it is of a task or a group.
        name: Of which one.
        metric: The metric.
        filter: The filter that the answers went through.
        higher_is_better: Its direction; ``None``: unknown.
        is_main: Whether it is the first of its task or group: those are shown, and tested as one family.
        n: The number of pairs; with other samples in each run, of both together.
        first: The mean of the first run, over the pairs.
        second: That of the second.
        difference: The second less the first.
        stderr: Its standard error.
        interval: Its 95 % interval.
        ci_method: How that was computed.
        no_interval: Why there is none; empty if there is one.
        p_value: Two-sided, of the hypothesis that the two models are equal.
        p_method: How that was computed.
        p_corrected: The p-value corrected for all that are tested together (Holm).
        family: How many are.
        effect_size: Cohen's d: the difference over the standard deviation of the differences of pairs, or of the values
            where samples are not paired.
        odds_ratio: For right and wrong: how many samples only the second gets right for each that only the first does.
        detectable: The difference that four of five such comparisons would show.
        wins: In how many pairs the second is better, or has the higher value if nothing says what is better.
        ties: In how many they are equal.
        losses: In how many the first is better.
        gained: The ids of the samples that the second wins, the greatest differences first.
        lost: The ids of those that the first wins.
        n_only_first: How many samples have a value in the first run only, and are left out.
        n_only_second: The same of the second.
    """

    kind: Literal["task", "group"]
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

    @property
    def gain(self) -> float | None:
        """How much better the second run is: the difference, with its sign turned where lower values are better."""
        if self.difference is None:
            return None
        return -self.difference if self.higher_is_better is False else self.difference


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A metric that cannot be compared sample by sample, with the value of each run.

    Attributes:
        kind: Whether it is of a task or a group.
        name: Of which one.
        metric: The metric.
        filter: The filter.
        why: Why not.
        first: The value of the first run.
        second: That of the second.
    """

    kind: Literal["task", "group"]
    name: str
    metric: str
    filter: str
    why: str
    first: Any
    second: Any


@dataclass(slots=True)
class TaskScores:
    """The comparison of one task, and what groups need of it."""

    lines: list[ScoreComparison]
    others: list[NotCompared]
    members: dict[ScoreKey, _Member] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Member:
    differences: NDArray[np.float64]
    paired: PairedDifference
    partition: Partition | None
    scale: float
    first: float
    second: float


def task_scores(
    first: ComparedRun, second: ComparedRun, task: str, *, metric: str, is_unpaired: bool, seed: int
) -> TaskScores:
    """Compare all metrics of a task.

    Args:
        first: A run.
        second: The other.
        task: A task of both.
        metric: Only this metric; empty: all.
        is_unpaired: Whether to compare means instead of samples.
        seed: For resampling.
    """
    means, others = first.means(task)
    means_of_second, others_of_second = second.means(task)
    found = TaskScores([], [])
    pairs = None if is_unpaired else _Pairs(first.outcomes(task), second.outcomes(task))
    for key in dict.fromkeys([*means, *others, *means_of_second, *others_of_second]):
        if metric not in ("", key[0]):
            continue
        one, two = means.get(key), means_of_second.get(key)
        if one is None or two is None:
            why = _why_not(key, first, second, others, others_of_second, one, two)
            values = first.value(task, key), second.value(task, key)
            found.others.append(NotCompared("task", task, *key, why, *values))
        elif one.scale != two.scale:
            values = first.value(task, key), second.value(task, key)
            found.others.append(NotCompared("task", task, *key, "only one of the runs gives it in percent", *values))
        elif pairs is None:
            found.lines.append(_unpaired(first, second, task, one, is_main=not found.lines))
        else:
            line, member = pairs.compare(task, one, seed_for(seed, "compare", task, *key), is_main=not found.lines)
            found.lines.append(line)
            if member is not None:
                found.members[key] = member
    return found


def group_scores(
    first: ComparedRun, second: ComparedRun, group: str, tasks: Mapping[str, TaskScores], *, metric: str, seed: int
) -> tuple[list[ScoreComparison], list[NotCompared]]:
    """Compare all metrics of a group, from its tasks.

    Args:
        first: A run.
        second: The other.
        group: A group of both.
        tasks: The comparisons of its tasks, by name.
        metric: Only this metric; empty: all.
        seed: For resampling.
    """
    lines: list[ScoreComparison] = []
    others: list[NotCompared] = []
    for result in first.results["groups"][group]["results"]:
        key = (str(result["metric"]), str(result["filter"]))
        if metric not in ("", key[0]) or result["subset"]:
            continue
        try:
            for run in (first, second):
                _check_group(run, group, key)
            weights, n = _weights(first, group, key, tasks)
        except _NotAMeanError as error:
            values = first.value(group, key), second.value(group, key)
            others.append(NotCompared("group", group, *key, str(error), *values))
            continue
        members = [(tasks[name].members[key], weight) for name, weight in weights.items()]
        lines.append(_of_group(group, key, members, n, result.get("higher_is_better"), seed, is_main=not lines))
    return lines, others


class _Pairs:
    """The samples that two runs have of a task, side by side."""

    def __init__(self, first: Sequence[Outcome], second: Sequence[Outcome]) -> None:
        by_id = {outcome.id: outcome for outcome in second}
        self._pairs = [(outcome, by_id[outcome.id]) for outcome in first if outcome.id in by_id]
        labels = [outcome.cluster for outcome, _ in self._pairs]
        self._clusters = labels if any(label is not None for label in labels) else None

    def compare(
        self, task: str, result: MeanResult, seed: int, *, is_main: bool
    ) -> tuple[ScoreComparison, _Member | None]:
        key, scale, direction = result.key, result.scale, result.higher_is_better
        a, b = (
            np.array([own.values.get(key, math.nan) for own in side], dtype=np.float64)
            for side in (zip(*self._pairs, strict=True) if self._pairs else ((), ()))
        )
        is_one, is_two = ~np.isnan(a), ~np.isnan(b)
        is_pair = is_one & is_two
        paired = paired_difference(b.tolist(), a.tolist(), clusters=self._clusters)
        n_only = int((is_one & ~is_two).sum()), int((is_two & ~is_one).sum())
        if paired.difference is None:
            why = "no sample has a score in both"
            line = ScoreComparison("task", task, *key, direction, is_main, 0, None, None, None, no_interval=why)
            return replace(line, n_only_first=n_only[0], n_only_second=n_only[1]), None
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
            effect_size=test.effect_size,
            odds_ratio=test.odds_ratio if direction is not False or not test.odds_ratio else 1 / test.odds_ratio,
            detectable=_detectable(_scaled(paired.stderr, scale), paired.n),
            wins=int((gains > 0).sum()),
            ties=int((gains == 0).sum()),
            losses=int((gains < 0).sum()),
            gained=self._ids(places, gains),
            lost=self._ids(places, -gains),
            n_only_first=n_only[0],
            n_only_second=n_only[1],
        )
        if paired.spread is None:
            return line, None
        partition = None
        if self._clusters is not None:
            partition = Partition.of(self._clusters[place] for place in places)
            partition = partition if partition.count < places.size else None
        return line, _Member(differences, paired, partition, scale, mean_a, mean_b)

    def _ids(self, places: NDArray[np.intp], gains: NDArray[np.float64]) -> tuple[str, ...]:
        order = np.argsort(-gains, kind="stable")
        return tuple(self._pairs[places[i]][0].id for i in order[: int((gains > 0).sum())].tolist())


def _unpaired(
    first: ComparedRun, second: ComparedRun, task: str, result: MeanResult, *, is_main: bool
) -> ScoreComparison:
    key, scale = result.key, result.scale
    scored = [[own for own in run.outcomes(task) if key in own.values] for run in (first, second)]
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
    return ScoreComparison(
        "task",
        task,
        *key,
        result.higher_is_better,
        is_main,
        n,
        scale * math.fsum(values[0]) / len(values[0]),
        scale * math.fsum(values[1]) / len(values[1]),
        scale * found.difference,
        _scaled(found.stderr, scale),
        _scaled_interval(found.interval, scale),
        found.ci_method,
        found.no_interval,
        found.p_value,
        found.p_method,
        effect_size=found.effect_size,
        detectable=_detectable(_scaled(found.stderr, scale), n),
    )


def _of_group(
    group: str,
    key: ScoreKey,
    members: Sequence[tuple[_Member, float]],
    n: int,
    direction: bool | None,
    seed: int,
    *,
    is_main: bool,
) -> ScoreComparison:
    scale = members[0][0].scale
    parts = [
        MemberDifference(weight, member.differences, member.paired.spread, member.partition)
        for member, weight in members
        if member.paired.spread is not None
    ]
    found = group_difference(parts, seed=seed_for(seed, "compare", group, *key))
    signs = np.concatenate([np.sign(member.differences) for member, _ in members])
    gains = -signs if direction is False else signs
    return ScoreComparison(
        "group",
        group,
        *key,
        direction,
        is_main,
        n,
        scale * math.fsum(weight * member.first for member, weight in members),
        scale * math.fsum(weight * member.second for member, weight in members),
        scale * found.difference,
        _scaled(found.stderr, scale),
        _scaled_interval(found.interval, scale),
        found.ci_method,
        found.no_interval,
        found.p_value,
        found.p_method,
        detectable=_detectable(_scaled(found.stderr, scale), n),
        wins=int((gains > 0).sum()),
        ties=int((gains == 0).sum()),
        losses=int((gains < 0).sum()),
    )


class _NotAMeanError(Exception):
    """A group's number is not the mean of numbers that are compared; the message says why."""


def _aggregate(run: ComparedRun, group: str, key: ScoreKey) -> Mapping[str, Any]:
    """How a group makes a number."""
    numbers = run.manifest.get("selection", {}).get("group_numbers", {}).get(group, {})
    for entry in numbers.get("aggregates", ()):
        filters = entry.get("filter_list", "none")
        names = [filters] if isinstance(filters, str) else list(filters)
        if entry.get("metric") == key[0] and key[1] in names and entry.get("aggregation", "mean") == "mean":
            return entry  # type: ignore[no-any-return]
    raise _NotAMeanError("the group's number is made by its author's own code, or the run does not say how")


def _parts(run: ComparedRun, group: str, key: ScoreKey) -> dict[str, Mapping[str, Any]]:
    """The results of a group's members that count in a number of it."""
    found = {}
    for member in run.results["groups"][group]["members"]:
        holder = run.results["tasks"].get(member) or run.results["groups"].get(member) or {}
        for result in holder.get("results", ()):
            if (result["metric"], result["filter"]) == key and not result["subset"] and result["n"]:
                found[member] = result
    return found


def _check_group(run: ComparedRun, group: str, key: ScoreKey) -> None:
    """Check that a group's number is the mean of those of its members that its author asked for."""
    is_weighted = bool(_aggregate(run, group, key).get("weight_by_size"))
    parts = _parts(run, group, key)
    value = run.value(group, key)
    weights = [float(part["n"]) if is_weighted else 1.0 for part in parts.values()]
    numbers = [part["value"] for part in parts.values()]
    if not weights or not all(isinstance(item, (int, float)) for item in (value, *numbers)):
        raise _NotAMeanError(f"{run.name} has no number for it")
    mean = math.fsum(w * v for w, v in zip(weights, numbers, strict=True)) / sum(weights)
    if not math.isclose(mean, value, rel_tol=1e-6, abs_tol=_ROUNDED):
        raise _NotAMeanError(f"its value {number(value)} in {run.name} is not the mean {number(mean)} of its members")


def _weights(
    run: ComparedRun, group: str, key: ScoreKey, tasks: Mapping[str, TaskScores]
) -> tuple[dict[str, float], int]:
    """The weight of each task below a group in its number, and the number of pairs behind it."""
    is_weighted = bool(_aggregate(run, group, key).get("weight_by_size"))
    shares: list[tuple[dict[str, float], int]] = []
    for member in _parts(run, group, key):
        if member in run.results["groups"]:
            shares.append(_weights(run, member, key, tasks))
        elif member in tasks and key in tasks[member].members:
            shares.append(({member: 1.0}, tasks[member].members[key].paired.n))
        else:
            raise _NotAMeanError(f"its member {member} is not compared")
    total = math.fsum(float(n) if is_weighted else 1.0 for _, n in shares)
    weights: dict[str, float] = {}
    for below, n in shares:
        for task, weight in below.items():
            weights[task] = weights.get(task, 0.0) + weight * (float(n) if is_weighted else 1.0) / total
    if len({tasks[task].members[key].scale for task in weights}) > 1:
        raise _NotAMeanError("only some of its members are in percent")
    return weights, sum(tasks[task].members[key].paired.n for task in weights)


def _why_not(
    key: ScoreKey,
    first: ComparedRun,
    second: ComparedRun,
    others: Mapping[ScoreKey, str],
    others_of_second: Mapping[ScoreKey, str],
    one: MeanResult | None,
    two: MeanResult | None,
) -> str:
    if key in others or key in others_of_second:
        return others.get(key) or others_of_second[key]
    return f"only {first.name if one is not None else second.name} has it"


def _detectable(stderr: float | None, n: int) -> float | None:
    """The difference that four of five comparisons as precise as this one would show."""
    if not stderr or n < 1:
        return None
    return detectable_effect(n, std_a=stderr * math.sqrt(n), std_b=0.0, correlation=0.0)


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else scale * value


def _scaled_interval(interval: Interval | None, scale: float) -> Interval | None:
    return None if interval is None else (scale * interval[0], scale * interval[1])


def mains(lines: Sequence[ScoreComparison]) -> Iterator[ScoreComparison]:
    """The lines that are shown first."""
    return (line for line in lines if line.is_main)
