"""The results of a run that has not ended, or was interrupted: what its journal holds so far, marked *partial*.

They are made from the journal alone: no code of a benchmark runs, no model or judge is asked, and the run's lock is not
taken, so that a run in progress is not disturbed. A metric is aggregated as the task's configuration says, if it names
one of Polymeter's aggregations; an author's own aggregation runs only when a run ends. A group's result is computed
from the members that have one. A sample that has not ended is not a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any, Literal

from polymeter.api.report_file import write_html_report
from polymeter.core.errors import PlanError, PolymeterError, ScoreError
from polymeter.core.identity import seed_for
from polymeter.core.names.parity import NO_PARITY, Parity, parity_with
from polymeter.core.names.registries import AGGREGATIONS, METRICS
from polymeter.core.records.attempts import is_of_part
from polymeter.core.records.spread import UNBOUNDED
from polymeter.core.records.truncation import Truncation
from polymeter.core.records.usage import USAGE_BY_ROLE, usage_document
from polymeter.core.task import GroupSpec, MetricKey, ReduceContext, Result, SampleStatus, ScoredRow
from polymeter.metrics import aggregation_of
from polymeter.reading.cuts import truncation_of
from polymeter.run.finish.groups import reduce_groups
from polymeter.run.plan.selection import described_groups
from polymeter.stats.reduction import MetricPlan, reduce_rows
from polymeter.store.database import JournalError
from polymeter.store.exports.export import GroupSummary, TaskSummary, results_document
from polymeter.store.folder import RunFolder, write_json
from polymeter.store.journal import Journal
from polymeter.store.reading.shown_summary import shown_summary
from polymeter.store.reading.usage import usage_of_run
from polymeter.store.wire import read_score

PARTIAL = "partial"
"""The status of results that were made before the run was complete."""
_MEAN = "mean"


def partial_results(folder: RunFolder) -> dict[str, Any]:
    """The results of what a run's journal holds so far, in the form of ``results.json``.

    Raises:
        PlanError: if there is no run, or its manifest is damaged.
        StorageError: if the journal cannot be read.
    """
    manifest = folder.read_manifest(is_whole=True)
    try:
        summaries, usage = [*_summaries(folder, manifest)], usage_of_run(folder, manifest)
    except (ValueError, LookupError, TypeError) as damage:
        what = f"A row of the journal is damaged: {damage}."
        raise JournalError(what, where=str(folder.journal), hint="polymeter resume RUN asks for it again.") from damage
    selection = manifest.get("selection") or {}
    parity = parity_with(manifest["parity"]["system"]) if manifest.get("parity") else NO_PARITY
    document = results_document(
        status=PARTIAL,
        model=str(manifest["model"].get("name") or ""),
        parity=parity.label if manifest.get("parity") else "",
        tasks=summaries,
        groups=_groups(described_groups(selection), summaries, parity),
        layout=selection.get("layout") or [["task", summary.name, 0] for summary in summaries],
        notes=[*manifest.get("notes", ()), *_notes(summaries)],
    )
    document["run_status"] = manifest["status"]
    document[USAGE_BY_ROLE] = usage_document(usage)
    for summary in summaries:
        n_ended = sum(summary.statuses.values())
        document["tasks"][summary.name]["n_not_asked"] = max(summary.n_samples - n_ended, 0)
    return document


def write_partial(folder: RunFolder, samples: int | Literal["all"] | None = None) -> dict[str, Any]:
    """Write ``results.json`` and ``report.html`` of partial results. Results of a run that has ended meanwhile are
    never replaced.

    Args:
        folder: The run.
        samples: As for ``write_html_report``.

    Returns:
        The partial results.

    Raises:
        PlanError: as for ``partial_results``, or if the run has ended.
        StorageError: if the folder cannot be read or written.
    """
    results = partial_results(folder)

    def check() -> None:
        if folder.read_manifest()["status"] == "complete":
            raise PlanError("The run has ended meanwhile.", where=str(folder.path), hint="It has results now.")

    write_html_report(folder, results, samples, is_by_journal=True, check=check)
    write_json(folder.results, results)
    return results


def is_partial(results: Mapping[str, Any]) -> bool:
    """Return whether results were made before their run was complete."""
    return results.get("status") == PARTIAL


def _summaries(folder: RunFolder, manifest: Mapping[str, Any]) -> Iterator[TaskSummary]:
    seed = int((manifest["options"]["identity"] or {}).get("seed") or 0)
    if not folder.journal.exists():  # a run that was killed at its very beginning
        for task in manifest["tasks"]:
            yield _summary(task, [], {}, Truncation())
        return
    with closing(Journal(folder.journal)) as journal:
        for task in manifest["tasks"]:
            name = task["name"]
            results = _results(
                _Rows(journal, task), task, ReduceContext(folder.artifacts, seed_for(seed, name, "reduce"))
            )
            cuts = truncation_of(journal.answer_bodies(name), None)
            yield replace(_summary(task, results, journal.statuses(name), cuts), shown=shown_summary(journal, name))


def _groups(groups: Mapping[str, GroupSpec], summaries: Sequence[TaskSummary], parity: Parity) -> list[GroupSummary]:
    """The groups, with the numbers that the members' numbers so far come to. A group's results name the members that
    have none yet.
    """
    results = {summary.name: summary.results for summary in summaries}
    absent = {member: () for group in groups.values() for member in group.members if member not in groups}
    reduced = reduce_groups(groups, {**absent, **results}, parity, lambda problem: None)
    return [GroupSummary(g.name, g.alias, g.version, g.members, reduced[g.name]) for g in groups.values()]


def _summary(
    task: Mapping[str, Any], results: list[Result], statuses: Mapping[str, int], truncation: Truncation
) -> TaskSummary:
    return TaskSummary(
        task["name"],
        str(task.get("alias") or task["name"]),
        str(task.get("version") or ""),
        int(task.get("num_fewshot") or 0),
        int(task.get("n_samples") or 0),
        task["source_hash"],
        results,
        statuses=statuses,
        truncation=truncation,
    )


class _Rows:
    """The samples of a task that ended with a score which the journal holds exactly; every iteration reads it anew."""

    def __init__(self, journal: Journal, task: Mapping[str, Any]) -> None:
        self._journal = journal
        self._name: str = task["name"]
        self._digest = task.get("score_digest")
        self.keys: dict[MetricKey, None] = {}

    def __iter__(self) -> Iterator[ScoredRow]:
        for row in self._journal.rows(self._name):
            is_current = row.score_is_exact and self._digest in (None, row.score_digest)
            score = None
            if row.status is SampleStatus.OK and row.score is not None and is_current:
                score = read_score(row.score)
                values = {key: value for key, value in score.values.items() if not is_of_part(key[1])}
                score = replace(score, values=values)
                self.keys.update(dict.fromkeys(score.values))
            yield ScoredRow(row.id, row.index, row.subset, row.cluster, row.status, score)


def _results(rows: _Rows, task: Mapping[str, Any], context: ReduceContext) -> list[Result]:
    for _ in rows:  # only the samples show which metrics exist
        pass
    configured = _configured(task)
    is_own = bool((task.get("config") or {}).get("process_results"))
    plans = [_plan(metric, name, configured.get(metric), is_own=is_own) for metric, name in rows.keys]
    results = {(result.metric, result.filter, result.subset): result for result in _reduced(rows, plans, context)}
    whole = [
        results.get((metric, name, ()))
        or Result(metric, name, None, 0, higher_is_better=_direction(metric, configured))
        for metric, name in rows.keys
    ]
    return [*whole, *(result for result in results.values() if result.subset)]


def _reduced(rows: _Rows, plans: Sequence[MetricPlan | None], context: ReduceContext) -> Iterator[Result]:
    """All in one pass; one by one if that fails, because one of them has values without such a number."""
    known = [plan for plan in plans if plan is not None]
    try:
        yield from reduce_rows(rows, known, context) if known else ()
    except ScoreError:
        for plan in known:
            with suppress(ScoreError):
                yield from reduce_rows(rows, [plan], context)


def _plan(metric: str, name: str, entry: Mapping[str, Any] | None, *, is_own: bool) -> MetricPlan | None:
    """Return the aggregation of a metric; ``None`` if it is its author's own code. A metric that no list names is
    averaged.

    Args:
        metric: The metric.
        name: The filter.
        entry: Its entry in the task's list of metrics, if it has one.
        is_own: Whether the task computes the values itself.
    """
    registered = METRICS.get(metric) if entry is not None and metric in METRICS else None
    if registered is not None and registered.only_computed and is_own:
        registered = None
    named = (entry or {}).get("aggregation") or (registered.aggregation if registered else _MEAN)
    if not isinstance(named, str) or named not in AGGREGATIONS:
        return None
    direction = _direction(metric, {metric: entry or {}})
    bounds = registered.bounds if registered else UNBOUNDED
    if registered is None:
        return MetricPlan(metric, name, AGGREGATIONS.get(named), direction, bounds)
    aggregation = aggregation_of(registered, entry or {}, AGGREGATIONS.get, named)
    return MetricPlan(metric, name, aggregation, direction, bounds)


def _direction(metric: str, configured: Mapping[str, Mapping[str, Any]]) -> bool | None:
    told = configured.get(metric, {}).get("higher_is_better")
    if isinstance(told, bool):
        return told
    return METRICS.get(metric).higher_is_better if metric in METRICS else None


def _configured(task: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The entries of a task's list of metrics, as it is stored, by name."""
    items = (task.get("config") or {}).get("metric_list")
    listed = [items] if isinstance(items, Mapping) else items if isinstance(items, list) else []
    entries = [item if isinstance(item, Mapping) else {"metric": item} for item in listed]
    return {str(entry.get("metric")): entry for entry in entries}


def _notes(summaries: list[TaskSummary]) -> Iterator[str]:
    """Yield notes for readers of partial results about missing values."""
    for summary in summaries:
        lost = dict.fromkeys(result.metric for result in summary.results if result.value is None and not result.subset)
        if lost:
            yield f"{summary.alias}: no value of {' and '.join(lost)} until the run has ended."


def write_partial_if_possible(folder: RunFolder) -> dict[str, Any]:
    """Write the partial results of a run that ended early; empty if a disk, or a damaged file, does not allow it. The
    end of the run is reported, and this failure is not.
    """
    with suppress(PolymeterError, ValueError, LookupError):  # the latter two of damaged rows, which a resume repairs
        return write_partial(folder)
    return {}
