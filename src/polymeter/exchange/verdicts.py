"""The results of a run with the verdicts of people, for an export: the means of the changed samples, and of these the
means of groups.

No code of a task runs, so a result that is not a mean of its samples' values has no value here, and neither has a group
of such results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.analysis.comparison.groups import NotAMeanError, group_mean
from polymeter.analysis.comparison.runs import ComparedRun, MeanResult, read_runs
from polymeter.analysis.comparison.verdicts import unused_metrics, use_verdicts
from polymeter.core.records.human_scores import HumanScores, few_named
from polymeter.report.table import spread_value
from polymeter.store.reading.outcomes import SampleOutcome, ScoreKey

_NO_VALUE = {"value": None, "stderr": None, "interval": None}
_WHY = "the verdicts of people change it; 'polymeter score --verdicts' computes it"
_NO_INTERVAL = "'polymeter score --verdicts' computes it"


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run with the verdicts of people.

    Attributes:
        human: The verdicts by task.
        results: The results with them, in the form of ``results.json``.
        notes: Notes for the reader.
    """

    human: Mapping[str, HumanScores]
    results: dict[str, Any]
    notes: tuple[str, ...]


def judged_run(path: Path) -> JudgedRun:
    """Return a run with the verdicts beside it.

    Raises:
        PlanError: if the file of verdicts is damaged, or it has none.
        StorageError: if it cannot be read.
    """
    (run,) = read_runs([path])
    (used,) = use_verdicts([run]).values()
    tasks = {name: _task(run, name, task) for name, task in run.results["tasks"].items()}
    groups = _groups(run, tasks)
    notes = [*used.notes(), *_unused(run), *_lost(tasks, groups)]
    results = {**run.results, "tasks": tasks, "groups": groups, "notes": [*run.results.get("notes", ()), *notes]}
    return JudgedRun(used.tasks, results, tuple(notes))


def _unused(run: ComparedRun) -> Iterator[str]:
    unused = unused_metrics(run)
    if unused:
        yield f"Scores of people for {few_named(unused)} were not used: the run has no such score."


def _lost(tasks: Mapping[str, Any], groups: Mapping[str, Any]) -> Iterator[str]:
    lost = [
        name
        for holder in (tasks, groups)
        for name, one in holder.items()
        if any(result.get("no_interval") == _WHY for result in one["results"])
    ]
    if lost:
        yield f"Some results of {few_named(lost)} have no value: {_WHY}."


def _groups(run: ComparedRun, tasks: Mapping[str, Any]) -> dict[str, Any]:
    """Return the groups of a run, from the changed results of its tasks."""
    held = {name: task["results"] for name, task in tasks.items()}

    def results_of(name: str) -> None:
        group = run.results["groups"][name]
        held[name] = []  # a group that holds itself has no value
        for member in group.get("members", ()):
            if member in run.results["groups"] and member not in held:
                results_of(member)
        held[name] = [_group_result(run, name, result, held) for result in group["results"]]

    for name in run.results["groups"]:
        if name not in held:
            results_of(name)
    return {name: {**group, "results": held[name]} for name, group in run.results["groups"].items()}


def _group_result(
    run: ComparedRun, group: str, result: Mapping[str, Any], held: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, Any]:
    try:
        value, stderr, n = group_mean(run, group, (str(result["metric"]), str(result["filter"])), held)
    except NotAMeanError:
        return {**result, **_NO_VALUE, "no_interval": _WHY}
    return {**result, "value": value, "stderr": stderr, "interval": None, "n": n, "no_interval": _NO_INTERVAL}


def _task(run: ComparedRun, name: str, task: Mapping[str, Any]) -> dict[str, Any]:
    if name not in run.human:
        return dict(task)
    outcomes = run.outcomes(name)
    return {
        **task,
        "n_scored": sum(bool(one.values) for one in outcomes),
        "results": [_result(run, name, result) for result in task["results"]],
    }


def _result(run: ComparedRun, task: str, result: Mapping[str, Any]) -> dict[str, Any]:
    subset = tuple(str(part) for part in result["subset"] or ())
    means, _ = run.means(task, subset)
    keys = [(metric, str(result["filter"])) for metric, _ in spread_value(str(result["metric"]), result["value"])]
    outcomes = run.part(task, subset)
    if any(key not in means for key in keys):
        return {**result, **_NO_VALUE, "no_interval": _WHY}
    if len(keys) == 1 and keys[0][0] == result["metric"]:
        return {**result, **_mean(outcomes, means[keys[0]])}
    values = {key: _mean(outcomes, means[key])["value"] for key in keys}
    value = _with_values(result["value"], str(result["metric"]), str(result["filter"]), values)
    return {**result, **_NO_VALUE, "value": value}


def _with_values(value: Any, metric: str, name: str, values: Mapping[ScoreKey, Any]) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_values(item, f"{metric}/{key}", name, values) for key, item in value.items()}
    return values[metric, name]


def _mean(outcomes: list[SampleOutcome], mean: MeanResult) -> dict[str, Any]:
    from polymeter.metrics.basic import MEAN
    from polymeter.stats import Partition, estimate

    own = [outcome for outcome in outcomes if mean.key in outcome.values]
    if not own:
        return {**_NO_VALUE, "n": 0}
    clusters = [outcome.cluster for outcome in own]
    partition = Partition.of(clusters) if any(one is not None for one in clusters) else None
    found = estimate([outcome.values[mean.key] for outcome in own], MEAN, clusters=partition, bounds=mean.bounds)
    scale = mean.scale
    return {
        "value": None if found.value is None else scale * found.value,
        "n": len(own),
        "stderr": None if found.stderr is None else scale * found.stderr,
        "interval": None if found.interval is None else [scale * end for end in found.interval],
        **({"no_interval": found.no_interval} if found.no_interval else {}),
    }
