"""The curve of a training run: the scores of each checkpoint, and their differences from an earlier one."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polymeter.analysis.comparison.comparing import ALPHA, Comparison, RunComparison, corrected, verdict
from polymeter.analysis.comparison.runs import ComparedRun
from polymeter.analysis.comparison.scores import ScoreComparison
from polymeter.analysis.tracking.pairs import CheckpointPair, CheckpointPairs
from polymeter.analysis.tracking.record import CheckpointRecord, Record
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.report.formatting import listing
from polymeter.report.table import spread_value, title_of
from polymeter.store.folder import RunFolder

SCHEMA_VERSION = 1
AGAINST = ("best", "previous", "first")
"""The checkpoints to compare with, besides the one of a step."""
Line = tuple[str, str, str, str]
"""One line of a curve: ``task`` or ``group``, its name, metric, filter."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A checkpoint of a curve.

    Attributes:
        step: Its step.
        name: Its name.
        status: ``measured``, ``unfinished`` (interrupted or stopped; it can be resumed) or ``failed``.
        run: Its run folder; ``None`` if the run failed before it began.
        error: Why it failed or was stopped.
        n_failed: The number of its samples without a score.
        results: The content of its ``results.json``; empty unless it is measured.
    """

    step: int
    name: str
    status: str
    run: Path | None
    error: str = ""
    n_failed: int = 0
    results: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Curve:
    """The scores of the checkpoints of a training run, and their differences.

    Attributes:
        folder: The folder of the run folders, with ``curve.html`` and ``curve.csv``.
        checkpoints: The folder of the checkpoints.
        against: The reference of each checkpoint: ``best``, ``previous``, ``first``, or a step.
        points: All checkpoints in the order of their steps, including those that were deleted.
        differences: By step, the comparisons with earlier checkpoints: the step of each of these, and the comparison
            with it.
        refused: By step, why a comparison would mislead and is missing.
        metric: The only metric; empty: all, and the first of each task decides.
        status: ``complete``; ``interrupted`` by the user.
        new: The steps that this call measured or tried to measure.
        max_regression: The largest tolerated loss; ``None``: any.
        allow_undecided: Whether a loss that the samples cannot decide on is tolerated too.
        warnings: What the reader must know: one sentence each.
    """

    folder: Path
    checkpoints: Path
    against: str | int
    points: tuple[CurvePoint, ...]
    differences: Mapping[int, Mapping[int, RunComparison]]
    refused: Mapping[int, str]
    metric: str = ""
    status: str = "complete"
    new: tuple[int, ...] = ()
    max_regression: float | None = None
    allow_undecided: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def page(self) -> Path:
        """The curve as one HTML file."""
        return self.folder / "curve.html"

    @property
    def table(self) -> Path:
        """The curve as CSV."""
        return self.folder / "curve.csv"

    @property
    def measured(self) -> tuple[CurvePoint, ...]:
        """The checkpoints with scores."""
        return tuple(point for point in self.points if point.results is not None)

    @property
    def exit_code(self) -> int:
        """The exit code. 130: interrupted; 3: the newest checkpoint is worse than ``max_regression`` allows; 1: a
        checkpoint that this call tried failed, was stopped, or has samples without a score; 4: the samples are too few
        to decide on ``max_regression``; else 0.
        """
        if self.status == "interrupted":
            return 130
        worse, undecided = ([], []) if self.max_regression is None else self.regressions(self.max_regression)
        if worse:
            return 3
        tried = [point for point in self.points if point.step in self.new]
        if any(point.status != "measured" or point.n_failed for point in tried):
            return 1
        return 4 if undecided and not self.allow_undecided else 0

    def regressions(self, most: float) -> tuple[list[str], list[str]]:
        """Return the scores of the newest checkpoint that are worse by more than ``most``, and those for which the
        samples cannot decide this; see ``Comparison.regressions``.

        Args:
            most: The largest loss that is tolerated, in the unit of the metric.

        Raises:
            ValueError: if ``most`` is negative.
        """
        worse: list[str] = []
        undecided: list[str] = []
        if not self.measured:
            return worse, undecided
        newest = self.measured[-1]
        if newest.step in self.refused:
            undecided.append(f"{step_name(newest.step)} is not compared: {self.refused[newest.step]}")
        for reference, compared in self.differences.get(newest.step, {}).items():
            first = _renamed_run(compared.run, step_name(reference))
            found = Comparison(first, (compared,)).regressions(most)
            worse += found[0]
            undecided += found[1]
        return worse, undecided

    def value(self, task: str, metric: str, *, step: int | None = None) -> Any:
        """Return a score of a checkpoint.

        Args:
            task: A task or group.
            metric: One of its metrics.
            step: The checkpoint's step; default: the newest.

        Raises:
            KeyError: if the score does not exist.
        """
        points = [point for point in self.measured if step in (None, point.step)]
        for line, result in _results(points[-1].results or {}, "") if points else ():
            if (line[1], line[2]) == (task, metric):
                return result["value"]
        raise KeyError(f"there is no {metric!r} of {task!r} at {'any step' if step is None else f'step {step}'}")

    def document(self) -> dict[str, Any]:
        """Return the curve as plain data, as ``polymeter track --json`` prints it."""
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": "curve",
            "status": self.status,
            "exit_code": self.exit_code,
            "folder": str(self.folder),
            "checkpoints_folder": str(self.checkpoints),
            "against": self.against,
            "level": 1 - ALPHA,
            "new": list(self.new),
            "warnings": list(self.warnings),
            "checkpoints": [
                {
                    "step": point.step,
                    "name": point.name,
                    "status": point.status,
                    "error": point.error,
                    "n_failed": point.n_failed,
                    "run": None if point.run is None else str(point.run),
                    "refused": self.refused.get(point.step, ""),
                }
                for point in self.points
            ],
            "lines": [*self._lines()],
            **self._gate(),
        }

    def __repr__(self) -> str:
        newest = f", newest step {self.measured[-1].step}" if self.measured else ""
        return f"Curve({self.folder}, {self.status}, {len(self.measured)} measured{newest})"

    def _gate(self) -> dict[str, Any]:
        if self.max_regression is None:
            return {}
        worse, undecided = self.regressions(self.max_regression)
        return {"max_regression": {"limit": self.max_regression, "regressions": worse, "unclear": undecided}}

    def _lines(self) -> Iterator[dict[str, Any]]:
        by_step = {point.step: dict(_results(point.results or {}, self.metric)) for point in self.measured}
        compared: dict[tuple[int, Line], tuple[int, ScoreComparison]] = {
            (step, (line.kind, line.name, line.metric, line.filter)): (reference, line)
            for step, links in self.differences.items()
            for reference, link in links.items()
            for line in link.scores
        }
        shown: set[tuple[str, str]] = set()
        for line in dict.fromkeys(line for results in by_step.values() for line in results):
            kind, name, metric, filter_name = line
            results = {step: results[line] for step, results in by_step.items() if line in results}
            holder = next(point.results for point in reversed(self.measured) if point.step in results) or {}
            is_main = (kind, name) not in shown
            shown.add((kind, name))
            direction = next(iter(results.values()))["higher_is_better"]
            values = {step: result["value"] for step, result in results.items()}
            yield {
                "kind": kind,
                "name": name,
                "title": title_of(holder, kind, name),
                "metric": metric,
                "filter": filter_name,
                "higher_is_better": direction,
                "is_main": is_main,
                "best": best_of(values, higher_is_better=direction),
                "points": [
                    {"step": step, **result, "difference": _difference(compared.get((step, line)))}
                    for step, result in results.items()
                ],
            }


def make_curve(
    record: Record,
    checkpoints: Path,
    *,
    against: str | int,
    pairs: CheckpointPairs,
    metric: str = "",
    **more: Any,
) -> Curve:
    """Make the curve of the checkpoints that have been measured so far.

    Args:
        record: The record of the checkpoints.
        checkpoints: Their folder.
        against: The reference of each.
        pairs: The earlier comparisons.
        metric: Only this metric; default: all, and the first of each task decides.
        **more: Further fields of ``Curve``.

    Raises:
        PlanError: if a run folder is damaged.
        StorageError: if one cannot be read.
    """
    points = tuple(_point(record, entry) for _, entry in sorted(record.entries.items()))
    _check_metric(points, metric)
    links: list[tuple[int, int, RunComparison]] = []
    refused: dict[int, str] = {}
    warnings: list[str] = []
    for point, reference, names in _references(
        [point for point in points if point.results is not None], against, metric
    ):
        pair = pairs.compared(*(_run_of(one) for one in (reference, point)))
        if pair.refused:
            refused[point.step] = pair.refused
            continue
        warnings += [f"{step_name(point.step)}: {warning}" for warning in pair.warnings]
        links.append((point.step, reference.step, _link(point, pair, names)))
    pairs.write()
    differences: dict[int, dict[int, RunComparison]] = {}
    for (step, reference_step, _), link in zip(links, corrected([link for *_, link in links]), strict=True):
        differences.setdefault(step, {})[reference_step] = link
    told = tuple(dict.fromkeys([*more.pop("warnings", ()), *warnings]))
    return Curve(record.path, checkpoints, against, points, differences, refused, metric, warnings=told, **more)


def step_name(step: int) -> str:
    """Return the name of a checkpoint in sentences."""
    return f"step {step}"


def _renamed_run(run: ComparedRun, name: str) -> ComparedRun:
    """Return a run under another name."""
    return ComparedRun(name, run.folder, {}, {}, is_complete=True)


def best_of(values: Mapping[int, Any], *, higher_is_better: bool | None) -> int | None:
    """Return the step with the best value, the earliest of equal ones, or ``None`` if the direction is unknown."""
    numbers = {step: value for step, value in values.items() if _is_measured(value)}
    if higher_is_better is None or not numbers:
        return None
    sign = 1 if higher_is_better else -1
    return max(numbers, key=lambda step: (sign * numbers[step], -step))


def _point(record: Record, entry: CheckpointRecord) -> CurvePoint:
    run = record.path / entry.run if entry.run else None
    point = CurvePoint(entry.step, entry.name, entry.status, run, entry.error)
    if entry.status != "measured" or run is None:
        return point
    folder = RunFolder(run)
    if not folder.is_begun():
        return replace(point, status="failed", error="its run folder is missing", run=None)
    n_failed = int(folder.read_manifest().get("n_failed") or 0)
    return replace(point, n_failed=n_failed, results=folder.read_results())


def _check_metric(points: Sequence[CurvePoint], metric: str) -> None:
    """Refuse a metric that no checkpoint has.

    Raises:
        PlanError: if no checkpoint has it.
    """
    known = {line[2] for point in points if point.results is not None for line, _ in _results(point.results, "")}
    if metric and known and metric not in known:
        hint = did_you_mean(metric, known) or f"They have {listing(sorted(known))}."
        raise PlanError(f"The checkpoints have no metric {metric!r}.", where="--metric", hint=hint)


def _run_of(point: CurvePoint) -> Path:
    if point.run is None:  # only points with results are compared
        raise PlanError(f"{point.name} has no run.")
    return point.run


def _references(
    points: Sequence[CurvePoint], against: str | int, metric: str
) -> Iterator[tuple[CurvePoint, CurvePoint, Collection[tuple[str, str]] | None]]:
    """Yield pairs of a point and its reference, with the tasks and groups to compare; ``None``: all."""
    by_step = {point.step: point for point in points}
    for place, point in enumerate(points):
        if isinstance(against, int):
            if against in by_step and against != point.step:
                yield point, by_step[against], None
        elif place and against == "first":
            yield point, points[0], None
        elif place and against == "previous":
            yield point, points[place - 1], None
        elif place:
            yield from _bests(points[:place], point, metric)


def _bests(
    earlier: Sequence[CurvePoint], point: CurvePoint, metric: str
) -> Iterator[tuple[CurvePoint, CurvePoint, Collection[tuple[str, str]]]]:
    """Yield the best earlier checkpoint for each task and group, by its first metric, or the previous one if the
    direction is unknown.
    """
    by_step = {one.step: one for one in earlier}
    values = {one.step: dict(_results(one.results or {}, metric)) for one in earlier}
    chosen: dict[int, list[tuple[str, str]]] = {}
    mains = {line[:2]: line for line, _ in reversed([*_results(point.results or {}, metric)])}
    for (kind, name), line in mains.items():
        known = {step: results[line] for step, results in values.items() if line in results}
        if not known:
            continue
        direction = next(iter(known.values()))["higher_is_better"]
        best = best_of({step: one["value"] for step, one in known.items()}, higher_is_better=direction)
        chosen.setdefault(max(known) if best is None else best, []).append((kind, name))
    for step, names in chosen.items():
        yield point, by_step[step], names


def _link(point: CurvePoint, pair: CheckpointPair, names: Collection[tuple[str, str]] | None) -> RunComparison:
    run = ComparedRun(step_name(point.step), RunFolder(_run_of(point)), {}, {}, is_complete=True)
    scores = tuple(line for line in pair.scores if names is None or (line.kind, line.name) in names)
    others = tuple(one for one in pair.not_compared if names is None or (one.kind, one.name) in names)
    return RunComparison(run, scores, others, (), pair.warnings)


def _results(results: Mapping[str, Any], only: str) -> Iterator[tuple[Line, dict[str, Any]]]:
    """Yield the scores of a run for whole tasks and groups, in the order of its table."""
    layout = [(str(kind), str(name)) for kind, name, *_ in results.get("layout", ())]
    layout += [("task", name) for name in results.get("tasks", {}) if ("task", name) not in layout]
    for kind, name in layout:
        for result in (results.get(f"{kind}s", {}).get(name) or {}).get("results", ()):
            if result["subset"]:
                continue
            for metric, value in spread_value(str(result["metric"]), result["value"]):
                if only not in ("", metric):
                    continue
                is_whole = value is result["value"]
                yield (
                    (kind, name, metric, str(result["filter"])),
                    {
                        "value": value if _is_measured(value) else None,
                        "stderr": result.get("stderr") if is_whole else None,
                        "interval": list(result["interval"]) if is_whole and result.get("interval") else None,
                        "n": result.get("n"),
                        "higher_is_better": result.get("higher_is_better"),
                    },
                )


def _is_measured(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _difference(found: tuple[int, ScoreComparison] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    to, line = found
    names = ("n", "first", "second", "difference", "stderr", "no_interval", "p_value", "p_method", "p_corrected")
    more = ("family", "detectable", "wins", "ties", "losses", "n_only_first", "n_only_second", "n_neither")
    of_test = ("false_positive_rate", "effect_size", "odds_ratio")
    return {
        "to": to,
        **{name: getattr(line, name) for name in (*names, *of_test, *more)},
        "interval": None if line.interval is None else list(line.interval),
        "verdict": verdict(line),
    }
