"""The agreement of the scores of two runs, or of a run and human labels. This module reads only run folders."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.analysis.correction import Correction, Key, correct
from polymeter.analysis.labels import label_of, read_labels
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.machine.places import naming_places
from polymeter.report.formatting import count
from polymeter.store.exports.export import sample_lines
from polymeter.store.folder import open_folder
from polymeter.store.journal import Journal

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

    name: str
    model: str
    is_complete: bool
    values: dict[Key, dict[str, float]] = field(default_factory=dict)
    clusters: dict[str, dict[str, str | None]] = field(default_factory=dict)
    labels: dict[str, dict[str, Any]] = field(default_factory=dict)
    columns: set[str] = field(default_factory=set)


@naming_places()
def agree(
    first: Path | str,
    second: Path | str | None = None,
    *,
    column: str = "",
    labels: Path | str | None = None,
    metric: str = "",
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
        seed: For resampling.

    Raises:
        PlanError: if a run, metric, column or file does not exist, or no sample has a score in both.
    """
    if second is None and not column and labels is None:
        raise PlanError(
            "A comparison needs a second run or labels.",
            hint="Name a second run, a column of labels in its rows with --column, or a file with --labels.",
        )
    if column and labels is not None:
        raise PlanError(
            "Labels come from a column or from a file, not from both.", where="--labels", hint="Leave out --column."
        )
    runs = [_run_scores(Path(path), column, metric) for path in (first, second) if path is not None]
    _check_names(runs, column, metric)
    compared = [*_between(runs[0], runs[1], seed)] if second is not None else []
    if labels is not None:
        for run in runs:
            run.labels = read_labels(Path(labels), run.clusters)
    source = f"column {column}" if column else Path(labels).name if labels is not None else ""
    corrected: list[Correction] = []
    if source:
        compared += [one for run in runs for one in _with_labels(run, source, seed)]
        corrected += [one for run in runs for one in _corrections(run, source, seed)]
    if not compared:
        raise PlanError("The runs have no task and metric in common.", where=f"{first}, {second}")
    notes = [*_notes(runs, compared), *(note for one in corrected for note in one.notes())]
    return AgreementReport(tuple(compared), tuple(notes), tuple(corrected))


def _run_scores(path: Path, column: str, metric: str) -> _RunScores:
    folder = open_folder(path)
    manifest = folder.read_manifest(is_whole=True)
    scores = _RunScores(path.resolve().name, str(manifest["identity"]["model"]), manifest["status"] == "complete")
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


def _between(first: _RunScores, second: _RunScores, seed: int) -> Iterator[ComparedVerdicts]:
    for key in first.values:
        if key in second.values:
            yield _compare(key, first.name, second.name, first, first.values[key], second.values[key], seed)


def _with_labels(run: _RunScores, source: str, seed: int) -> Iterator[ComparedVerdicts]:
    for key, values in run.values.items():
        if key[0] in run.labels:
            yield _compare(key, run.name, source, run, values, run.labels[key[0]], seed)


def _corrections(run: _RunScores, source: str, seed: int) -> Iterator[Correction]:
    for key, values in run.values.items():
        labels = run.labels.get(key[0])
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
