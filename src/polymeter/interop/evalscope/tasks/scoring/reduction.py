"""Reduction: the adapter computes the metrics of each subset from reviews and makes a report, and the same numbers
become results with their errors.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from polymeter.core.errors import ScoreError
from polymeter.core.identity import seed_for
from polymeter.core.metric import Aggregation
from polymeter.core.records.spread import UNBOUNDED
from polymeter.core.task import ReduceContext, Result, ScoredRow
from polymeter.guests import contained
from polymeter.interop.evalscope.tasks.base import DataAdapter
from polymeter.interop.evalscope.tasks.guest import OpenBenchmark
from polymeter.interop.evalscope.tasks.scoring.report import Report, analyse
from polymeter.interop.evalscope.tasks.scoring.reviews import REVIEW_KEY, answers_of
from polymeter.interop.evalscope.tasks.settings import AdapterRunOptions
from polymeter.stats import estimate
from polymeter.stats.means.clusters import Partition

Reduce = Callable[[Iterable[ScoredRow], ReduceContext], list[Result]]
REPORTS = "reports"
_RISING = ("Average", "WeightedAverage", "Pass@")
_SCORE_KEYS = ("metric_name", "score", "num")


@dataclass(slots=True)
class ReportSlot:
    """The report that a reduction leaves for ``finish``: the only thing that a compiled benchmark remembers between two
    calls.

    Attributes:
        report: The report that was made last; ``None``: none yet, or nothing was scored.
        folder: Where it was written.
    """

    report: Report | None = None
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class SubsetNumber:
    """One metric of one subset, or of all.

    Attributes:
        subset: The subset; empty: all.
        metric: The metric.
        score: What the adapter computed.
        n: How many records it says that this rests on.
        values: One number for each record, where they are known.
        clusters: What each of these records shares with others; empty if they share nothing.
        is_rising: Whether more is better; ``None``: unknown.
        is_part: Whether it is of a part of its records, so that nothing is missing where it rests on fewer.
    """

    subset: str
    metric: str
    score: Any
    n: int
    values: tuple[float, ...]
    clusters: tuple[Hashable, ...] = ()
    is_rising: bool | None = None
    is_part: bool = False


def reduce_rows(
    benchmark: OpenBenchmark,
    options: AdapterRunOptions,
    slot: ReportSlot,
    rows: Iterable[ScoredRow],
    context: ReduceContext,
) -> list[Result]:
    """Metrics of each subset, and the report, which is written below the context's folder and left in the slot.

    Raises:
        ScoreError: if the adapter gave metrics of another form than a list of name, score and number.
    """
    adapter = benchmark.adapter
    scores: dict[str, list[dict[str, Any]]] = {}
    numbers: list[SubsetNumber] = []
    for subset, scored_rows in _by_subset(benchmark, rows).items():
        results = results_of(scored_rows)
        sees_reviews = type(adapter).compute_metric is not DataAdapter.compute_metric
        reviews = [review_record(benchmark, row) for row in scored_rows] if sees_reviews else []
        computed = adapter.compute_metric(review_res_list=results, reviews_list=reviews)
        scores[subset] = checked_scores(benchmark.name, computed)
        numbers.extend(_subset_number(subset, item, results) for item in scores[subset])
    folder = context.output_dir / REPORTS / (options.model_id or model_id_of(context.args))
    if not numbers:
        slot.report = None
        return [Result(metric, "none", None, 0) for metric in adapter.metric_list]
    report = adapter.gen_report(subset_score_map=scores, model_name=folder.name)
    if options.analysis_report and context.role_client is not None:
        _analyse(report, context)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{benchmark.name}.json"
    report.to_json(str(file))
    makes_own_report = type(adapter).gen_report is not DataAdapter.gen_report
    reported = {metric.name: metric.score for metric in report.metrics} if makes_own_report else {}
    artifact = file.relative_to(context.output_dir.parent).as_posix()
    results = list(results_of_numbers(numbers, reported, artifact, context.seed))
    slot.report = report
    slot.folder = folder
    return results


def keep_unreduced(rows: Iterable[ScoredRow], context: ReduceContext) -> list[Result]:
    """No results and no report, for runs that score nothing."""
    return []


def show_report(adapter: DataAdapter, slot: ReportSlot, results: Sequence[Result], report_path: Path) -> None:
    """Show the adapter its report, which has been written."""
    if slot.report is not None:
        with contained():
            adapter.post_process_report(slot.report, report_path=str(slot.folder))


def model_id_of(args: Any) -> str:
    """The name of a run's model in reports: the last part of its name, as in ``reports/MODEL/…``."""
    name = str(getattr(args, "model_name", None) or getattr(args, "model", None) or "model")
    _, colon, rest = name.partition(":")
    name = rest if colon and rest else name
    return name.rstrip("/").rpartition("/")[2].replace(":", "-") or "model"


def _by_subset(benchmark: OpenBenchmark, rows: Iterable[ScoredRow]) -> dict[str, list[ScoredRow]]:
    """The rows that have a score, by subset in the order of the records; subsets without any are left out."""
    by_subset: dict[str, list[ScoredRow]] = {item.subset: [] for item in benchmark.records}
    for row in rows:
        if row.score is not None:
            by_subset[benchmark.records[row.index].subset].append(row)
    return {subset: scored_rows for subset, scored_rows in by_subset.items() if scored_rows}


def results_of(rows: Sequence[ScoredRow]) -> list[Any]:
    """Return the values that ``match`` returned for each record: the value itself if every record has one answer, else
    lists.
    """
    lists = [row.score.values[REVIEW_KEY] for row in rows if row.score is not None]
    return [item[0] for item in lists] if all(len(item) == 1 for item in lists) else [list(item) for item in lists]


def review_record(benchmark: OpenBenchmark, row: ScoredRow) -> dict[str, Any]:
    """The reviews of a record in the shape of EvalScope's files, for adapters that read more than results."""
    item, score = benchmark.records[row.index], row.score
    assert score is not None
    reviews = score.log.get("reviews", [])
    answers = answers_of(benchmark, row.index, row.responses())
    choices = [
        {
            "index": number,
            "message": {"role": "assistant", "content": answer},
            "review": {**(reviews[number] if number < len(reviews) else {}), "result": result},
        }
        for number, (answer, result) in enumerate(zip(answers, score.values[REVIEW_KEY], strict=True))
    ]
    return {
        "index": item.index,
        "subset_name": item.subset,
        "raw_input": item.record,
        "choices": choices,
        "reviewed": True,
    }


def checked_scores(benchmark: str, computed: Any) -> list[dict[str, Any]]:
    """Return the value of ``compute_metric``, if it is a list of name, score and number.

    Raises:
        ScoreError: if it is not.
    """
    scores = computed if isinstance(computed, list) else [computed]
    if not all(isinstance(item, Mapping) and all(key in item for key in _SCORE_KEYS) for item in scores):
        raise ScoreError(
            f"compute_metric of benchmark {benchmark!r} gave {str(computed)[:120]}.",
            hint="It must return a list of {'metric_name', 'score', 'num'}.",
        )
    return scores


def _analyse(report: Report, context: ReduceContext) -> None:
    """Let the judge write about the report. Its failure is noted, and changes no score."""
    assert context.role_client is not None
    try:
        report.analysis = analyse(report, context.role_client)
    except ScoreError as error:
        if context.failed is None:
            raise
        context.failed(error)


def _subset_number(subset: str, item: Mapping[str, Any], results: Sequence[Any]) -> SubsetNumber:
    metric = str(item["metric_name"])
    return SubsetNumber(subset, metric, item["score"], int(item["num"]), _values_of(results, metric))


def _values_of(results: Sequence[Any], metric: str) -> tuple[float, ...]:
    """One number for each record, as far as they are known to be this metric's; else none."""
    values: list[float] = []
    for result in results:
        items: list[Any] = [
            item.get(metric) if isinstance(item, Mapping) else item
            for item in (result if isinstance(result, list) else [result])
        ]
        if not items or not all(isinstance(item, Real) for item in items):
            return ()
        values.append(sum(float(item) for item in items) / len(items))
    return tuple(values)


def results_of_numbers(
    numbers: Sequence[SubsetNumber], reported: Mapping[str, Any], artifact: str, seed: int
) -> Iterator[Result]:
    """For each metric the whole, then its subsets where there are several.

    Args:
        numbers: Of each metric and subset.
        reported: What the adapter's own report says of the whole, by metric; it wins.
        artifact: The report's path, relative to the run folder.
        seed: For resampling.
    """
    by_metric: dict[str, list[SubsetNumber]] = {}
    for item in numbers:
        by_metric.setdefault(item.metric, []).append(item)
    for metric, items in by_metric.items():
        whole = _whole(metric, items)
        if metric in reported:
            whole = SubsetNumber("", metric, reported[metric], whole.n, (), (), whole.is_rising, whole.is_part)
        yield _result(whole, (), (artifact,), seed)
        if len({item.subset for item in numbers}) > 1:
            for item in items:
                yield _result(item, (item.subset,), (), seed)


def _whole(metric: str, items: Sequence[SubsetNumber]) -> SubsetNumber:
    """All subsets together: the mean of their scores, weighted by how many records each has."""
    if len(items) == 1:
        return items[0]
    n = sum(item.n for item in items)
    is_plain = n > 0 and all(_is_real(item.score) for item in items)
    score = sum(item.score * item.n for item in items) / n if is_plain else None
    are_known = all(len(item.values) == item.n for item in items)
    values = tuple(v for item in items for v in item.values) if are_known else ()
    clusters = tuple((item.subset, one) for item in items for one in item.clusters)
    return SubsetNumber("", metric, score, n, values, clusters, items[0].is_rising, items[0].is_part)


def _result(item: SubsetNumber, subset: tuple[str, ...], artifacts: tuple[str, ...], seed: int) -> Result:
    """A number with its error, which is known where the number is the mean of the records' own numbers."""
    is_known = len(item.values) == item.n > 0 and _is_real(item.score)
    # The adapter's number is unchanged; only its error is estimated from the values.
    aggregation = Aggregation("mean", lambda _: item.score, uncertainty="mean") if is_known else _AS_IT_IS
    are_clustered = is_known and len(item.clusters) == item.n
    estimated = estimate(
        item.values if is_known else (item.score,),
        aggregation,
        clusters=Partition.of(item.clusters) if are_clustered else None,
        seed=seed_for(seed, item.metric, item.subset),
    )
    return Result(
        item.metric,
        "none",
        estimated.value,
        item.n,
        subset,
        estimated.stderr,
        estimated.interval,
        estimated.method,
        True if item.metric.startswith(_RISING) else item.is_rising,
        artifacts,
        n_planned=item.n if item.is_part else None,
        ci_method=estimated.ci_method,
        no_interval=estimated.no_interval,
        spread=estimated.spread,
        bounds=estimated.spread.bounds if estimated.spread is not None and item.n > 1 else UNBOUNDED,
    )


def _only(values: Sequence[Any]) -> Any:
    return values[0]


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


_AS_IT_IS = Aggregation("unchanged", _only, uncertainty="none")
