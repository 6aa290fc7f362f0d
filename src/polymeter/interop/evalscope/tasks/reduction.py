"""From reviews to results: metrics of each subset by the adapter, a report, and the same numbers with their errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import ScoreError
from polymeter.core.identity import seed_for
from polymeter.core.metric import Aggregation
from polymeter.core.task import MetricKey, ReduceContext, Result, ScoredRow
from polymeter.interop.evalscope.tasks.analysis import analyse
from polymeter.interop.evalscope.tasks.base import DataAdapter
from polymeter.stats import estimate

if TYPE_CHECKING:
    from polymeter.interop.evalscope.tasks.report import Report
    from polymeter.interop.evalscope.tasks.task import Prepared

REVIEW_KEY: MetricKey = ("review", "none")
"""Where a score keeps what ``match`` gave for each answer, exactly as it was."""
REPORTS = "reports"
_RISING = ("Average", "WeightedAverage", "Pass@")
_SUBSET_SCORE = ("metric_name", "score", "num")


@dataclass(frozen=True, slots=True)
class Reduced:
    """What a reduction gave.

    Attributes:
        results: Numbers for the run.
        report: The adapter's report; ``None`` when nothing was scored.
        folder: Where it was written.
    """

    results: tuple[Result, ...]
    report: Report | None
    folder: Path


@dataclass(frozen=True, slots=True)
class _Scored:
    """One metric of one subset."""

    subset: str
    metric: str
    score: Any
    n: int
    values: tuple[float, ...]


class Reduction:
    """How the reviews of one benchmark become results and a report.

    Args:
        name: The benchmark.
        adapter: Computes the metrics.
        model_id: The model's name in the report; empty: from the run.
        is_analysed: Whether the judge writes about the report.
    """

    def __init__(self, name: str, adapter: DataAdapter, model_id: str, *, is_analysed: bool = False) -> None:
        self._name = name
        self._adapter = adapter
        self._model_id = model_id
        self._is_analysed = is_analysed
        self._sees_reviews = type(adapter).compute_metric is not DataAdapter.compute_metric
        self._reports_itself = type(adapter).gen_report is not DataAdapter.gen_report

    def reduce(
        self,
        rows: Iterable[ScoredRow],
        prepared: Sequence[Prepared],
        contents_of: Callable[[ScoredRow], list[Any]],
        context: ReduceContext,
    ) -> Reduced:
        """Metrics of each subset, and the report, which is written below the context's folder.

        Raises:
            ScoreError: The adapter gave metrics of another form than a list of name, score and number.
        """
        by_subset: dict[str, list[ScoredRow]] = {}
        for row in rows:
            if row.score is not None:
                by_subset.setdefault(prepared[row.index].subset, []).append(row)
        order = dict.fromkeys(item.subset for item in prepared)
        scores: dict[str, list[dict[str, Any]]] = {}
        scored: list[_Scored] = []
        for subset in (subset for subset in order if subset in by_subset):
            results = _results_of(by_subset[subset])
            reviews = self._reviews(by_subset[subset], prepared, contents_of) if self._sees_reviews else []
            found = self._adapter.compute_metric(review_res_list=results, reviews_list=reviews)
            scores[subset] = self._checked(found)
            scored.extend(_scored(subset, item, results) for item in scores[subset])
        folder = context.output_dir / REPORTS / (self._model_id or model_id_of(context.args))
        if not scored:
            none = tuple(Result(metric, "none", None, 0) for metric in self._adapter.metric_list)
            return Reduced(none, None, folder)
        report = self._adapter.gen_report(subset_score_map=scores, model_name=folder.name)
        if self._is_analysed and context.role_client is not None:
            self._analyse(report, context)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{self._name}.json"
        report.to_json(str(file))
        artifact = file.relative_to(context.output_dir.parent).as_posix()
        overall = {metric.name: metric.score for metric in report.metrics} if self._reports_itself else {}
        return Reduced(tuple(_results(scored, overall, artifact, context.seed)), report, folder)

    def _analyse(self, report: Report, context: ReduceContext) -> None:
        """Let the judge write about the report. Its failure is told, and costs no number."""
        assert context.role_client is not None
        try:
            report.analysis = analyse(report, context.role_client)
        except ScoreError as error:
            if context.failed is None:
                raise
            context.failed(error)

    def _reviews(
        self, rows: Sequence[ScoredRow], prepared: Sequence[Prepared], contents_of: Callable[[ScoredRow], list[Any]]
    ) -> list[dict[str, Any]]:
        """Reviews in the shape that adapters know, for those that read more than results."""
        return [self._review(row, prepared[row.index], contents_of(row)) for row in rows]

    def _review(self, row: ScoredRow, item: Prepared, contents: Sequence[Any]) -> dict[str, Any]:
        score = row.score
        assert score is not None
        logged = score.log.get("reviews", [])
        choices = [
            {
                "index": number,
                "message": {"role": "assistant", "content": content},
                "review": {**(logged[number] if number < len(logged) else {}), "result": result},
            }
            for number, (content, result) in enumerate(zip(contents, score.values[REVIEW_KEY], strict=True))
        ]
        return {
            "index": item.index,
            "subset_name": item.subset,
            "raw_input": item.record,
            "choices": choices,
            "reviewed": True,
        }

    def _checked(self, found: Any) -> list[dict[str, Any]]:
        items = found if isinstance(found, list) else [found]
        if not all(isinstance(item, Mapping) and all(key in item for key in _SUBSET_SCORE) for item in items):
            raise ScoreError(
                f"compute_metric of benchmark {self._name!r} gave {str(found)[:120]}.",
                hint="It must return a list of {'metric_name', 'score', 'num'}.",
            )
        return items


def model_id_of(args: Any) -> str:
    """The name of a run's model in reports: the last part of its name, as in ``reports/MODEL/…``."""
    name = str(getattr(args, "model_name", None) or getattr(args, "model", None) or "model")
    _, colon, rest = name.partition(":")
    name = rest if colon and rest else name
    return name.rstrip("/").rpartition("/")[2].replace(":", "-") or "model"


def _results_of(rows: Sequence[ScoredRow]) -> list[Any]:
    """What ``match`` gave for each record: itself where every record has one answer, else lists."""
    lists = [row.score.values[REVIEW_KEY] for row in rows if row.score is not None]
    return [item[0] for item in lists] if all(len(item) == 1 for item in lists) else [list(item) for item in lists]


def _scored(subset: str, item: Mapping[str, Any], results: Sequence[Any]) -> _Scored:
    return _Scored(
        subset,
        str(item["metric_name"]),
        item["score"],
        int(item["num"]),
        tuple(_numbers(results, str(item["metric_name"]))),
    )


def _numbers(results: Sequence[Any], metric: str) -> Iterator[float]:
    """One number for each record, as far as they are known to be this metric's."""
    found: list[float] = []
    for result in results:
        items: list[Any] = [
            item.get(metric) if isinstance(item, Mapping) else item
            for item in (result if isinstance(result, list) else [result])
        ]
        if not items or not all(isinstance(item, Real) for item in items):
            return
        found.append(sum(float(item) for item in items) / len(items))
    yield from found


def _results(scored: Sequence[_Scored], overall: Mapping[str, Any], artifact: str, seed: int) -> Iterator[Result]:
    """For each metric the whole, then its subsets where there are several."""
    by_metric: dict[str, list[_Scored]] = {}
    for item in scored:
        by_metric.setdefault(item.metric, []).append(item)
    for metric, items in by_metric.items():
        whole = _whole(metric, items)
        if metric in overall:
            whole = _Scored("", metric, overall[metric], whole.n, ())
        yield _result(whole, (), (artifact,), seed)
        if len({item.subset for item in scored}) > 1:
            for item in items:
                yield _result(item, (item.subset,), (), seed)


def _whole(metric: str, items: Sequence[_Scored]) -> _Scored:
    """All subsets together: the mean of their scores, weighted by how many records each has."""
    if len(items) == 1:
        return items[0]
    n = sum(item.n for item in items)
    is_plain = n > 0 and all(_is_number(item.score) for item in items)
    score = sum(item.score * item.n for item in items) / n if is_plain else None
    are_known = all(len(item.values) == item.n for item in items)
    return _Scored("", metric, score, n, tuple(v for item in items for v in item.values) if are_known else ())


def _result(item: _Scored, subset: tuple[str, ...], artifacts: tuple[str, ...], seed: int) -> Result:
    """A number with its error, which is known where the number is the mean of the records' own numbers."""
    given = Aggregation("mean", lambda _: item.score, uncertainty="mean")
    is_known = len(item.values) == item.n > 0 and _is_number(item.score)
    found = estimate(
        item.values if is_known else (item.score,), given if is_known else _as_it_is, seed=_seed(item, seed)
    )
    return Result(
        item.metric,
        "none",
        found.value,
        item.n,
        subset,
        found.stderr,
        found.interval,
        found.method,
        True if item.metric.startswith(_RISING) else None,
        artifacts,
    )


def _seed(item: _Scored, seed: int) -> int:
    return seed_for(seed, item.metric, item.subset)


def _only(values: Sequence[Any]) -> Any:
    return values[0]


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


_as_it_is = Aggregation("as it is", _only, uncertainty="none")
