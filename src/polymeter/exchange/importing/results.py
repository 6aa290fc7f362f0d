"""The results of an imported run: values as the tool states them, with intervals computed from the samples.

A stated value is checked against the samples: against their mean, within the tool's rounding, and against the
aggregation that the log names for the metric. If it equals one of them, it gets our standard error and interval. If
not, it keeps the error that the tool states and gets no interval, and the results say why.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from numbers import Real
from typing import Any

from polymeter.core.errors import ScoreError
from polymeter.core.identity import seed_for
from polymeter.core.logs import StatedResult
from polymeter.core.names.parity import NO_PARITY
from polymeter.core.names.registries import AGGREGATIONS
from polymeter.core.records.usage import USAGE_BY_ROLE, usage_document
from polymeter.core.task import GroupSpec, MetricKey, Result, SampleStatus, Score
from polymeter.core.text.codec import decode
from polymeter.reading.cuts import truncation_of
from polymeter.report.formatting import number
from polymeter.run.finish.groups import reduce_groups
from polymeter.stats.reduction import MetricPlan, RowReduction
from polymeter.store.exports.export import GroupSummary, TaskSummary, results_document
from polymeter.store.exports.imported import IMPORTED, imported_from
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal, SampleRow
from polymeter.store.reading.failures import failures_in
from polymeter.store.reading.usage import usage_of_journal
from polymeter.store.wire import read_score

STATED = "stated"
"""The method of a standard error that the tool states."""
_SCALES = (1.0, 100.0)
_ROUNDED = 6e-5
_MEAN = "mean"


def stated_document(result: StatedResult) -> dict[str, Any]:
    """Return a stated result as plain data, for the manifest."""
    return {key: value for key, value in asdict(result).items() if value not in (None, ())}


def imported_results(folder: RunFolder, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of ``results.json`` of an imported run, from its manifest and its journal.

    Raises:
        StorageError: if the journal cannot be read.
    """
    facts = manifest[IMPORTED]
    selection = manifest["selection"]
    with closing(Journal(folder.journal)) as journal:
        summaries = [
            _summary(journal, task, [_stated(one) for one in facts[STATED]["tasks"].get(task["name"], ())])
            for task in manifest["tasks"]
        ]
        usage = usage_of_journal(journal, manifest)
    by_name: dict[str, Sequence[Result]] = {summary.name: summary.results for summary in summaries}
    specs = {
        name: GroupSpec(
            name,
            facts["groups"][name].get("alias", ""),
            tuple(members),
            version=facts["groups"][name].get("version", ""),
        )
        for name, members in selection["groups"].items()
    }
    groups = _groups(specs, by_name, {name: [*map(_stated, own)] for name, own in facts[STATED]["groups"].items()})
    notes = [f"Imported from {imported_from(manifest)}: its values as it states them, intervals from its samples."]
    document = results_document(
        status="complete",
        model=str(manifest["model"]["name"]),
        tasks=summaries,
        groups=[
            GroupSummary(spec.name, spec.alias, spec.version, spec.members, groups[spec.name])
            for spec in specs.values()
        ],
        layout=selection["layout"],
        notes=[*notes, *_notes(summaries), *manifest["notes"]],
    )
    return {**document, USAGE_BY_ROLE: usage_document(usage), IMPORTED: imported_from(manifest)}


def group_numbers(specs: Mapping[str, GroupSpec], results: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the scores of groups follow from those of their members, as far as arithmetic shows it.

    Args:
        specs: The groups.
        results: The tasks' and groups' entries in ``results.json``, by name.
    """
    found = {}
    for name, spec in specs.items():
        aggregates = [
            {
                "metric": result["metric"],
                "filter_list": [result["filter"]],
                "aggregation": "mean",
                "weight_by_size": weighs,
            }
            for result in results[name]["results"]
            if (weighs := _weighs(result, _member_results(spec, result["metric"], result["filter"], results)))
            is not None
        ]
        found[name] = {"alias": spec.alias, "version": spec.version, "aggregates": aggregates}
    return found


def _stated(body: Mapping[str, Any]) -> StatedResult:
    return StatedResult(**{**body, "subset": tuple(body.get("subset", ()))})


def _summary(journal: Journal, task: Mapping[str, Any], stated: Sequence[StatedResult]) -> TaskSummary:
    name = task["name"]
    results = [*_task_results(journal, task, stated)]
    statuses = journal.statuses(name)
    n_samples = task["n_samples"] if task["n_samples"] is not None else sum(statuses.values())
    return TaskSummary(
        name,
        task["alias"],
        task["version"],
        task["num_fewshot"] or 0,
        n_samples,
        task["source_hash"],
        results,
        statuses=statuses,
        truncation=truncation_of(journal.answer_bodies(name), None),
        n_scored=None if statuses else max((result.n for result in results), default=0),
        failures=failures_in(journal, name),
    )


def _task_results(journal: Journal, task: Mapping[str, Any], stated: Sequence[StatedResult]) -> Iterator[Result]:
    computed = {(one.metric, one.filter, one.subset): one for one in _means(journal, task["name"])}
    if not stated:
        yield from computed.values()
    for one in stated:
        settled = _settled(one, computed.get((one.metric, one.filter, one.subset)))
        yield (_as_named(journal, task, one) or settled) if settled.no_interval and not one.subset else settled


def _as_named(journal: Journal, task: Mapping[str, Any], stated: StatedResult) -> Result | None:
    """Return a stated result by the aggregation that the log names for its metric. Return ``None`` if the log names no
    known aggregation, or the aggregation gives another value.
    """
    listed = task["config"].get("metric_list")
    entries = [entry for entry in (listed if isinstance(listed, list) else ()) if isinstance(entry, Mapping)]
    named = next((entry.get("aggregation") for entry in entries if entry.get("metric") == stated.metric), None)
    if not isinstance(named, str) or named == _MEAN or named not in AGGREGATIONS:
        return None
    plan = MetricPlan(stated.metric, stated.filter, AGGREGATIONS.get(named), stated.higher_is_better)
    reduction = RowReduction([plan])
    try:
        for row in journal.rows(task["name"]):
            is_scored = row.score is not None and row.status is SampleStatus.OK
            reduction.add(read_score(row.score) if is_scored and row.score else None, (), row.cluster, row.id)
        result = reduction.results(seed_for(0, task["name"], "reduce"))[0]
    except ScoreError:  # the aggregation does not accept values of this kind
        return None
    if not isinstance(result.value, (int, float)) or not is_rounded(stated.value, result.value):
        return None
    return replace(result, value=stated.value)


def _means(journal: Journal, task: str) -> list[Result]:
    """Return the means of all values of samples that are numbers."""
    mean = AGGREGATIONS.get(_MEAN)
    no_numbers: set[MetricKey] = set()
    reduction = RowReduction((), lambda key: MetricPlan(*key, mean, None))
    for row in journal.rows(task):
        reduction.add(_numeric(row, no_numbers), row.subset, row.cluster, row.id)
    found = reduction.results(seed_for(0, task, "reduce"))
    return [result for result in found if (result.metric, result.filter) not in no_numbers]


def _numeric(row: SampleRow, no_numbers: set[MetricKey]) -> Score | None:
    """Return the numbers of a row. Metrics with another value are noted, and have no mean."""
    if row.score is None or row.status is not SampleStatus.OK:
        return None
    values = {}
    for metric, name, value in decode(row.score)["values"]:
        if isinstance(value, Real):
            values[metric, name] = float(value)
        else:
            no_numbers.add((metric, name))
    return Score(values)


def _settled(stated: StatedResult, computed: Result | None) -> Result:
    """Return a stated result, with the uncertainty that its samples give if it is their mean."""
    own = Result(
        stated.metric,
        stated.filter,
        stated.value,
        (computed.n if computed is not None else stated.n) or 0,
        stated.subset,
        stated.stderr,
        stderr_method=None if stated.stderr is None else STATED,
        higher_is_better=stated.higher_is_better,
    )
    if not isinstance(stated.value, (int, float)):
        return own
    if computed is None or computed.value is None:
        return replace(own, no_interval="single samples have no number for it")
    for scale in _SCALES:
        if is_rounded(stated.value, scale * computed.value, scale, stated.decimals):
            return replace(
                own,
                stderr=None if computed.stderr is None else scale * computed.stderr,
                interval=None
                if computed.interval is None
                else (scale * computed.interval[0], scale * computed.interval[1]),
                stderr_method=computed.stderr_method,
                ci_method=computed.ci_method,
                no_interval=computed.no_interval,
                spread=computed.spread if scale == 1 else None,
                bounds=computed.bounds if scale == 1 else own.bounds,
            )
    why = f"its stated value is not the mean of its samples' values, which is {number(computed.value)}"
    return replace(own, no_interval=why)


def is_rounded(stated: float, mean: float, scale: float = 1.0, decimals: int | None = None) -> bool:
    """Check whether a stated value is a mean within rounding.

    Args:
        stated: The value.
        mean: The mean, in the same unit.
        scale: 100 if both are percent.
        decimals: The number of decimals to which the value is rounded; ``None``: at least four, unless it is in
            percent.
    """
    most = _ROUNDED * scale if decimals is None else 0.5 * 10.0**-decimals * (1 + 1e-6)
    return math.isclose(stated, mean, rel_tol=1e-6, abs_tol=most)


def _groups(
    specs: Mapping[str, GroupSpec], tasks: Mapping[str, Sequence[Result]], stated: Mapping[str, Sequence[StatedResult]]
) -> dict[str, list[Result]]:
    """Return the results of groups: the stated values, with an interval if they are the mean of their members."""
    entries = {name: {"results": [_result_entry(one) for one in results]} for name, results in tasks.items()}
    entries |= {name: {"results": [{**asdict(one), "n": one.n or 0} for one in stated.get(name, ())]} for name in specs}
    described = group_numbers(specs, entries)
    whole = {name: replace(spec, aggregates=tuple(described[name]["aggregates"])) for name, spec in specs.items()}
    computed = reduce_groups(whole, tasks, NO_PARITY, lambda problem: None)
    found: dict[str, list[Result]] = {}
    for name in specs:
        by_key = {(one.metric, one.filter): one for one in computed[name] if not one.subset}
        found[name] = [_of_group(one, by_key.get((one.metric, one.filter))) for one in stated.get(name, ())]
    return found


def _of_group(stated: StatedResult, computed: Result | None) -> Result:
    if computed is not None and isinstance(computed.value, (int, float)) and is_rounded(stated.value, computed.value):
        return replace(computed, value=stated.value, higher_is_better=stated.higher_is_better)
    return Result(
        stated.metric,
        stated.filter,
        stated.value,
        stated.n or 0,
        stated.subset,
        stated.stderr,
        stderr_method=None if stated.stderr is None else STATED,
        higher_is_better=stated.higher_is_better,
        no_interval="its stated value is not a mean of its members' values",
    )


def _result_entry(result: Result) -> dict[str, Any]:
    return {
        "metric": result.metric,
        "filter": result.filter,
        "value": result.value,
        "n": result.n,
        "subset": result.subset,
    }


def _member_results(spec: GroupSpec, metric: str, name: str, entries: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the results of a group's members in one metric."""
    return [
        result
        for member in spec.members
        for result in entries.get(member, {}).get("results", ())
        if (result["metric"], result["filter"]) == (metric, name) and not result["subset"]
    ]


def _weighs(result: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> bool | None:
    """Check whether a group's score is the mean of its members weighted by their samples (``True``) or the plain mean
    (``False``); ``None``: it is neither.
    """
    values = [part["value"] for part in parts]
    if not values or not all(isinstance(value, (int, float)) for value in (result["value"], *values)):
        return None
    for weighs in (True, False):
        weights = [float(part["n"]) if weighs else 1.0 for part in parts]
        if sum(weights) and is_rounded(
            result["value"], math.fsum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
        ):
            return weighs
    return None


def _notes(summaries: Sequence[TaskSummary]) -> Iterator[str]:
    """Yield sentences about disagreements between the log and its samples."""
    for summary in summaries:
        for result in summary.results:
            if result.stderr_method == STATED or result.no_interval.startswith("its stated value"):
                subset = f" ({'/'.join(result.subset)})" if result.subset else ""
                yield f"{summary.alias}{subset}, {result.metric}: {result.no_interval or 'its error is as stated'}."
        n_logged = sum(summary.statuses.values())
        if n_logged and n_logged != summary.n_samples:
            yield f"{summary.alias}: the log contains {n_logged:,} of {summary.n_samples:,} samples."
        elif not n_logged:
            yield f"{summary.alias}: the log contains no samples, so nothing can be compared sample by sample."
