"""Reduction: the adapter aggregates the scores of each subset and makes a report, and the same numbers become results
with their errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import PolymeterError, ScoreError, boundary
from polymeter.core.machine.files import replacing
from polymeter.core.task import ReduceContext, Result, SampleStatus, ScoredRow
from polymeter.core.task import Sample as Row
from polymeter.core.text.codec import jsonable
from polymeter.core.text.json_text import json_text
from polymeter.guests import contained
from polymeter.interop.evalscope.tasks.scoring.reduction import (
    REPORTS,
    SubsetNumber,
    model_id_of,
    results_of_numbers,
)
from polymeter.interop.evalscope.v1.adapters.default_adapter import DefaultDataAdapter
from polymeter.interop.evalscope.v1.judging.disagreement import summarize_judge_runs
from polymeter.interop.evalscope.v1.report.semantics import MetricDirection, semantics_of
from polymeter.interop.evalscope.v1.report.tree import EvaluationReport, ExecutionSubset, ExecutionSummary
from polymeter.interop.evalscope.v1.tasks.guest import OpenAdapter
from polymeter.interop.evalscope.v1.tasks.hooks import aggregates_itself
from polymeter.interop.evalscope.v1.tasks.rollout import Inference
from polymeter.interop.evalscope.v1.tasks.scoring import (
    OF_VALUES,
    authors_score,
    excluded_score,
    restored_score,
    shown_name,
)
from polymeter.interop.evalscope.v1.types.identities import MetricIdentity, canonicalize_producer_identity
from polymeter.interop.evalscope.v1.types.scores import AggScore, SampleScore

BATCH_SCORES = "batch_scores"
"""The folder, among a run's artifacts, for what ``batch_match_score`` adds: one JSON file for each benchmark."""
_OF_REPEATS = frozenset({"k"})
"""Dimensions of numbers that rest on all samples."""
_REPORT_HOOKS = ("generate_report", "_on_generate_report", "_on_generate_report_end")


@dataclass(slots=True)
class AdapterReduction:
    """Reduces a benchmark's rows.

    Attributes:
        benchmark: The benchmark.
        inference: How its samples were asked about.
        model_id: The model's name in reports; empty: as the run calls it.
        batch_size: How many samples ``batch_calculate_metrics`` gets at once.
    """

    benchmark: OpenAdapter
    inference: Inference
    model_id: str = ""
    batch_size: int = 8

    def reduce(self, rows: Iterable[ScoredRow], context: ReduceContext) -> list[Result]:
        """Results of each subset, and the report, which is written below the context's folder.

        A report that cannot be made is a failure of the report alone: the numbers stay.

        Raises:
            ScoreError: if the adapter's aggregation fails.
        """
        adapter, name = self.benchmark.adapter, self.benchmark.name
        by_subset = self._by_subset(rows)
        scores = {subset: self._scores_of(of_subset) for subset, of_subset in by_subset.items()}
        if adapter.use_batch_scoring:
            self._keep_batch_scores(by_subset, scores, context)
        # An author's aggregation expects a value in every score; the library's leaves out those without one.
        is_authors = aggregates_itself(adapter)
        given = {
            subset: [score for _, score in self._scored(by_subset[subset], of_subset)] if is_authors else of_subset
            for subset, of_subset in scores.items()
        }
        aggregated: dict[str, list[AggScore]] = {}
        for subset, of_subset in scores.items():
            if not any(score.score.status.is_usable for score in of_subset) and not adapter.aggregate_empty_scores:
                continue
            with boundary(ScoreError, f"The aggregation of benchmark {name!r}"):
                numbers = adapter.aggregate_subset(subset, sample_scores=given[subset])
            if numbers:
                aggregated[subset] = checked_numbers(name, numbers)
        if not aggregated:
            return [Result(metric, "none", None, 0) for metric in self.benchmark.meta.metric_names()]
        report, artifact = self._report(aggregated, scores, by_subset, context)
        makes_own = any(
            getattr(type(adapter), hook, None) is not getattr(DefaultDataAdapter, hook) for hook in _REPORT_HOOKS
        )
        reported = _reported(report) if report is not None and makes_own else {}
        numbers_of = [
            self._number(subset, number, scores[subset]) for subset, of in aggregated.items() for number in of
        ]
        ordered = _primary_first(numbers_of, report)
        return list(results_of_numbers(ordered, reported, artifact, context.seed))

    def _by_subset(self, rows: Iterable[ScoredRow]) -> dict[str, list[ScoredRow]]:
        """The rows by subset, in the order of the samples."""
        by_subset: dict[str, list[ScoredRow]] = {subset: [] for subset in self.benchmark.subsets}
        for row in rows:
            by_subset[self.benchmark.subsets[row.index]].append(row)
        return by_subset

    def _scores_of(self, rows: Sequence[ScoredRow]) -> list[SampleScore]:
        """The authors' scores of a subset. A sample that ended without a score has its place and no value; one whose
        answer failed is left out.
        """
        scores = scores_of(self.benchmark, self.inference, rows)
        if self.benchmark.adapter.use_batch_scoring:
            self._add_batch_scores(list(self._scored(rows, scores)))
        return scores

    def _scored(
        self, rows: Iterable[ScoredRow], scores: Iterable[SampleScore]
    ) -> Iterator[tuple[ScoredRow, SampleScore]]:
        """The rows of a subset that have a score, with these."""
        by_place = {score.sample_id: score for score in scores}
        return ((row, by_place[self.benchmark.samples[row.index].id]) for row in rows if row.score is not None)

    def _add_batch_scores(self, scored: Sequence[tuple[ScoredRow, SampleScore]]) -> None:
        for start in range(0, len(scored), self.batch_size):
            chunk = scored[start : start + self.batch_size]
            states = [self.inference.replayed(self._row(row), row.responses()) for row, _ in chunk]
            with boundary(ScoreError, f"batch_calculate_metrics of benchmark {self.benchmark.name!r}"):
                self.benchmark.adapter.batch_calculate_metrics(
                    task_states=states, sample_scores=[score for _, score in chunk]
                )

    def _keep_batch_scores(
        self,
        rows: Mapping[str, Sequence[ScoredRow]],
        scores: Mapping[str, Sequence[SampleScore]],
        context: ReduceContext,
    ) -> None:
        """Write what many samples at once have added to the score of each, for EvalScope's files."""
        added: dict[str, dict[str, Any]] = {}
        for subset, of_subset in rows.items():
            for row, score in self._scored(of_subset, scores[subset]):
                before = {} if row.score is None else authors_score(row.score)["value"]
                added[row.id] = {name: value for name, value in score.score.value.items() if name not in before}
        file = context.output_dir / BATCH_SCORES / f"{self.benchmark.name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as stream:
            stream.write(json_text(jsonable(added), nan=None))

    def _row(self, row: ScoredRow) -> Row:
        return Row(self.benchmark.name, row.id, row.index, {}, row.subset)

    def _number(self, subset: str, number: AggScore, scores: Sequence[SampleScore]) -> SubsetNumber:
        identity = number.identity
        pairs = [(score, value) for score in scores for value in _values_of(score, identity)]
        values = tuple(float(value) for _, value in pairs)
        is_mean = (
            number.aggregation in OF_VALUES
            and len(values) == number.num > 0
            and math.isclose(math.fsum(values) / len(values), number.score, rel_tol=1e-9, abs_tol=1e-9)
        )
        clusters = tuple(score.group_id for score, _ in pairs) if is_mean and self.inference.repeats > 1 else ()
        return SubsetNumber(
            subset,
            shown_name(identity),
            number.score,
            number.num,
            values if is_mean else (),
            clusters,
            is_rising(self.benchmark.name, identity),
            is_part=bool(identity.dimensions.keys() - _OF_REPEATS),
        )

    def _report(
        self,
        aggregated: Mapping[str, list[AggScore]],
        scores: Mapping[str, list[SampleScore]],
        rows: Mapping[str, Sequence[ScoredRow]],
        context: ReduceContext,
    ) -> tuple[EvaluationReport | None, str]:
        """Make and write the report; return it with its path, relative to the run folder."""
        model = self.model_id or model_id_of(context.args)
        folder = context.output_dir / REPORTS / model
        what = f"The report of benchmark {self.benchmark.name!r}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with boundary(ScoreError, what), contained():
                report = self.benchmark.adapter.generate_report(
                    scores=dict(aggregated), model_name=model, output_dir=str(folder)
                )
            if not isinstance(report, EvaluationReport):
                raise ScoreError(f"{what} is a {type(report).__name__}.", hint="generate_report must return a Report.")
            with boundary(ScoreError, what):
                report.judge_summary = summarize_judge_runs(scores.values())
                report.execution_summary = execution_of(scores, rows)
                file = folder / f"{self.benchmark.name}.json"
                report.to_json(str(file))
        except PolymeterError as error:
            if context.failed is None:
                raise
            context.failed(error)
            return None, ""
        return report, _relative(file, context.output_dir.parent)


def scores_of(benchmark: OpenAdapter, inference: Inference, rows: Iterable[ScoredRow]) -> list[SampleScore]:
    """The authors' scores of some rows. A sample that ended without a score has its place and no value; one whose
    answer failed is left out.
    """
    samples, repeats, judge = benchmark.samples, inference.repeats, benchmark.settings.judge
    n_verdicts = judge.repeats if benchmark.adapter.use_llm_judge and judge is not None else 0
    scores: list[SampleScore] = []
    for row in rows:
        if row.score is not None:
            scores.append(restored_score(row.score, samples[row.index], repeats))
        elif row.status is SampleStatus.UNSCORED:
            scores.append(excluded_score(samples[row.index], repeats, n_verdicts=n_verdicts))
    return scores


def checked_numbers(benchmark: str, numbers: Any) -> list[AggScore]:
    """Return what an adapter's aggregation gave, if it is a list of ``AggScore``.

    Raises:
        ScoreError: if it is not.
    """
    found = list(numbers) if isinstance(numbers, (list, tuple)) else [numbers]
    if not all(isinstance(number, AggScore) for number in found):
        raise ScoreError(
            f"The aggregation of benchmark {benchmark!r} gave {str(numbers)[:120]}.",
            hint="It must return a list of AggScore.",
        )
    return found


def is_rising(benchmark: str, identity: MetricIdentity) -> bool | None:
    """Return whether more is better; ``None``: unknown."""
    direction = semantics_of(benchmark, identity).direction
    return None if direction is MetricDirection.NONE else direction is MetricDirection.HIGHER_IS_BETTER


def _values_of(score: SampleScore, identity: MetricIdentity) -> Iterator[float]:
    """The value of a sample that is reported under an identity; none if it has no such value."""
    for name, value in score.score.value.items():
        own = canonicalize_producer_identity(name, identity.aggregation)
        if own.name == identity.name and own.dimensions == identity.dimensions:
            yield float(value)
            return


def _reported(report: EvaluationReport) -> dict[str, Any]:
    """The numbers of a report for all subsets, by the names of results."""
    return {shown_name(metric.identity): metric.score for metric in report.metrics}


def _primary_first(numbers: Sequence[SubsetNumber], report: EvaluationReport | None) -> list[SubsetNumber]:
    primary = report.primary_metric_identity if report is not None else None
    name = shown_name(primary) if primary is not None else ""
    return sorted(numbers, key=lambda number: number.metric != name)


def execution_of(
    scores: Mapping[str, Sequence[SampleScore]], rows: Mapping[str, Sequence[ScoredRow]]
) -> ExecutionSummary:
    """Count how the samples ended."""
    subsets = {
        subset: ExecutionSubset(
            requested=len(of_subset),
            succeeded=len(scores[subset]),
            errored=len(of_subset) - len(scores[subset]),
        )
        for subset, of_subset in rows.items()
    }
    requested, succeeded, errored = (
        sum(getattr(one, name) for one in subsets.values()) for name in ("requested", "succeeded", "errored")
    )
    return ExecutionSummary(
        requested=requested, succeeded=succeeded, errored=errored, incomplete=succeeded < requested, subsets=subsets
    )


def _relative(file: Path, folder: Path) -> str:
    return file.relative_to(folder).as_posix()
