"""``multiple_choice`` as text (``--mcq text``), for models that give no log-probabilities: the options get letters
below the question, and the option that the answer chooses counts (``reading.choices``). Answers that choose none are
wrong, and counted as ``unparsed``.

It is another measurement than that by log-probabilities: the two are never mixed in a run, and the results say which of
them it was.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from polymeter.core.content import Text
from polymeter.core.errors import PlanError
from polymeter.core.request import Message, Request
from polymeter.core.settings.choice_orders import Order, in_order
from polymeter.core.settings.repeats import repeats_of
from polymeter.core.task import Rollout, RolloutSteps, Sample, Score
from polymeter.metrics.basic import MEAN
from polymeter.metrics.choice_targets import choice_indices
from polymeter.metrics.option_letters import CHOOSE, lettered_options
from polymeter.reading.choices import CHOICES_VERSION, UNPARSED, ChoiceReading, choice_reading, option_labels
from polymeter.tasks.yaml.outputs.generation import TextQuestions, text_questions, texts_of
from polymeter.tasks.yaml.outputs.output_types import CompileSetup, TaskFunctions
from polymeter.tasks.yaml.outputs.right_choices import RightChoices, right_choices
from polymeter.tasks.yaml.pieces import Parts
from polymeter.tasks.yaml.prompts.empty_options import offered, only_offered
from polymeter.tasks.yaml.prompts.forms import Form
from polymeter.tasks.yaml.scoring.metrics import BoundMetric
from polymeter.tasks.yaml.scoring.readings import as_text
from polymeter.tasks.yaml.scoring.reduction import NO_FILTER, reduction

_OF_LOGPROBS = ("acc_norm", "acc_mutual_info", "brier_score", "bypass", "by_pass")
"""Metrics that a letter alone does not give."""
_NO_CHOICE = -1
_AROUND = " \t\r\n().:*"
_UNREAD = BoundMetric(
    UNPARSED,
    {},
    score=None,
    is_guest_score=False,
    aggregation=MEAN,
    aggregate=None,
    wants_args=False,
    higher_is_better=False,
    version=str(CHOICES_VERSION),
)


@dataclass(frozen=True, slots=True)
class _Lettered:
    """A task of lettered options.

    Attributes:
        questions: How it asks for text.
        choices: ``doc_to_choice``.
        target: ``doc_to_target``.
        metrics: Its metrics.
        right: Which choices are right, if its metrics need to know.
    """

    questions: TextQuestions
    choices: Form
    target: Form
    metrics: tuple[BoundMetric, ...]
    right: RightChoices | None


def lettered_parts(parts: Parts) -> tuple[Parts, tuple[str, ...]]:
    """The parts of a task whose options get letters, without the metrics that need log-probabilities, and what the
    results say of it.

    Raises:
        PlanError: if the task cannot be asked like that.
    """
    name, locate = parts.config.task, parts.binding.where
    if parts.choices is None or parts.compile_output is not None:
        raise PlanError(
            f"Task {name!r} makes its requests itself, so --mcq text cannot ask it.",
            where=locate("output_type"),
            hint="Run it apart, with a model that gives log-probabilities.",
        )
    if parts.scorer is not None:
        raise PlanError(
            f"Task {name!r} scores log-probabilities with its own process_results, so --mcq text cannot ask it.",
            where=locate("process_results"),
            hint="Run it apart, with a model that gives log-probabilities.",
        )
    kept = tuple(metric for metric in parts.metrics if metric.name not in _OF_LOGPROBS)
    left_out = [metric.name for metric in parts.metrics if metric.name in _OF_LOGPROBS]
    if not kept:
        raise PlanError(
            f"Task {name!r} has no metric that a letter gives: {', '.join(left_out)} need log-probabilities.",
            where=locate("metric_list"),
            hint="Add metric: acc.",
        )
    without = f" Without {', '.join(left_out)}, which need log-probabilities." if left_out else ""
    note = f"Task {name!r}: multiple choice asked as text with letters (--mcq text), not by log-probabilities.{without}"
    return replace(parts, metrics=(*kept, _UNREAD)), (note,)


def compile_lettered(setup: CompileSetup) -> TaskFunctions:
    """The functions of a task that asks for the letter of a choice.

    Raises:
        PlanError: if its generation settings make no sense, or its choices are contexts of one continuation.
    """
    parts = setup.parts
    assert parts.choices is not None
    locate = parts.binding.where
    if type(parts.text(setup.prompt.row(setup.samples[0]))) is int:
        raise PlanError(
            f"The choices of task {setup.spec.name!r} are contexts of one continuation: --mcq text cannot ask it.",
            where=locate("doc_to_text"),
            hint="Run it apart, with a model that gives log-probabilities.",
        )
    task = _Lettered(text_questions(setup), parts.choices, parts.target, parts.metrics, right_choices(parts))
    parameters = (task.questions.settings.parameters,)
    return TaskFunctions(partial(_ask, task), partial(_score, task), reduction(setup), parameters)


def chosen(answer: str, choices: Sequence[str]) -> ChoiceReading:
    """The choice that an answer names, by the letters that the prompt shows, or by its text."""
    labels = option_labels(len(choices))
    reading = choice_reading(answer, only_offered(choices, choices), only_offered(labels, choices))
    return reading if reading.index is None else replace(reading, index=offered(choices)[reading.index])


def shown_choices(choices: Sequence[str], order: Order) -> Sequence[str]:
    """The choices of a row in an order. Empty ones, which are not shown, keep their places."""
    if not order:
        return choices
    shown = copy.copy(list(choices) if isinstance(choices, tuple) else choices)
    places = offered(choices)
    for place, source in zip(places, in_order(places, order), strict=True):
        shown[place] = choices[source]  # type: ignore[index]
    return shown


def shown_places(indices: Sequence[int], choices: Sequence[str], order: Order) -> list[int]:
    """The indices of choices of a row, as they are in an order."""
    if not order:
        return list(indices)
    places = offered(choices)
    moved = {source: place for place, source in zip(places, in_order(places, order), strict=True)}
    return [moved.get(index, index) for index in indices]


def _ask(task: _Lettered, sample: Sample) -> RolloutSteps:
    questions = task.questions
    origin = questions.provenance.origin(sample, questions.settings.raw)
    row = questions.prompt.row(sample)
    choices = shown_choices(task.choices(row), sample.order)
    messages = yield from questions.prompt.conversation(sample, origin)
    if task.right is not None:
        task.right.of(sample, row)  # a row whose target names no choice is refused before it is sent
    messages = _with_options(messages, _options_text(choices))
    seeds = [questions.provenance.seed(sample, number) for number in range(questions.repeats)]
    requests = repeats_of(Request(messages, questions.settings.parameters, origin), seeds)
    yield requests[0] if len(requests) == 1 else requests


def _options_text(choices: Sequence[str]) -> str:
    labels = option_labels(len(choices))
    if [choice.strip(_AROUND) for choice in choices] == list(labels):  # the question lists the options itself
        return CHOOSE
    shown = zip(only_offered(labels, choices), only_offered(choices, choices), strict=True)
    return lettered_options(dict(shown))  # an empty option is not shown, and the others keep their letters


def _with_options(messages: Sequence[Message], options: str) -> tuple[Message, ...]:
    """The messages, with the options at the end of the last one, on lines of their own."""
    *before, last = messages
    *parts, end = last.parts or (Text(""),)
    if isinstance(end, Text):
        text = end.text.rstrip()
        return (*before, replace(last, parts=(*parts, Text(f"{text}\n{options}" if text else options))))
    return (*before, replace(last, parts=(*last.parts, Text(options))))


def _score(task: _Lettered, sample: Sample, rollout: Rollout) -> Score:
    row = task.questions.prompt.row(sample)
    written, target = task.choices(row), task.target(row)
    choices = shown_choices(written, sample.order)
    answers = [str(text) for text in texts_of(rollout)]
    reading = chosen(answers[0] if answers else "", choices)
    prediction = _NO_CHOICE if reading.index is None else reading.index
    indices = shown_places(choice_indices(target, written), written, sample.order)
    values = {(metric.name, NO_FILTER): _value(metric.name, indices, prediction, row) for metric in task.metrics}
    return Score(
        values,
        as_text(target) if isinstance(target, (list, tuple)) else choices[indices[0]],
        answers[0] if answers else None,
        _explained(reading, choices),
        extracted=dict.fromkeys(values, None if reading.index is None else choices[reading.index]),
    )


def _explained(reading: ChoiceReading, choices: Sequence[str]) -> str:
    if reading.index is None:
        return "no option was found in the answer"
    return f"read as {option_labels(len(choices))[reading.index]}. {choices[reading.index]} (by {reading.said})"


def _value(metric: str, indices: Sequence[int], prediction: int, row: Mapping[str, Any]) -> Any:
    if metric == UNPARSED:
        return float(prediction == _NO_CHOICE)
    if metric in ("acc", "exact_match"):
        return float(prediction in indices)
    if metric == "acc_all":
        return (prediction, dict(row))
    # Any other metric is a name whose aggregation decides, as by log-probabilities.
    return (indices[0] if len(indices) == 1 else list(indices), prediction)
