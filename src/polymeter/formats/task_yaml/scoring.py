"""Scoring of generated answers: the task's own ``process_results``, or the registered metrics."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polymeter.core.errors import ScoreError
from polymeter.core.task import MetricKey, Score
from polymeter.formats.task_yaml.filters import Reading
from polymeter.formats.task_yaml.forms import Form
from polymeter.formats.task_yaml.metrics import BoundMetric, call_score

Doc = Mapping[str, Any]
Scorer = Callable[[Doc, Sequence[Any]], Mapping[str, Any]]


def score_readings(
    doc: Doc,
    score_doc: Doc,
    answers: Sequence[Any],
    readings: Sequence[tuple[str, Reading]],
    prepare: Callable[[Any], list[Any]],
    scorer: Scorer,
    names: frozenset[str],
    target: Form,
) -> Score:
    """The score of one sample: every reading of its answers through one scorer.

    Args:
        doc: The row, as filters and targets see it.
        score_doc: The row as the scorer sees it.
        answers: Raw answers.
        readings: The task's filters.
        prepare: Takes reasoning out of what a filter gave, and makes it the list that the scorer gets.
        scorer: ``(row, results) → {metric: value}``.
        names: Metrics that count; other values go to the log.
        target: The row's target.
    """
    values: dict[MetricKey, Any] = {}
    log: dict[str, Any] = {}
    answer: str | None = None
    # Scoring code may change the row it is given: every reading after the first gets it as it was.
    docs = [score_doc, *(copy.deepcopy(score_doc) for _ in readings[1:])]
    for (name, read), row in zip(readings, docs, strict=True):
        results = prepare(read(answers, doc))
        if answer is None:
            answer = as_text(results[0] if len(results) == 1 else results)
        for metric, value in scorer(row, results).items():
            if metric in names:
                values[(metric, name)] = value
            else:
                log[metric] = value
    return Score(values, as_text(target(doc)), answer, None, log)


def default_scorer(metrics: Sequence[BoundMetric], target: Form, choices: Form | None) -> Scorer:
    """Scoring by registered metrics: an answer against the target, or against each of several.

    Our own metrics take several targets at once; with a metric of somebody else's a sample scores 1 if any target does.
    """

    def scorer(doc: Doc, results: Sequence[Any]) -> dict[str, Any]:
        golds = gold_texts(target(doc), choices(doc) if choices else None)
        answer = results[0] if results else ""
        return {metric.name: _value(metric, golds, answer) for metric in metrics}

    return scorer


def gold_texts(target: Any, choices: Sequence[str] | None) -> list[Any]:
    """What counts as right: the target, or each of a list of targets; an index stands for its choice.

    Numbers become text: a model answers in text, and a column of numbers in a CSV means what it shows.
    """
    targets = list(target) if isinstance(target, (list, tuple)) else [target]
    return [_gold_text(item, choices) for item in targets]


def as_text(value: Any) -> str | None:
    """A value for people."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return value[0] if len(value) == 1 else " | ".join(value)
    return str(value)


def _gold_text(item: Any, choices: Sequence[str] | None) -> Any:
    if choices is not None and isinstance(item, int) and not isinstance(item, bool):
        if not -len(choices) <= item < len(choices):
            raise ScoreError(f"The target is choice {item}, but there are {len(choices)} choices.")
        return choices[item]
    return str(item) if isinstance(item, (int, float)) else item


def _value(metric: BoundMetric, golds: list[Any], answer: Any) -> Any:
    if metric.score is None:
        return (golds[0] if len(golds) == 1 else golds, answer)
    if len(golds) == 1 or not metric.is_guest_score:
        return call_score(metric, golds, answer)
    return float(any(call_score(metric, [gold], answer) for gold in golds))
