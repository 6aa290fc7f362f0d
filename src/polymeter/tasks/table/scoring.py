"""Samples that are scored one by one (``evaluate_sample``): the function's arguments, the score that is made of what it
returns, and the results of all samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

from polymeter.core.content import is_image
from polymeter.core.errors import ScoreError
from polymeter.core.task import MetricKey, ReduceContext, Result, Score, ScoredRow
from polymeter.metrics.basic import MEAN
from polymeter.stats import MetricPlan, RowReduction
from polymeter.tasks.table.dataset import Dataset
from polymeter.tasks.table.predictions import model_name

NO_FILTER = "none"
JUDGE_MODEL = "model"
"""The keyword argument in which authors expect the name of a judge."""
_JUDGE = "judge"
_JUDGE_DEFAULTS: Mapping[str, Any] = {"nproc": 4, "verbose": False, "retry": 3}
_TEXTS = ("explanation", "answer")
_SHOWN = 2000
_NUMBERS = frozenset({int, float})
_PLAIN = _NUMBERS | {str}


def judge_kwargs(settings: Mapping[str, Any], roles: Mapping[str, str]) -> dict[str, Any]:
    """The keyword arguments of ``evaluate`` and ``evaluate_sample``; ``model`` is among them only if there is a judge.

    Args:
        settings: The run's own arguments; they win.
        roles: The run's further roles → the names of their models.
    """
    judge = {JUDGE_MODEL: model_name(roles[_JUDGE])} if _JUDGE in roles else {}
    return {**_JUDGE_DEFAULTS, **judge, **settings}


def sample_score(dataset: Dataset, line: Any, prediction: Any, judge: Mapping[str, Any], target: str) -> Score:
    """The score of one sample, without values if the dataset does not score single samples. Of several texts each is
    scored, and a metric is their mean.

    Args:
        dataset: The dataset.
        line: The row.
        prediction: Images, a text, or several texts.
        judge: Keyword arguments for ``evaluate_sample``.
        target: The expected answer, for display.

    Raises:
        ScoreError: if ``evaluate_sample`` returned no mapping, or a metric that is not a number.
    """
    if dataset.evaluate_sample is None:
        return Score({}, target or None)
    are_texts = isinstance(prediction, list) and bool(prediction) and isinstance(prediction[0], str)
    scored = [
        _checked_values(dataset.class_name, dataset.evaluate_sample(line, item, **judge))
        for item in (prediction if are_texts else [prediction])
    ]
    images = {
        name: value for one in scored for name, value in one.items() if type(value) not in _PLAIN and is_image(value)
    }
    names = dict.fromkeys(name for one in scored for name in one if name not in _TEXTS and name not in images)
    values = {(name, NO_FILTER): _mean_of_known([one[name] for one in scored if name in one]) for name in names}
    shown = {name: _joined_texts([one.get(name) for one in scored]) for name in _TEXTS}
    if shown["answer"] is None and dataset.is_own and (are_texts or isinstance(prediction, str)):
        shown["answer"] = _joined_texts(prediction if are_texts else [prediction])
    return Score(
        values,
        target or None,
        shown["answer"],
        shown["explanation"],
        images,
        extracted={} if are_texts else _extracted(dataset, values, scored[0], prediction),
    )


def _extracted(
    dataset: Dataset, values: Iterable[MetricKey], scored: Mapping[str, Any], prediction: Any
) -> dict[MetricKey, str | None]:
    """The part of an answer that each metric compares: the one that the class states, for all its metrics."""
    if isinstance(scored.get("answer"), str):
        return dict.fromkeys(values, scored["answer"] or None)
    if dataset.extract is None or not isinstance(prediction, str):
        return {}
    known = dataset.extract(prediction)
    return {key: known[key[0]] for key in values if key[0] in known}


def sample_results(dataset: Dataset, rows: Iterable[ScoredRow], context: ReduceContext) -> list[Result]:
    """The results of samples that were scored one by one: those that the dataset makes of them, else the mean of each
    metric. An empty list if the dataset does not score samples.
    """
    if dataset.evaluate_sample is None:
        return []
    if dataset.results is not None:
        return list(dataset.results(rows, context))

    def plan_of(key: MetricKey) -> MetricPlan:
        return MetricPlan(*key, MEAN, dataset.metrics.get(key[0]))

    reduction = RowReduction([plan_of((name, NO_FILTER)) for name in dataset.metrics], plan_of)
    for row in rows:
        reduction.add(row.score, row.subset, row.cluster, row.id)
    return reduction.results(context.seed)


def _checked_values(author: str, returned: Any) -> dict[str, Any]:
    if not isinstance(returned, Mapping):
        raise ScoreError(
            f"evaluate_sample of {author} returned a {type(returned).__name__}.",
            hint="It must return a mapping from metric to number.",
        )
    checked = {str(name): value for name, value in returned.items()}
    for name, value in checked.items():
        if type(value) not in _NUMBERS and name not in _TEXTS and not is_image(value):
            checked[name] = _metric_value(value, name, author)
    return checked


def _metric_value(value: Any, name: str, author: str) -> float | int:
    if hasattr(value, "item") and hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        value = value.item()
    if not isinstance(value, Real):
        raise ScoreError(
            f"evaluate_sample of {author} gave {str(value)[:80]!r} for the metric {name!r}.",
            hint="Give a number, or NaN if there is none; 'explanation' and 'answer' may be texts.",
        )
    return int(value) if isinstance(value, Integral) else float(value)


def _mean_of_known(values: list[Any]) -> Any:
    """Return the mean of the values that are not NaN; a single value unchanged."""
    if len(values) == 1:
        return values[0]
    known = [value for value in values if value == value] or values[:1]  # noqa: PLR0124  (only NaN differs from itself)
    return math.fsum(known) / len(known)


def _joined_texts(values: list[Any]) -> str | None:
    """For display: one text, or the texts of several answers, numbered."""
    if len(values) == 1:
        return None if values[0] is None else str(values[0])[:_SHOWN]
    if all(value is None for value in values):
        return None
    return "\n".join(f"{number}. {value}" for number, value in enumerate(values, 1))[:_SHOWN]
