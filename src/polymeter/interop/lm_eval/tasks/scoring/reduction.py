"""From the rows of a task to its results: metrics that it lists, and those that only its values name.

Numbers, errors and intervals are those of every task (``tasks.yaml.scoring.reduction``); ``stated_errors`` has the
standard errors that lm-eval itself states.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from polymeter.core.task import MetricKey, ReduceContext, Result, ScoredRow
from polymeter.interop.lm_eval.tasks.scoring.chain_scores import SOURCES, LmEvalScorer
from polymeter.interop.lm_eval.tasks.scoring.metrics import undeclared
from polymeter.interop.lm_eval.tasks.scoring.stated_errors import stated_stderr
from polymeter.tasks.yaml.scoring.metrics import BoundMetric
from polymeter.tasks.yaml.scoring.reduction import reduce_task

_NO_KEY = "score"
"""The name that ``reduce_task`` gives to the number in a value that is a dictionary; lm-eval has no name for it."""


def reduce(rows: Iterable[ScoredRow], context: ReduceContext, *, scorer: LmEvalScorer) -> list[Result]:
    """The results of a task: by filter, and within each in the order of its metrics, those that only values name last.

    Args:
        rows: In sample order; read several times, once if it is known which values there are.
        context: The context of the reduction.
        scorer: How the task scores.

    Raises:
        ScoreError: if an aggregation raises and ``context.failed`` is ``None``.
    """
    keys, sources = _found(rows) if scorer.valued is None else (_known(scorer.valued, scorer.filters), {})
    metrics = {metric.name: metric for metric in scorer.bound}
    for name, _ in keys:
        if name not in metrics:
            metrics[name] = undeclared(name, metrics.get(sources.get(name, "")))
    # A metric whose values all have other names (pass@1 for pass_at_k), or that has none, has no result of its own.
    expanded = set(sources.values())
    results: list[Result] = []
    for chain in scorer.filters:
        wanted = [metric for name, metric in metrics.items() if (name, chain) in keys]
        if not keys:
            wanted = [metric for name, metric in metrics.items() if name not in expanded]
        results += reduce_task(rows, context, task=scorer.task, metrics=wanted, filters=(chain,), score_key=_NO_KEY)
    if scorer.has_errors_of_lm_eval:
        results = _with_errors_of_lm_eval(rows, results, metrics)
    whole = [result for result in results if not result.subset]
    return whole + [result for result in results if result.subset]


def _known(names: Iterable[str], filters: Iterable[str]) -> dict[MetricKey, None]:
    """The keys of values of these metrics."""
    return dict.fromkeys((name, chain) for name in names for chain in filters)


def _found(rows: Iterable[ScoredRow]) -> tuple[dict[MetricKey, None], dict[str, str]]:
    """The keys of all values, in order of appearance, and the metrics that are a part of another, with its name."""
    keys: dict[MetricKey, None] = {}
    sources: dict[str, str] = {}
    for row in rows:
        score = row.score
        if score is None:
            continue
        if not keys.keys() >= score.values.keys():
            keys.update(dict.fromkeys(score.values))
        if SOURCES in score.log:
            sources.update(score.log[SOURCES])
    return keys, sources


def _with_errors_of_lm_eval(
    rows: Iterable[ScoredRow], results: list[Result], metrics: Mapping[str, BoundMetric]
) -> list[Result]:
    """The results of the whole task with the standard errors that lm-eval states, none where that has none."""
    values: dict[MetricKey, list[Any]] = {(result.metric, result.filter): [] for result in results if not result.subset}
    for row in rows:
        for key, value in row.score.values.items() if row.score is not None else ():
            if key in values:
                values[key].append(value)
    stated = []
    for result in results:
        aggregation = metrics[result.metric].aggregation
        name = aggregation.name if aggregation is not None else ""
        if result.subset or name == "mean":
            stated.append(result)
            continue
        error = stated_stderr(result.metric, name, values[result.metric, result.filter])
        is_number = isinstance(error, float)
        stated.append(
            replace(
                result,
                stderr=error if isinstance(error, float) else None,
                stderr_method="bootstrap" if is_number else None,
                interval=None,
                ci_method=None,
                no_interval="the standard error is that of lm-eval",
            )
        )
    return stated
