"""The scorers of a task: names of metrics and functions, bound to what computes and aggregates their values."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from polymeter.core.errors import PlanError, ScoreError, boundary
from polymeter.core.metric import Aggregation
from polymeter.core.names.registries import AGGREGATIONS
from polymeter.core.task import TaskSpec
from polymeter.metrics import default_metrics
from polymeter.stats import MetricPlan
from polymeter.tasks.python.writing.places import place_of
from polymeter.tasks.python.writing.records import PythonTask, ScorerSource
from polymeter.tasks.python.writing.scorers import Aggregate, Scorer
from polymeter.tasks.yaml.config import MetricItem, OutputType, YamlFields
from polymeter.tasks.yaml.registration import code_files
from polymeter.tasks.yaml.scoring.metrics import BoundMetric, bind_metrics

OF = "/"
"""Between the name of a scorer and that of one of the values that it returns."""
RETURNS = "Return a number, True or False, a dict of numbers, or polymeter.Scored; NaN if there is no score."
_OF_NUMBERS = ("mean", "median", "sum", "max", "min")
"""Aggregations whose values are numbers. Those of others may be pairs of reference and answer."""
_OF_YAML = "process_results"
TEXT: OutputType = "generate_until"
IMAGES: OutputType = "generate_image"
CHOICES: OutputType = "multiple_choice"


@dataclass(frozen=True, slots=True)
class BoundScorer:
    """A scorer of a task, ready to use: a metric, or a function.

    Attributes:
        name: Its name.
        metric: The metric; ``None``: it is a function.
        scorer: The function; ``None``: it is a metric.
        aggregation: The aggregation of the function's scores.
    """

    name: str
    metric: BoundMetric | None = None
    scorer: Scorer[..., Any] | None = None
    aggregation: Aggregation | None = None

    @property
    def needs_reference(self) -> bool:
        """True if it compares an answer with the reference."""
        if self.metric is not None:
            is_silent = self.metric.name in ("bypass", "by_pass")
            return not is_silent
        return self.scorer is not None and "reference" in self.scorer.arguments

    @property
    def takes_all(self) -> bool:
        """True if it scores all answers to a sample together."""
        if self.metric is not None:
            return self.metric.takes_all
        return self.scorer is not None and "answers" in self.scorer.arguments

    @property
    def is_pair(self) -> bool:
        """True if its aggregation makes the comparison, as for BLEU."""
        if self.metric is None or self.metric.of_sets is not None:
            return False
        named = self.metric.aggregation.name if self.metric.aggregation is not None else ""
        return self.metric.score is None or named not in _OF_NUMBERS

    @property
    def takes_any_value(self) -> bool:
        """True if its aggregation takes values that are not numbers."""
        return self.aggregation is not None and self.aggregation.uncertainty != "mean"

    def plan(self, name: str, reading: str) -> MetricPlan:
        """Plan one of the values that the function returns.

        Args:
            name: The metric: the scorer's name, and that of the value if it returns several.
            reading: The way in which repeats were combined.
        """
        assert self.scorer is not None
        assert self.aggregation is not None
        better = self.scorer.higher_is_better
        is_better = better.get(name.partition(OF)[2]) if isinstance(better, Mapping) else better
        return MetricPlan(name, reading, self.aggregation, is_better, self.scorer.bounds)


def output_type_of(task: PythonTask) -> OutputType:
    """Return the output type of a task, as metrics call it."""
    return CHOICES if task.choices is not None else IMAGES if task.output == "image" else TEXT


def bind_scorers(task: PythonTask, spec: TaskSpec) -> tuple[BoundScorer, ...]:
    """Bind the scorers of a task.

    Raises:
        PlanError: if one is unknown, does not fit the task, or needs a reference that the task does not have.
    """
    sources = task.all_scorers or _defaults(task)
    bound = tuple(_bind(source, task, spec) for source in sources)
    names = [one.name for one in bound]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PlanError(
            f"Task {task.name!r} has two scorers called {twice!r}.",
            where=task.where,
            hint="Name one of them: @polymeter.scorer(name='…').",
        )
    for one in bound:
        _check(one, task)
    return bound


def _defaults(task: PythonTask) -> tuple[str, ...]:
    output_type = output_type_of(task)
    if output_type == CHOICES:
        return ("acc",) if task.choices_as == "letters" else default_metrics(CHOICES)
    if output_type == IMAGES or task.reference is None:
        raise PlanError(
            f"Task {task.name!r} has no scorer for its answers.",
            where=task.where,
            hint="Add scorers='exact_match' with reference='COLUMN', or a function: @polymeter.scorer.",
        )
    return default_metrics(TEXT)


def _bind(source: ScorerSource, task: PythonTask, spec: TaskSpec) -> BoundScorer:
    if isinstance(source, (str, Mapping)):
        return _bind_metric(source, task, spec)
    made = source if isinstance(source, Scorer) else Scorer(source, getattr(source, "__name__", type(source).__name__))
    _refuse_silent(made, task)
    aggregation = made.aggregation
    if isinstance(aggregation, str):
        try:
            named: Aggregation = AGGREGATIONS.get(aggregation)
        except PlanError as error:
            raise PlanError(error.what, where=task.where, hint=error.hint) from None
        return BoundScorer(made.name, scorer=made, aggregation=named)
    return BoundScorer(made.name, scorer=made, aggregation=_own_aggregation(made.name, aggregation))


def _refuse_silent(made: Scorer[..., Any], task: PythonTask) -> None:
    """Refuse a function that never returns a value, as far as its source shows.

    Raises:
        PlanError: if it does.
    """
    try:
        (function,) = ast.parse(textwrap.dedent(inspect.getsource(made.function))).body
    except (OSError, TypeError, ValueError, SyntaxError):
        return
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    inside = [*ast.walk(function)]
    if not any(
        isinstance(node, (ast.Raise, ast.Yield))
        or (getattr(node, "value", None) is not None and isinstance(node, ast.Return))
        for node in inside
    ):
        raise PlanError(
            f"Scorer {made.name!r} of task {task.name!r} returns nothing.", where=place_of(made.function), hint=RETURNS
        )


def _own_aggregation(scorer: str, aggregate: Aggregate) -> Aggregation:
    """Make an aggregation of a function of the author's."""

    def aggregated(values: Sequence[Any]) -> Any:
        with boundary(ScoreError, f"The aggregation of scorer {scorer!r}"):
            return aggregate(list(values))

    return Aggregation(getattr(aggregate, "__name__", "own"), aggregated, "none")


def _bind_metric(source: str | Mapping[str, Any], task: PythonTask, spec: TaskSpec) -> BoundScorer:
    try:
        item = MetricItem.model_validate(source)
    except ValidationError as error:
        what = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise PlanError(f"A scorer of task {task.name!r}: {what}.", where=task.where) from None
    config = YamlFields(task=task.name, output_type=output_type_of(task), metric_list=(item,))
    try:
        (metric,) = bind_metrics(config, lambda: task.where, code_files(spec))
    except PlanError as error:
        hint = "Choose another, or write a function: @polymeter.scorer." if _OF_YAML in error.hint else error.hint
        raise PlanError(error.what, where=error.where, hint=hint) from error
    return BoundScorer(metric.name, metric=metric)


def _check(one: BoundScorer, task: PythonTask) -> None:
    if task.choices is not None and one.metric is None:
        raise PlanError(
            f"Scorer {one.name!r} of task {task.name!r} is a function, but the task has choices.",
            where=task.where,
            hint="Choices are scored by metrics: acc, acc_norm, acc_mutual_info, brier_score. For a function, show the "
            "choices in the prompt and leave choices= out.",
        )
    if one.needs_reference and task.reference is None:
        raise PlanError(
            f"Scorer {one.name!r} of task {task.name!r} needs a reference, but the task has none.",
            where=task.where,
            hint="Add reference='COLUMN', with the column that has the answers.",
        )
    if task.repeats > 1 and one.is_pair:
        raise PlanError(
            f"Metric {one.name!r} of task {task.name!r} compares all samples at once, which repeats do not allow.",
            where=task.where,
            hint="Leave repeats= out, or choose a metric that scores each answer.",
        )
