"""The results of groups, from the results of their members."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polymeter.core.errors import PolymeterError, ScoreError, boundary
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.core.records.spread import UNBOUNDED, Spread, Terms
from polymeter.core.task import GroupSpec, Result


def reduce_groups(
    groups: Mapping[str, GroupSpec],
    results: Mapping[str, Sequence[Result]],
    parity: Parity,
    failed: Callable[[str], None],
) -> dict[str, Sequence[Result]]:
    """The results of all groups of a run, by name; members first, whatever order they were named in.

    Args:
        groups: The groups by name.
        results: Results by task name.
        parity: Which other system's numbers are wanted.
        failed: Told of a group whose own aggregation failed; it has no results.
    """
    by_name = dict(results)

    def reduce(name: str) -> None:
        for member in groups[name].members:
            if member in groups and member not in by_name:
                reduce(member)
        try:
            by_name[name] = reduce_group(_as_reduced(groups[name], groups, parity), by_name, groups, parity)
        except PolymeterError as error:
            by_name[name] = []
            failed(str(error))

    for name in groups:
        if name not in by_name:
            reduce(name)
    return {name: by_name[name] for name in groups}


def _as_reduced(group: GroupSpec, groups: Mapping[str, GroupSpec], parity: Parity) -> GroupSpec:
    """A group as its numbers are made: of its members, or of all tasks below it."""
    is_over_tasks = any(aggregate.get("over_tasks") for aggregate in group.aggregates)
    if not is_over_tasks and not parity.on("group-of-tasks"):
        return group

    def below(name: str) -> Iterator[str]:
        for member in groups[name].members:
            yield from below(member) if member in groups else (member,)

    tasks = tuple(below(group.name))
    return replace(group, members=tasks if parity.on("group-task-twice") else tuple(dict.fromkeys(tasks)))


def reduce_group(
    group: GroupSpec,
    results: Mapping[str, Sequence[Result]],
    groups: Collection[str] = (),
    parity: Parity = NO_PARITY,
) -> list[Result]:
    """A group's own results.

    The standard error is that of a weighted mean of independent means, ``sqrt(sum((w_i * se_i)^2)) / sum(w_i)``; the
    interval is that of a sum of means (``polymeter.stats.means.mean_intervals``). A member that has no number for a
    metric of the group is not part of its number: the result names it, and has no interval.

    Args:
        group: The group.
        results: Results by task name; a group stands for all tasks below it.
        groups: The names in ``results`` that are groups. One without an aggregation has no results, and lost none.
        parity: Which other system's numbers are wanted.
    """
    found = []
    for aggregate, wanted in _wanted(group, results, parity):
        for metric, name in wanted:
            of_member = {member: _whole(results.get(member), metric, name) for member in group.members}
            parts = [
                replace(result, n=_most_samples(results[member])) if parity.on("group-sizes") else result
                for member in group.members
                if (result := of_member[member]) is not None and _counts(result)
            ]
            failed = tuple(_failed(of_member, results, groups))
            if not parts and not failed:
                continue
            n_members = sum(
                result.n_members if member in groups and result.failed_members and result.n_members else 1
                for member, result in of_member.items()
                if result is not None
            ) + sum(member in failed for member, result in of_member.items() if result is None)
            combined = _combine(metric, name, parts, aggregate, group.name) if parts else Result(metric, name, None, 0)
            is_pooled = parity.on("pooled-group-error") and aggregate.get("weight_by_size")
            if is_pooled or parity.on("group-error"):
                combined = _pooled(combined, parts)
            if failed:
                no_interval = "a member has no result" if parts else ""
                combined = replace(combined, interval=None, ci_method=None, no_interval=no_interval, spread=None)
            found.append(replace(combined, n_members=n_members, failed_members=failed))
    return found


def _wanted(
    group: GroupSpec, results: Mapping[str, Sequence[Result]], parity: Parity
) -> Iterator[tuple[Mapping[str, Any], list[tuple[str, str]]]]:
    """The entries of a group's aggregation, each with the metrics and filters that it means.

    Where metrics are matched by a part of their name, the later of two entries that mean one metric counts.
    """
    if not parity.on("group-metric"):
        for aggregate in group.aggregates:
            metric, filters = str(aggregate.get("metric", "")), aggregate.get("filter_list", "none")
            names = [filters] if isinstance(filters, str) else list(filters)
            if not names and aggregate.get("over_tasks"):
                names = _filters(metric, group, results)
            yield aggregate, [(metric, name) for name in names]
        return
    keys = {
        (result.metric, result.filter): None
        for member in group.members
        for result in results.get(member, ())
        if not result.subset
    }
    meant: dict[tuple[str, str], Mapping[str, Any]] = {}
    for aggregate in group.aggregates:
        meant |= {key: aggregate for key in keys if str(aggregate.get("metric", "")) in ",".join(key)}
    for key, aggregate in meant.items():
        yield aggregate, [key]


def _most_samples(results: Sequence[Result]) -> int:
    """Return the number of samples of a member: that of the metric with the most samples."""
    return max(result.n for result in results if not result.subset)


def _filters(metric: str, group: GroupSpec, results: Mapping[str, Sequence[Result]]) -> list[str]:
    """The filters with which members have a metric, sorted."""
    found = (result for member in group.members for result in results.get(member, ()))
    return sorted({result.filter for result in found if result.metric == metric and not result.subset})


def _pooled(combined: Result, parts: Sequence[Result]) -> Result:
    """A group's number with the standard error of the pooled samples, whatever its aggregation; no interval follows
    from it.
    """
    errors = [part.stderr for part in parts]
    free = sum(part.n for part in parts) - len(parts)
    stderr = None
    if errors and None not in errors and free > 0:
        squares = math.fsum((part.n - 1) * part.n * (part.stderr or 0.0) ** 2 for part in parts)
        stderr = math.sqrt(squares / free / sum(part.n for part in parts))
    return replace(
        combined,
        stderr=stderr,
        stderr_method=None if stderr is None else "pooled",
        interval=None,
        ci_method=None,
        no_interval="the standard error is that of pooled samples",
    )


def mark_lost_subsets(results: Sequence[Result], scored: Mapping[tuple[str, ...], bool]) -> list[Result]:
    """Results of a task; those for the whole name the subsets that they do not rest on, because none of their samples
    has a score.

    Args:
        results: The task's results.
        scored: Of each subset that rows belong to, whether any of its rows has a score.
    """
    if not any(scored.values()):
        return list(results)
    marked = []
    for result in results:
        if result.subset or result.n_members is not None or result.value is None:
            marked.append(result)
            continue
        parts = dict(scored) if len(scored) > 1 else {}
        for part in results:
            if part.subset and (part.metric, part.filter) == (result.metric, result.filter):
                parts[part.subset] = _is_measured(part)
        failed = tuple("/".join(path) for path, is_scored in parts.items() if not is_scored)
        marked.append(replace(result, n_members=len(parts), failed_members=failed) if failed else result)
    return marked


def _whole(results: Sequence[Result] | None, metric: str, name: str) -> Result | None:
    """The number of a whole member; a result without samples or value is returned as well."""
    for result in results or ():
        if result.metric == metric and result.filter == name and not result.subset:
            return result
    return None


def _failed(
    of_member: Mapping[str, Result | None], results: Mapping[str, Sequence[Result]], groups: Collection[str]
) -> Iterator[str]:
    """The members that should have a number and have none, and those that are missing from members that are groups.

    A member that has other metrics only is none: its author did not mean it. One that has no number at all has failed.
    """
    for member, result in of_member.items():
        if result is None:
            own = results.get(member)
            if own is not None and member not in groups and not any(_is_measured(other) for other in own):
                yield member
        elif not _counts(result):
            yield member
        elif member in groups:
            yield from (f"{member}/{name}" for name in result.failed_members)


def _combine(metric: str, name: str, parts: Sequence[Result], aggregate: Mapping[str, Any], group: str) -> Result:
    # NumPy, which listing tasks does not need.
    from polymeter.stats.means.mean_intervals import MeanInterval, sum_interval

    is_weighted = bool(aggregate.get("weight_by_size", False))
    how = aggregate.get("aggregation", "mean")
    directions = {part.higher_is_better for part in parts}
    direction = directions.pop() if len(directions) == 1 else None
    n = sum(part.n for part in parts)
    if callable(how):
        with boundary(ScoreError, f"Aggregating group {group!r}"):
            value = how([part.value for part in parts], [part.n for part in parts], is_weighted)
        return Result(metric, name, value, n, higher_is_better=direction, no_interval="the group's own aggregation")
    weights = [float(part.n) if is_weighted else 1.0 for part in parts]
    total = sum(weights)
    # The same to the last digit under each version of Python, whose own sum of floats is another from 3.12 on.
    value = math.fsum(weight * part.value for weight, part in zip(weights, parts, strict=True)) / total
    stderr = None
    if all(part.stderr is not None for part in parts):
        terms = (weight * (part.stderr or 0.0) for weight, part in zip(weights, parts, strict=True))
        stderr = math.sqrt(math.fsum(term * term for term in terms)) / total
    spreads = [_terms(part, weight / total) for part, weight in zip(parts, weights, strict=True)]
    sum_of_means: Terms | None = None
    if all(spreads):
        sum_of_means = tuple(term for terms in spreads for term in terms)
        found = sum_interval(sum_of_means)
    else:
        found = MeanInterval(problem="the uncertainty of a member is not known")
    return Result(
        metric,
        name,
        value,
        n,
        stderr=stderr,
        interval=found.interval,
        stderr_method=None if stderr is None else "pooled",
        higher_is_better=direction,
        ci_method=found.method,
        no_interval=found.problem,
        spread=sum_of_means,
        bounds=parts[0].bounds if len({part.bounds for part in parts}) == 1 else UNBOUNDED,
    )


def _terms(result: Result, weight: float) -> Terms:
    """A member's number as a weighted sum of means; empty if it is not known to be one."""
    if result.spread is None:
        return ()
    if isinstance(result.spread, Spread):
        return ((weight, result.spread),)
    return tuple((weight * coefficient, spread) for coefficient, spread in result.spread)


def _counts(result: Result) -> bool:
    """Return whether a result is a number that rests on something."""
    value = result.value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)
    return is_number and result.n > 0


def _is_measured(result: Result) -> bool:
    """Return whether a result has a value, of any type."""
    return result.n > 0 and result.value is not None
