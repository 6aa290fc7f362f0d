"""The agreement of the scores of two runs, or of a run and human labels. This module reads only run folders."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.analysis.correction import Correction, Key, correct
from polymeter.analysis.labels import label_of, read_labels
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.machine.places import naming_places
from polymeter.core.records.human_scores import HumanScores, few_named
from polymeter.core.records.stored_samples import named
from polymeter.report.formatting import count
from polymeter.store.exports.export import sample_lines
from polymeter.store.folder import RunFolder, open_folder
from polymeter.store.journal import Journal
from polymeter.store.reading.used_verdicts import require_any, used_verdicts

if TYPE_CHECKING:
    from polymeter.judge.agreement import Agreement
    from polymeter.stats import Estimate


@dataclass(frozen=True, slots=True)
class ComparedVerdicts:
    """Two lists of verdicts on the samples of one task, compared."""

    task: str
    metric: str
    filter: str
    first: str
    second: str
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """The comparisons, and notes on them.

    Attributes:
        compared: The comparisons, each of two lists of verdicts.
        notes: Notes for the reader.
        corrected: The means of judges, corrected by labels if only a part of the samples has one.
    """

    compared: tuple[ComparedVerdicts, ...]
    notes: tuple[str, ...] = ()
    corrected: tuple[Correction, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the report as plain data."""
        corrected = {"corrected": [one.document() for one in self.corrected]} if self.corrected else {}
        return {
            "compared": [_comparison_document(one) for one in self.compared],
            **corrected,
            "notes": list(self.notes),
        }


@dataclass(slots=True)
class _RunScores:
    """The scores of a run: by task, metric and filter, then by sample."""

    folder: RunFolder
    name: str
    model: str
    is_complete: bool
    values: dict[Key, dict[str, float]] = field(default_factory=dict)
    clusters: dict[str, dict[str, str | None]] = field(default_factory=dict)
    labels: dict[str, dict[str, Any]] = field(default_factory=dict)
    columns: set[str] = field(default_factory=set)
    human: dict[Key, dict[str, float | None]] = field(default_factory=dict)

    def labels_of(self, key: Key) -> Mapping[str, float | None]:
        """Return the labels for a metric by sample: those of people for it alone, or those of the samples."""
        return self.human.get(key, {}) if self.human else self.labels.get(key[0], {})

    def take_labels(self, tasks: Mapping[str, HumanScores]) -> list[str]:
        """Take the scores of people as labels. Return the metrics that the run has no score for."""
        keys = {(key[0], named(*key[1:])): key for key in self.values}
        unused: dict[str, None] = {}
        given = [
            (task, sample, name, value)
            for task, human in tasks.items()
            for sample in human.labelled
            for name, value in human.values[sample].items()
        ]
        for task, sample, name, value in given:
            if (task, name) in keys:
                self.human.setdefault(keys[task, name], {})[sample] = value
            else:
                unused[name] = None
        return [*unused]

    def leave_out(self, samples: Collection[tuple[str, str]]) -> None:
        """Forget samples, named by task and id."""
        for task, sample in samples:
            self.clusters.get(task, {}).pop(sample, None)
            for key, values in self.values.items():
                if key[0] == task:
                    values.pop(sample, None)


@naming_places()
def agree(
    first: Path | str,
    second: Path | str | None = None,
    *,
    column: str = "",
    labels: Path | str | None = None,
    metric: str = "",
    verdicts: bool = False,
    seed: int = 0,
) -> AgreementReport:
    """Compare the scores of two runs, and those of each run with human labels. If only a part of the samples has
    labels, this part corrects the mean of all samples. The correction holds if the part was selected at random.

    Args:
        first: A run folder.
        second: Another run folder, in which another judge scored the same samples.
        column: A column of the rows with human labels: numbers, or words such as *yes* and *incorrect*.
        labels: A file with human labels: ``id``, ``label`` and, if the runs have several tasks, ``task``, as CSV or
            TSV with a header or as JSON Lines.
        metric: Only this metric.
        verdicts: Take the verdicts of people beside each run as labels; samples that they excluded are left out.
        seed: For resampling.

    Raises:
        PlanError: if a run, metric, column or file does not exist, or no sample has a score in both.
    """
    given = {
        "--column": "a column" if column else "",
        "--labels": "a file" if labels is not None else "",
        "--verdicts": "verdicts" if verdicts else "",
    }
    sources = [name for name, what in given.items() if what]
    if second is None and not sources:
        raise PlanError(
            "A comparison needs a second run or labels.",
            hint="Name a second run, a column of labels in its rows with --column, a file with --labels, or use the "
            "verdicts that people gave in 'polymeter view' with --verdicts.",
        )
    if len(sources) > 1:
        raise PlanError(
            f"Labels come from {' or from '.join(given[name] for name in sources)}, not from "
            f"{'both' if len(sources) == 2 else 'all of them'}.",
            where=sources[-1],
            hint=f"Leave out {sources[0]}.",
        )
    runs = [_run_scores(Path(path), column, metric) for path in (first, second) if path is not None]
    _check_names(runs, column, metric)
    told = _use_verdicts(runs, metric) if verdicts else []
    compared = [*_between(runs[0], runs[1], seed)] if second is not None else []
    if labels is not None:
        for run in runs:
            run.labels = read_labels(Path(labels), run.clusters)
    source = (
        f"column {column}" if column else Path(labels).name if labels is not None else "verdicts" if verdicts else ""
    )
    corrected: list[Correction] = []
    if source:
        compared += [one for run in runs for one in _with_labels(run, source, seed)]
        corrected += [one for run in runs for one in _corrections(run, source, seed)]
    if not compared:
        raise PlanError("The runs have no task and metric in common.", where=f"{first}, {second}")
    notes = [*told, *_notes(runs, compared), *(note for one in corrected for note in one.notes())]
    return AgreementReport(tuple(compared), tuple(notes), tuple(corrected))


def _run_scores(path: Path, column: str, metric: str) -> _RunScores:
    folder = open_folder(path)
    manifest = folder.read_manifest(is_whole=True)
    scores = _RunScores(
        folder, path.resolve().name, str(manifest["identity"]["model"]), manifest["status"] == "complete"
    )
    with closing(Journal(folder.journal)) as journal:
        for task in manifest["tasks"]:
            for sample in _samples_of_task(journal, task["name"]):
                _add(scores, task["name"], sample, column, metric)
    return scores


def _samples_of_task(journal: Journal, task: str) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in sample_lines(journal, task))


def _add(scores: _RunScores, task: str, sample: Mapping[str, Any], column: str, metric: str) -> None:
    name = str(sample["id"])
    scores.clusters.setdefault(task, {})[name] = sample["cluster"]
    doc = sample["doc"] or {}
    scores.columns |= doc.keys()
    if column in doc:
        scores.labels.setdefault(task, {})[name] = label_of(doc[column], f"Column {column!r}", f"{task}, sample {name}")
    for score in sample["scores"]:
        value = score["value"]
        if isinstance(value, (int, float)) and metric in ("", score["metric"]):
            scores.values.setdefault((task, score["metric"], score["filter"]), {})[name] = float(value)


def _check_names(runs: list[_RunScores], column: str, metric: str) -> None:
    for run in runs:
        if not run.values:
            of_metric = f" for the metric {metric!r}" if metric else ""
            raise PlanError(f"Run {run.name!r} has no numeric scores{of_metric}.", where="--metric")
        if column and column not in run.columns:
            hint = did_you_mean(column, run.columns) or f"Columns: {', '.join(sorted(run.columns))}."
            raise PlanError(f"The rows of run {run.name!r} have no column {column!r}.", where="--column", hint=hint)


def _use_verdicts(runs: list[_RunScores], metric: str) -> list[str]:
    """Take the verdicts of people beside runs as labels, and leave out the samples that they excluded. Return the
    notes on them.

    Raises:
        PlanError: if a file of verdicts is damaged, or no sample has a score or a label by a person.
    """
    used = [used_verdicts(run.folder, run.clusters) for run in runs]
    where = ", ".join(str(run.folder.path) for run in runs)
    require_any(used, where)
    notes: list[str] = []
    for run, own in zip(runs, used, strict=True):
        notes += [f"{run.name}: {note}" for note in own.notes()]
        unused = run.take_labels(own.tasks)
        if unused and not metric:
            notes.append(
                f"{run.name}: scores of people for {few_named(unused)} were not used: the run has no such score."
            )
    excluded = {(task, sample) for own in used for task, human in own.tasks.items() for sample in human.excluded}
    for run in runs:
        run.leave_out(excluded)
    if not any(run.human for run in runs):
        raise PlanError(
            "No sample has a score or a label by a person that can be compared.",
            where=where,
            hint="Give some in 'polymeter view'.",
        )
    return notes


def _between(first: _RunScores, second: _RunScores, seed: int) -> Iterator[ComparedVerdicts]:
    for key in first.values:
        if key in second.values:
            yield _compare(key, first.name, second.name, first, first.values[key], second.values[key], seed)


def _with_labels(run: _RunScores, source: str, seed: int) -> Iterator[ComparedVerdicts]:
    for key, values in run.values.items():
        labels = run.labels_of(key)
        if labels:
            yield _compare(key, run.name, source, run, values, labels, seed)


def _corrections(run: _RunScores, source: str, seed: int) -> Iterator[Correction]:
    for key, values in run.values.items():
        labels = run.labels_of(key)
        found = correct(key, run.name, source, values, labels, run.clusters[key[0]], seed) if labels else None
        if found is not None:
            yield found


def _compare(
    key: Key,
    first: str,
    second: str,
    run: _RunScores,
    one: Mapping[str, float],
    other: Mapping[str, float | None],
    seed: int,
) -> ComparedVerdicts:
    from polymeter.judge.agreement import agreement

    task = key[0]
    names = [*run.clusters[task], *(name for name in other if name not in run.clusters[task])]
    result = agreement(
        [one.get(name) for name in names],
        [other.get(name) for name in names],
        clusters=[run.clusters[task].get(name) for name in names],
        seed=seed,
    )
    return ComparedVerdicts(*key, first, second, result)


def _notes(runs: list[_RunScores], compared: list[ComparedVerdicts]) -> tuple[str, ...]:
    notes = []
    if len({run.model for run in runs}) > 1:
        notes.append(
            "The runs are of different models, so the comparison reflects their answers as well as the judges."
        )
    notes += [f"{run.name} has not ended: its numbers may change." for run in runs if not run.is_complete]
    for one in compared:
        if one.agreement.n_left_out:
            notes.append(
                f"{one.task}, {one.metric}: {count(one.agreement.n_left_out, 'sample')} left out, as {one.first} or "
                f"{one.second} has no score."
            )
    return tuple(notes)


def _comparison_document(one: ComparedVerdicts) -> dict[str, Any]:
    result = one.agreement
    return {
        "task": one.task,
        "metric": one.metric,
        "filter": one.filter,
        "first": one.first,
        "second": one.second,
        "n": result.n,
        "n_left_out": result.n_left_out,
        "agreement": _estimate(result.raw),
        "kappa": _estimate(result.kappa),
        "spearman": None if result.spearman is None else _estimate(result.spearman),
        "categories": list(result.categories),
        "is_binned": result.is_binned,
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    interval = None if estimate.interval is None else list(estimate.interval)
    return {"value": estimate.value, "stderr": estimate.stderr, "interval": interval, "method": estimate.method}
