"""Groups: the meaning of their ``aggregate_metric_list``, and the results that lm-eval states for them.

The latter are for files in its form; the results of a run have groups of their own (``run.finish.groups``), with
intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.guests.loading.load import FunctionRef
from polymeter.interop.lm_eval.tasks.scoring.stated_errors import NOT_STATED

_KEYS = ("metric", "filter_list", "aggregation", "weight_by_size")


def aggregates(listed: Any, where: str) -> tuple[Mapping[str, Any], ...]:
    """The entries of a group's ``aggregate_metric_list``, for ``GroupSpec.aggregates``.

    A group is always over the tasks below it, also where these are in groups of their own, and weighted by their size
    unless it says otherwise. Without a ``filter_list`` it is over every filter that a task has the metric with.

    Args:
        listed: The value in the file: an entry, a list of them, or nothing.
        where: ``file:line`` of it.

    Raises:
        PlanError: if an entry is not understood.
    """
    entries = [] if listed is None else [listed] if isinstance(listed, Mapping) else listed
    if not isinstance(entries, (list, tuple)):
        raise PlanError(f"aggregate_metric_list must be a list, not {listed!r:.80}.", where=where)
    return tuple([_aggregate(entry, where) for entry in entries])


def _aggregate(entry: Any, where: str) -> Mapping[str, Any]:
    metric = entry.get("metric") if isinstance(entry, Mapping) else None
    if isinstance(metric, FunctionRef):
        metric = metric.attribute  # as the metric of a task is called that names the function
    if not isinstance(entry, Mapping) or not isinstance(metric, str):
        raise PlanError(f"An entry of aggregate_metric_list needs 'metric', not {entry!r:.80}.", where=where)
    unknown = next((key for key in entry if key not in _KEYS), None)
    if unknown is not None:
        hint = did_you_mean(str(unknown), _KEYS, n=1) or f"It takes {', '.join(_KEYS)}."
        raise PlanError(f"An entry of aggregate_metric_list has no key {unknown!r}.", where=where, hint=hint)
    if entry.get("aggregation", "mean") != "mean":
        raise PlanError(
            "The results of a group are means.",
            where=where,
            hint="Write aggregation: mean, weighted or not by weight_by_size; lm-eval never calls a function there.",
        )
    filters = entry.get("filter_list") or ()
    return {
        "metric": metric,
        "filter_list": (filters,) if isinstance(filters, str) else tuple(filters),
        "aggregation": "mean",
        "weight_by_size": bool(entry.get("weight_by_size", True)),
        "over_tasks": True,
    }


def stated_group(aggregates: Iterable[Mapping[str, Any]], leaves: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The entries of a group in lm-eval's results, apart from its names.

    Args:
        aggregates: The group's ``aggregate_metric_list``: ``metric``, ``filter_list`` (none or empty: all filters that
            a task has the metric with), ``weight_by_size``.
        leaves: The entries of all tasks below it, through its subgroups, one that is in two of them twice:
            ``metric,filter``, ``metric_stderr,filter`` and ``sample_len``.

    Returns:
        ``sample_len``, and for each metric and filter its value, its error, and under ``sample_count`` its size.
    """
    found: dict[str, Any] = {"sample_len": sum(leaf.get("sample_len", 0) for leaf in leaves)}
    counts: dict[str, int] = {}
    for aggregate in aggregates:
        metric, is_weighted = str(aggregate["metric"]), bool(aggregate.get("weight_by_size", True))
        listed = aggregate.get("filter_list") or _filters(metric, leaves)
        for name in [listed] if isinstance(listed, str) else listed:
            key, error = f"{metric},{name}", f"{metric}_stderr,{name}"
            parts = [leaf for leaf in leaves if key in leaf]
            if not parts:
                continue
            sizes = [int(part.get("sample_len", 0)) for part in parts]
            weights = sizes if is_weighted else [1] * len(parts)
            weighted = (part[key] * weight for part, weight in zip(parts, weights, strict=True))
            found[key] = sum(weighted) / sum(weights)
            counts[key] = sum(sizes)
            errors = [part.get(error, NOT_STATED) for part in parts]
            if NOT_STATED in errors:
                found[error] = NOT_STATED
            elif is_weighted:
                found[error] = pooled_stderr(errors, sizes)
            else:
                found[error] = unweighted_stderr(errors)
    return found | ({"sample_count": counts} if counts else {})


def pooled_stderr(errors: Sequence[float], sizes: Sequence[int]) -> float:
    """The standard error of the mean of all samples, from the errors of parts of these sizes and their pooled variance
    ``Σ (n_i - 1) n_i s_i² / (Σ n_i - k)``; NaN if every part has one sample.
    """
    free = sum(sizes) - len(sizes)
    squares = math.fsum((size - 1) * error**2 * size for error, size in zip(errors, sizes, strict=True))
    return math.sqrt(squares / free / sum(sizes)) if free > 0 else math.nan


def unweighted_stderr(errors: Sequence[float]) -> float:
    """The standard error of the plain mean of independent means."""
    return math.sqrt(math.fsum(error**2 for error in errors)) / len(errors)


def _filters(metric: str, leaves: Iterable[Mapping[str, Any]]) -> list[str]:
    """The filters with which tasks have a metric, sorted."""
    prefix = f"{metric},"
    return sorted({key[len(prefix) :] for leaf in leaves for key in leaf if key.startswith(prefix)})
