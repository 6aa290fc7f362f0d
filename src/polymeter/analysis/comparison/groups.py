"""Comparison of two runs in a group: the differences of its tasks, each with its weight in the group's score."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polymeter.analysis.comparison.runs import ComparedRun
from polymeter.analysis.comparison.scores import NotCompared, ScoreComparison, TaskDifference, TaskScores, of_means
from polymeter.core.identity import seed_for
from polymeter.report.formatting import number
from polymeter.stats import MemberDifference, group_difference, weighted_standard_error
from polymeter.store.reading.outcomes import ScoreKey

_ROUNDED = 6e-5


def group_scores(
    first: ComparedRun, second: ComparedRun, group: str, tasks: Mapping[str, TaskScores], *, metric: str, seed: int
) -> tuple[list[ScoreComparison], list[NotCompared]]:
    """Compare all metrics of a group, from its tasks.

    Args:
        first: A run.
        second: The other run.
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
        except NotAMeanError as error:
            values = first.value(group, key), second.value(group, key)
            others.append(NotCompared("group", group, *key, str(error), *values))
            continue
        members = [(tasks[name].members[key], weight) for name, weight in weights.items()]
        blank = ScoreComparison("group", group, *key, result.get("higher_is_better"), not lines, n, None, None, None)
        lines.append(_of_group(blank, members, seed=seed_for(seed, "compare", group, *key)))
    return lines, others


def _of_group(blank: ScoreComparison, members: Sequence[tuple[TaskDifference, float]], *, seed: int) -> ScoreComparison:
    parts = [
        MemberDifference(weight, member.differences, member.paired.spread, member.partition, member.paired.limit)
        for member, weight in members
        if member.paired.spread is not None
    ]
    means = (
        math.fsum(weight * member.first for member, weight in members),
        math.fsum(weight * member.second for member, weight in members),
    )
    signs = np.concatenate([np.sign(member.differences) for member, _ in members])
    gains = -signs if blank.higher_is_better is False else signs
    return replace(
        of_means(blank, means, group_difference(parts, seed=seed), max(_scales(member for member, _ in members))),
        wins=int((gains > 0).sum()),
        ties=int((gains == 0).sum()),
        losses=int((gains < 0).sum()),
    )


def _scales(members: Iterable[TaskDifference]) -> set[float]:
    """Return the factors of the members' means. A member with two means of 0 fits any factor."""
    found = list(members)
    return {member.scale for member in found if member.first or member.second} or {found[0].scale}


class NotAMeanError(Exception):
    """A group's score is not the mean of compared scores. The message states the reason."""


def group_mean(
    run: ComparedRun, group: str, key: ScoreKey, results: Mapping[str, Sequence[Mapping[str, Any]]]
) -> tuple[float, float | None, int]:
    """Return a group's score from other results of its members: the mean, its standard error and the number of samples.

    Args:
        run: The run, whose own results show that the score is a mean.
        group: A group of it.
        key: The metric and filter.
        results: The other results of tasks and groups, by name, in the form of ``results.json``.

    Raises:
        NotAMeanError: if the score is not a mean of its members, or one of these has no value.
    """
    _check_group(run, group, key)
    found = []
    for member in _member_results(run, group, key):
        own = (one for one in results.get(member, ()) if (one["metric"], one["filter"]) == key and not one["subset"])
        result = next(own, None)
        if result is None or result["value"] is None:
            raise NotAMeanError(f"its member {member} has no value")
        found.append(result)
    is_weighted = bool(_aggregate(run, group, key).get("weight_by_size"))
    weights = [float(result["n"]) if is_weighted else 1.0 for result in found]
    value = math.fsum(w * one["value"] for w, one in zip(weights, found, strict=True)) / math.fsum(weights)
    errors = [one["stderr"] for one in found]
    stderr = None if None in errors else weighted_standard_error(errors, weights)
    return value, stderr, sum(int(one["n"]) for one in found)


def _aggregate(run: ComparedRun, group: str, key: ScoreKey) -> Mapping[str, Any]:
    """Return how a group computes a score."""
    numbers = run.manifest.get("selection", {}).get("group_numbers", {}).get(group, {})
    for entry in numbers.get("aggregates", ()):
        filters = entry.get("filter_list", "none")
        names = [filters] if isinstance(filters, str) else list(filters)
        is_meant = key[1] in names or (not names and entry.get("over_tasks"))
        if entry.get("metric") == key[0] and is_meant and entry.get("aggregation", "mean") == "mean":
            return entry  # type: ignore[no-any-return]
    raise NotAMeanError("the group's score comes from its author's own code, or the run does not say how")


def _member_results(run: ComparedRun, group: str, key: ScoreKey) -> dict[str, Mapping[str, Any]]:
    """Return the results of a group's members that count in a score of the group."""
    found = {}
    for member in _members(run, group, is_over_tasks=bool(_aggregate(run, group, key).get("over_tasks"))):
        holder = run.results["tasks"].get(member) or run.results["groups"].get(member) or {}
        for result in holder.get("results", ()):
            if (result["metric"], result["filter"]) == key and not result["subset"] and result["n"]:
                found[member] = result
    return found


def _members(run: ComparedRun, group: str, *, is_over_tasks: bool) -> Iterator[str]:
    """Yield the members of a group, or all tasks below it, each once."""
    members = run.results["groups"][group]["members"]
    if not is_over_tasks:
        yield from members
        return
    below: dict[str, None] = {}
    for member in members:
        is_group = member in run.results["groups"]
        below.update(dict.fromkeys(_members(run, member, is_over_tasks=True) if is_group else (member,)))
    yield from below


def _check_group(run: ComparedRun, group: str, key: ScoreKey) -> None:
    """Check that a group's score is the mean of its members that its author specified."""
    is_weighted = bool(_aggregate(run, group, key).get("weight_by_size"))
    parts = _member_results(run, group, key)
    value = run.value(group, key)
    weights = [float(part["n"]) if is_weighted else 1.0 for part in parts.values()]
    numbers = [part["value"] for part in parts.values()]
    if not weights or not all(isinstance(item, (int, float)) for item in (value, *numbers)):
        raise NotAMeanError(f"{run.name} has no score for it")
    mean = math.fsum(w * v for w, v in zip(weights, numbers, strict=True)) / sum(weights)
    if not math.isclose(mean, value, rel_tol=1e-6, abs_tol=_ROUNDED):
        raise NotAMeanError(f"its value {number(value)} in {run.name} is not the mean {number(mean)} of its members")


def _weights(
    run: ComparedRun, group: str, key: ScoreKey, tasks: Mapping[str, TaskScores]
) -> tuple[dict[str, float], int]:
    """Return the weight of each task below a group in its score, and the number of pairs behind it."""
    is_weighted = bool(_aggregate(run, group, key).get("weight_by_size"))
    shares: list[tuple[dict[str, float], int]] = []
    for member in _member_results(run, group, key):
        if member in run.results["groups"]:
            shares.append(_weights(run, member, key, tasks))
        elif member in tasks and key in tasks[member].members:
            shares.append(({member: 1.0}, tasks[member].members[key].paired.n))
        else:
            raise NotAMeanError(f"its member {member} is not compared")
    total = math.fsum(float(n) if is_weighted else 1.0 for _, n in shares)
    weights: dict[str, float] = {}
    for below, n in shares:
        for task, weight in below.items():
            weights[task] = weights.get(task, 0.0) + weight * (float(n) if is_weighted else 1.0) / total
    if len(_scales(tasks[task].members[key] for task in weights)) > 1:
        raise NotAMeanError("only some of its members are in percent")
    return weights, sum(tasks[task].members[key].paired.n for task in weights)
