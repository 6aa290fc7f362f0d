"""A run for a comparison: its results, its samples' values, and the results that are means of these values."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.records.human_scores import HumanScores, replaced
from polymeter.report.formatting import number, one_line
from polymeter.report.table import bounds_of, spread_value
from polymeter.store.folder import RunFolder
from polymeter.store.reading.outcomes import (
    SampleOutcome,
    ScoreKey,
    has_journal,
    read_outcomes,
    read_requests,
    read_rows,
)

Subset = tuple[str, ...]
"""The path of a subset; empty for a whole task."""
BY_ID = "id"
"""The usual rule by which samples are paired."""
_SCALES = (1.0, 100.0)
"""The possible factors from the mean of samples to a result: some benchmarks print percent."""
_ROUNDED = 6e-5
"""The tolerance between a result and the mean of its samples: some benchmarks round to four decimals."""


@dataclass(frozen=True, slots=True)
class MeanResult:
    """A result of a task that is the mean of its samples' values.

    Attributes:
        key: Metric and filter.
        scale: The factor from the mean to the result; 1 for a mean of 0, for which it is unknown.
        higher_is_better: Its direction; ``None``: unknown.
        bounds: The range of a sample's value.
    """

    key: ScoreKey
    scale: float
    higher_is_better: bool | None
    bounds: tuple[float | None, float | None]


@dataclass(slots=True)
class ComparedRun:
    """A run that is compared with others.

    Attributes:
        name: Its name beside the others.
        folder: Its folder.
        manifest: The content of ``run.json``.
        results: The content of ``results.json``.
        is_complete: Whether it has ended.
        is_by_file: Whether samples are read from their files, because the run has no journal.
        human: The verdicts of people that replace scores, by task; empty: only the scores of the run count.
        left_out: The ids of samples that people excluded in this run or in one that it is compared with, by task.
        pair_by: The rule by which its samples are paired with those of the first run.
        names: The names under which its samples are compared, by task and id; without a task, their ids.
    """

    name: str
    folder: RunFolder
    manifest: Mapping[str, Any] = field(repr=False)
    results: Mapping[str, Any] = field(repr=False)
    is_complete: bool
    is_by_file: bool = False
    human: Mapping[str, HumanScores] = field(default_factory=dict, repr=False)
    left_out: Mapping[str, set[str]] = field(default_factory=dict, repr=False)
    pair_by: str = BY_ID
    names: dict[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    _outcomes: dict[str, list[SampleOutcome]] = field(default_factory=dict, repr=False)
    _judged: dict[str, list[SampleOutcome]] = field(default_factory=dict, repr=False)
    _rows: dict[str, dict[str, Mapping[str, Any]]] = field(default_factory=dict, repr=False)

    @property
    def model(self) -> str:
        """The name of its model."""
        return one_line(str(self.results.get("model") or ""))

    @property
    def tasks(self) -> dict[str, Mapping[str, Any]]:
        """The entry of each task in the manifest, by name."""
        return {task["name"]: task for task in self.manifest["tasks"]}

    def outcomes(self, task: str) -> list[SampleOutcome]:
        """Return the samples of a task that have ended, in order, with the verdicts of people."""
        human, left_out = self.human.get(task), self.left_out.get(task, ())
        if human is None and not left_out:
            return self.stored(task)
        if task not in self._judged:
            values = human.values if human is not None else {}
            kept = (outcome for outcome in self.stored(task) if outcome.id not in left_out)
            self._judged[task] = [
                replace(one, values=replaced(one.values, values[one.id])[0]) if one.id in values else one
                for one in kept
            ]
        return self._judged[task]

    def stored(self, task: str) -> list[SampleOutcome]:
        """Return the samples of a task that have ended, in order, as the run scored them."""
        if task not in self._outcomes:
            self._outcomes[task] = read_outcomes(self.folder, task, is_by_file=self.is_by_file)
        return self._outcomes[task]

    def rename(self, task: str, names: Mapping[str, str]) -> None:
        """Give the samples of a task other names, by which they are compared."""
        self.names[task] = names
        self._outcomes[task] = [replace(one, id=names[one.id]) for one in self.stored(task)]
        self._judged.pop(task, None)
        self._rows.pop(task, None)

    def named_as(self, task: str, sample: str) -> str:
        """Return the name under which a sample is compared, by its id."""
        return self.names.get(task, {}).get(sample, sample)

    def rows(self, task: str) -> dict[str, str | None]:
        """Return the rows of a task's samples that have ended, as JSON texts."""
        return {self.named_as(task, name): row for name, row in read_rows(self.folder, task).items()}

    def requests(self, task: str, wanted: Mapping[str, str]) -> dict[str, Any]:
        """Return the first requests of samples, as data.

        Args:
            task: The task.
            wanted: The fingerprints of requests, by sample.
        """
        own = {name: sample for sample, name in self.names.get(task, {}).items()}
        by_id = {own.get(name, name): fingerprint for name, fingerprint in wanted.items()}
        found = read_requests(self.folder, task, by_id, is_by_file=self.is_by_file)
        return {self.named_as(task, sample): request for sample, request in found.items()}

    def part(self, task: str, subset: Subset) -> list[SampleOutcome]:
        """Return the samples of a subset that have ended, in order; with an empty path, those of the whole task.

        Either a sample names its subset, or the subset names a column of the row and its value, as in tables.
        """
        return self._part(self.outcomes(task), task, subset)

    def _part(self, outcomes: list[SampleOutcome], task: str, subset: Subset) -> list[SampleOutcome]:
        if not subset:
            return outcomes
        own = [one for one in outcomes if one.subset[: len(subset)] == subset]
        if own or len(subset) != 2:
            return own
        column, value = subset
        rows = self._rows_of(task)
        return [one for one in outcomes if str(rows.get(one.id, {}).get(column, "")) == value]

    def subsets(self, task: str) -> list[Subset]:
        """Return the paths of the subsets that a task has results for, in order."""
        results = self.results["tasks"].get(task, {}).get("results", ())
        return [*dict.fromkeys(_path(result) for result in results if result["subset"])]

    def _rows_of(self, task: str) -> dict[str, Mapping[str, Any]]:
        if task not in self._rows:
            parsed = ((name, json.loads(text or "null")) for name, text in self.rows(task).items())
            self._rows[task] = {name: row for name, row in parsed if isinstance(row, dict)}
        return self._rows[task]

    def means(self, task: str, subset: Subset = ()) -> tuple[dict[ScoreKey, MeanResult], dict[ScoreKey, str]]:
        """Return the results of a task, or of a subset of it, that are means of its samples' values, and the reason for
        each other result.
        """
        means, others = {}, {}
        outcomes = self._part(self.stored(task), task, subset)
        for result in self.results["tasks"].get(task, {}).get("results", ()):
            if _path(result) != subset:
                continue
            for metric, value in spread_value(str(result["metric"]), result["value"]):
                key = (metric, str(result["filter"]))
                scale, why = _scale(outcomes, key, value, result)
                if why:
                    others[key] = why
                else:
                    means[key] = MeanResult(key, scale, result.get("higher_is_better"), bounds_of(result))
        return means, others

    def value(self, task: str, key: ScoreKey, subset: Subset = ()) -> Any:
        """Return the value of a task's, subset's or group's result, or ``None`` if it has none."""
        holder = self.results["tasks"].get(task) or self.results["groups"].get(task) or {}
        for result in holder.get("results", ()):
            for metric, value in spread_value(str(result["metric"]), result["value"]):
                if _path(result) == subset and (metric, str(result["filter"])) == key:
                    return value
        return None


def _path(result: Mapping[str, Any]) -> Subset:
    return tuple(str(part) for part in result["subset"] or ())


def _scale(
    outcomes: Sequence[SampleOutcome], key: ScoreKey, value: Any, result: Mapping[str, Any]
) -> tuple[float, str]:
    """Return the factor from the mean of the samples to the result, and the reason if the result is not such a mean."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        return 1.0, "it has no number"
    if result.get("stderr_method") == "bootstrap":
        return 1.0, "it is computed from all answers together, not a mean of values of single samples"
    own = [outcome.values[key] for outcome in outcomes if key in outcome.values]
    if not outcomes:
        return 1.0, "the run does not say which samples belong to it"
    if not own:
        return 1.0, "single samples have no number for it"
    scale = scale_of(value, own)
    if scale is not None:
        return scale, ""
    mean = math.fsum(own) / len(own)
    return 1.0, f"its value {number(value)} is not the mean of its samples' values, which is {number(mean)}"


def scale_of(value: float, own: Sequence[float]) -> float | None:
    """Return the factor from the mean of samples' values to a result, or ``None`` if the result is not such a mean.

    This is tested, not declared. An author's aggregation that happens to be a mean is compared sample by sample, and
    one that is only called a mean is not.

    Args:
        value: The result.
        own: The values of its samples.
    """
    if not own:
        return None
    mean = math.fsum(own) / len(own)
    for scale in _SCALES:
        if math.isclose(value, scale * mean, rel_tol=1e-6, abs_tol=_ROUNDED * scale):
            return scale
    return None


def read_runs(paths: Sequence[Path]) -> list[ComparedRun]:
    """Read the runs in some folders, with distinct names.

    Raises:
        PlanError: if a folder holds no run, a file of a run is damaged, or a run is named twice.
        StorageError: if a folder cannot be read.
    """
    from polymeter.api.result import open_run

    if len({path.resolve() for path in paths}) < len(paths):
        raise PlanError("A run is named twice.", hint="Name different run folders.")
    opened = [open_run(path) for path in paths]
    is_by_file = not all(has_journal(found.folder) for found in opened)
    return [
        ComparedRun(name, found.folder, found.folder.read_manifest(), found.results, found.is_complete, is_by_file)
        for name, found in zip(_distinct_names(paths), opened, strict=True)
    ]


def _distinct_names(paths: Sequence[Path]) -> list[str]:
    """Return the last part of each path, with as many parts before it as make the names distinct."""
    whole = [path.resolve() for path in paths]
    for depth in range(1, max(len(path.parts) for path in whole) + 1):
        names = ["/".join(path.parts[-depth:]) for path in whole]
        if len(set(names)) == len(names):
            break
    return [one_line(name) for name in names]
