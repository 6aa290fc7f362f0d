"""How well the scores of two runs agree, or those of a run with human labels. Reads only run folders."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.places import naming_places
from polymeter.report.formatting import count
from polymeter.store.export import sample_lines
from polymeter.store.folder import open_folder
from polymeter.store.journal import Journal

if TYPE_CHECKING:
    from polymeter.judge.agreement import Agreement
    from polymeter.stats import Estimate

_WORDS = {
    "yes": 1.0,
    "true": 1.0,
    "correct": 1.0,
    "right": 1.0,
    "no": 0.0,
    "false": 0.0,
    "incorrect": 0.0,
    "wrong": 0.0,
}
Key = tuple[str, str, str]
"""Task, metric and filter."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Two lists of verdicts on the samples of one task."""

    task: str
    metric: str
    filter: str
    first: str
    second: str
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """The comparisons, and notes on them."""

    compared: tuple[Compared, ...]
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"compared": [_plain(one) for one in self.compared], "notes": list(self.notes)}


@dataclass(slots=True)
class _Scores:
    """The scores of a run: by task, metric and filter, then by sample."""

    name: str
    model: str
    values: dict[Key, dict[str, float]] = field(default_factory=dict)
    clusters: dict[str, dict[str, str | None]] = field(default_factory=dict)
    labels: dict[str, dict[str, Any]] = field(default_factory=dict)
    columns: set[str] = field(default_factory=set)


@naming_places()
def agree(
    first: Path | str, second: Path | str | None = None, *, column: str = "", metric: str = "", seed: int = 0
) -> AgreementReport:
    """Compare the scores of two runs, and those of each with a column of the rows.

    Args:
        first: A run folder.
        second: Another one, in which another judge scored the same samples.
        column: A column of the rows with human labels: numbers, or words such as *yes* and *incorrect*.
        metric: Only this metric.
        seed: For resampling.

    Raises:
        PlanError: if there is nothing to compare: no such run, metric or column, or no sample that both scored.
    """
    if second is None and not column:
        raise PlanError(
            "There is nothing to compare one run with.",
            hint="Name a second run, or a column of labels in its rows with --column.",
        )
    runs = [_read(Path(path), column, metric) for path in (first, second) if path is not None]
    _check_names(runs, column, metric)
    compared = [*_between(runs[0], runs[1], seed)] if second is not None else []
    if column:
        compared += [one for run in runs for one in _with_labels(run, column, seed)]
    if not compared:
        raise PlanError("The runs have no task and metric in common.", where=f"{first}, {second}")
    return AgreementReport(tuple(compared), _notes(runs, compared))


def _read(path: Path, column: str, metric: str) -> _Scores:
    folder = open_folder(path)
    manifest = folder.read_manifest(is_whole=True)
    scores = _Scores(path.resolve().name, str(manifest["identity"]["model"]))
    with closing(Journal(folder.journal)) as journal:
        for task in manifest["tasks"]:
            for sample in _samples(journal, task["name"]):
                _add(scores, task["name"], sample, column, metric)
    return scores


def _samples(journal: Journal, task: str) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in sample_lines(journal, task))


def _add(scores: _Scores, task: str, sample: Mapping[str, Any], column: str, metric: str) -> None:
    name = str(sample["id"])
    scores.clusters.setdefault(task, {})[name] = sample["cluster"]
    doc = sample["doc"] or {}
    scores.columns |= doc.keys()
    if column in doc:
        scores.labels.setdefault(task, {})[name] = _label(doc[column], column, f"{task}, sample {name}")
    for score in sample["scores"]:
        value = score["value"]
        if isinstance(value, (int, float)) and metric in ("", score["metric"]):
            scores.values.setdefault((task, score["metric"], score["filter"]), {})[name] = float(value)


def _label(value: Any, column: str, where: str) -> float | None:
    """A label as a score; ``None`` if it is missing."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    word = str(value).strip().lower()
    if word in _WORDS:
        return _WORDS[word]
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise PlanError(
            f"Column {column!r} holds {str(value)[:40]!r}, which is not a label that scores can be compared with.",
            where=where,
            hint=f"A label must be a number or one of {', '.join(_WORDS)}.",
        )
    return number


def _check_names(runs: list[_Scores], column: str, metric: str) -> None:
    for run in runs:
        if not run.values:
            of_metric = f" for the metric {metric!r}" if metric else ""
            raise PlanError(f"Run {run.name!r} has no numeric scores{of_metric}.", where="--metric")
        if column and column not in run.columns:
            hint = did_you_mean(column, run.columns) or f"Columns: {', '.join(sorted(run.columns))}."
            raise PlanError(f"The rows of run {run.name!r} have no column {column!r}.", where="--column", hint=hint)


def _between(first: _Scores, second: _Scores, seed: int) -> Iterator[Compared]:
    for key in first.values:
        if key in second.values:
            yield _compare(key, first.name, second.name, first, first.values[key], second.values[key], seed)


def _with_labels(run: _Scores, column: str, seed: int) -> Iterator[Compared]:
    for key, values in run.values.items():
        if key[0] in run.labels:
            yield _compare(key, run.name, f"column {column}", run, values, run.labels[key[0]], seed)


def _compare(
    key: Key,
    first: str,
    second: str,
    run: _Scores,
    one: Mapping[str, float],
    other: Mapping[str, float | None],
    seed: int,
) -> Compared:
    from polymeter.judge.agreement import agreement

    task = key[0]
    names = [*run.clusters[task], *(name for name in other if name not in run.clusters[task])]
    result = agreement(
        [one.get(name) for name in names],
        [other.get(name) for name in names],
        clusters=[run.clusters[task].get(name) for name in names],
        seed=seed,
    )
    return Compared(*key, first, second, result)


def _notes(runs: list[_Scores], compared: list[Compared]) -> tuple[str, ...]:
    notes = []
    if len({run.model for run in runs}) > 1:
        notes.append(
            "The runs are of different models, so the comparison reflects their answers as well as the judges."
        )
    for one in compared:
        if one.agreement.n_left_out:
            notes.append(
                f"{one.task}, {one.metric}: {count(one.agreement.n_left_out, 'sample')} left out, as {one.first} or "
                f"{one.second} has no score."
            )
    return tuple(notes)


def _plain(one: Compared) -> dict[str, Any]:
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
