"""From answers to results: means of what ``evaluate_sample`` gave, and whatever ``evaluate`` makes of all predictions
together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, PolymeterError, ScoreError, boundary
from polymeter.core.files import replacing
from polymeter.core.task import MetricKey, ReduceContext, Result, ScoredRow
from polymeter.formats.table.requests import Asking
from polymeter.formats.table.rows import Table
from polymeter.formats.table.scoring import NO_FILTER, built_in
from polymeter.guests import contained
from polymeter.interop.ulmeval.tasks.prediction_file import (
    files_beside,
    model_name,
    prediction_path,
    single_process,
    write_predictions,
)
from polymeter.interop.ulmeval.tasks.tabulate import as_json, check_returned, numbers
from polymeter.metrics.basic import MEAN
from polymeter.stats import MetricPlan, reduce_rows

EVALUATE = "evaluate"
_RETURNED = "evaluate.json"
_MOST_ARTIFACTS = 100
_JUDGE = "judge"
_MODEL = "model"
_WANTS_JUDGE = re.compile(r"KeyError: 'model'|\bjudge", re.IGNORECASE)
_NAME_ONE = "The run has no judge; 'polymeter score RUN --judge SPEC' judges the answers that are there."
_JUDGE_DEFAULTS: Mapping[str, Any] = {"nproc": 4, "verbose": False, "retry": 3}


@dataclass(frozen=True, slots=True)
class Reduction:
    """How one dataset's answers become results.

    Attributes:
        dataset: The instance.
        table: Its rows.
        asking: How responses become predictions.
        metrics: Of each metric that the class names whether higher is better.
        has_sample_scores: Whether it scores samples by themselves.
        has_evaluate: Whether it evaluates a prediction file.
        judge_args: What ``evaluate`` is given besides the judge.
        failed_as_text: Whether failed samples are in the prediction file, as text.
        model_id: The model's name in the prediction file; empty: the last part of its own.
        keeps_predictions: Whether the prediction file is written also where nothing evaluates it.
    """

    dataset: Any
    table: Table
    asking: Asking
    metrics: Mapping[str, bool]
    has_sample_scores: bool
    has_evaluate: bool
    judge_args: Mapping[str, Any]
    failed_as_text: bool = False
    model_id: str = ""
    keeps_predictions: bool = False

    def reduce(self, rows: Iterable[ScoredRow], context: ReduceContext) -> list[Result]:
        """Results of the samples' own scores, then those of ``evaluate``, which is called once.

        Raises:
            ScoreError: ``evaluate`` raised or returned what is no result, and there are no other results to keep.
        """
        results = self._of_samples(rows, context) if self.has_sample_scores else []
        if not self.has_evaluate:
            if self.keeps_predictions:
                self._write_predictions(rows, context)
            return results
        try:
            return [*results, *self._of_file(rows, context, {(item.metric, item.filter) for item in results})]
        except PolymeterError as error:
            if not results or context.failed is None:
                raise
            context.failed(error)
            return results

    def _of_samples(self, rows: Iterable[ScoredRow], context: ReduceContext) -> list[Result]:
        own = built_in(self.dataset, "results")
        if own is not None:
            return list(own(rows, context))
        keys: dict[MetricKey, None] = dict.fromkeys((name, NO_FILTER) for name in self.metrics)
        for row in rows:
            if row.score is not None:
                keys.update(dict.fromkeys(row.score.values))
        plans = [MetricPlan(name, label, MEAN, self.metrics.get(name)) for name, label in keys]
        return reduce_rows(rows, plans, context)

    def _of_file(self, rows: Iterable[ScoredRow], context: ReduceContext, taken: set[MetricKey]) -> list[Result]:
        """The results of ``evaluate``. Nothing is known of single samples, so none of them has an interval."""
        name = self.asking.name
        path, n = self._write_predictions(rows, context)
        if not n:
            return []
        author = type(self.dataset).__name__
        given = judge_kwargs(self.judge_args, context.roles)
        with (
            contained(),
            single_process(),
            _judge_missed(given),
            boundary(ScoreError, f"evaluate of {author} ({name!r})"),
        ):
            returned = self.dataset.evaluate(str(path), **given)
        check_returned(returned, author)
        if returned is not None:
            with replacing(path.with_name(_RETURNED)) as file:
                json.dump(as_json(returned), file, ensure_ascii=False, indent=1)
        artifacts = tuple(
            file.relative_to(context.output_dir.parent).as_posix() for file in files_beside(path)[:_MOST_ARTIFACTS]
        )
        found = numbers(returned)
        if not found:
            return [Result(EVALUATE, NO_FILTER, None, n, artifacts=artifacts)]
        return [
            Result(
                metric,
                EVALUATE if (metric, NO_FILTER) in taken else NO_FILTER,
                value,
                n,
                higher_is_better=self._direction(metric),
                artifacts=artifacts if place == 0 else (),
            )
            for place, (metric, value) in enumerate(found.items())
        ]

    def _write_predictions(self, rows: Iterable[ScoredRow], context: ReduceContext) -> tuple[Path, int]:
        """The prediction file, and how many rows it has."""
        path = prediction_path(context.output_dir, self.model_id or model_name(context.model), self.asking.name)
        return path, write_predictions(path, self.table, self.asking, rows, failed_as_text=self.failed_as_text)

    def _direction(self, metric: str) -> bool | None:
        """Whether higher is better, for a metric or the column of a table that the class names."""
        return self.metrics.get(metric, self.metrics.get(metric.rpartition("/")[2]))


def judge_kwargs(told: Mapping[str, Any], roles: Mapping[str, str]) -> dict[str, Any]:
    """The keyword arguments of ``evaluate`` and ``evaluate_sample``: ``model`` is there only when a judge is.

    Args:
        told: What the run says; it wins.
        roles: What the run calls the models in its further roles.
    """
    judge = {_MODEL: model_name(roles[_JUDGE])} if _JUDGE in roles else {}
    return {**_JUDGE_DEFAULTS, **judge, **told}


@contextmanager
def _judge_missed(given: Mapping[str, Any]) -> Iterator[None]:
    """Where an ``evaluate`` fails for want of a judge, which authors look for under ``model``, say how to name one."""
    try:
        yield
    except ScoreError as error:
        if _MODEL in given or error.hint or not _WANTS_JUDGE.search(error.what):
            raise
        raise ScoreError(error.what, where=error.where, hint=_NAME_ONE) from error


def metrics_of(dataset: Any) -> dict[str, bool]:
    """What a class's ``METRICS`` says: of each metric whether higher is better.

    Raises:
        PlanError: It is no mapping of names to truth values, in a class that scores samples by themselves. In another
            it means something else.
    """
    told = getattr(dataset, "METRICS", None) or {}
    if not isinstance(told, Mapping) and not hasattr(dataset, "evaluate_sample"):
        return {}
    if not isinstance(told, Mapping) or not all(isinstance(value, bool) for value in told.values()):
        raise PlanError(
            f"METRICS of {type(dataset).__name__} is {str(told)[:80]!r}.",
            hint="Write {'name of the metric': True} where higher is better, and False where lower is.",
        )
    return {str(name): value for name, value in told.items()}
