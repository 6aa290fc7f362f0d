"""Scoring of text answers: the task's own ``process_results``, or its metrics, on every reading of the answers."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import PolymeterError, ScoreError
from polymeter.core.request import Tags
from polymeter.core.task import MetricKey, Sample, Score
from polymeter.data import Rows
from polymeter.guests import resolve
from polymeter.reading.lists import PrintedList
from polymeter.reading.reasoning import separated
from polymeter.tasks.yaml.config import YamlFields
from polymeter.tasks.yaml.prompts.empty_options import refuse_empty
from polymeter.tasks.yaml.prompts.forms import Form, guest
from polymeter.tasks.yaml.prompts.rows import AllDocs, full_row
from polymeter.tasks.yaml.prompts.target_cells import TargetCells
from polymeter.tasks.yaml.registration import code_files
from polymeter.tasks.yaml.scoring.filters import INVALID, Reading, extracting, readings
from polymeter.tasks.yaml.scoring.metrics import BoundMetric, call_score
from polymeter.tasks.yaml.scoring.reasoning import make_stripper

if TYPE_CHECKING:
    from polymeter.tasks.yaml.outputs.output_types import CompileSetup

_TAKES_ALL = "anls"
"""The metric that gets all references even where every other gets one at a time."""
Doc = Mapping[str, Any]
Scorer = Callable[[Doc, Sequence[Any]], Mapping[str, Any]]
"""``(row, results) → {metric: value}``."""


@dataclass(frozen=True, slots=True)
class TextScoring:
    """The scoring of a task that asks for text.

    Attributes:
        task: Its name, for messages.
        readings: Its filters.
        separate: Removes reasoning from answers, before the filters.
        strip_reasoning: Removes it from what a filter returned, where the task's own code scores.
        scorer: Returns the values of one reading.
        metrics: Names of the metrics that count; other values go to the log.
        target: The row's target, for display.
        needs_media: Whether the scorer gets the row with its media.
        cells: The cells that the target must have.
        extract: The part of an answer that a metric compares, by metric, as far as it is known.
        extracting: The filters that take out this part, for all metrics.
    """

    task: str
    readings: tuple[tuple[str, Reading], ...]
    separate: Callable[[Any], Any]
    strip_reasoning: Callable[[Any], Any]
    scorer: Scorer
    metrics: frozenset[str]
    target: Form
    needs_media: bool
    cells: TargetCells
    extract: Mapping[str, Callable[[Any], str | None]] = field(default_factory=dict)
    extracting: frozenset[str] = frozenset()

    def extracted(self, metric: str, name: str, results: Sequence[Any]) -> dict[MetricKey, str | None]:
        """The part of the first answer of a reading that a metric compares; nothing if that is not known."""
        answer = results[0] if results else None
        extract = self.extract.get(metric, str if name in self.extracting else None)
        if extract is None or not isinstance(answer, str):
            return {}
        return {(metric, name): None if answer == INVALID else extract(answer)}


def reads_answers(setup: CompileSetup) -> bool:
    """Return whether Polymeter's rules for reading answers apply to a task: it is scored by metrics that are found by
    name. The task's own code gets what its system would hand it.
    """
    metrics = setup.parts.metrics
    is_own_code = setup.scorer is not None or (bool(metrics) and all(metric.is_guest_score for metric in metrics))
    return not is_own_code and not setup.parity.on("reasoning-after-filters")


def text_scoring(setup: CompileSetup) -> TextScoring:
    """Return the scoring of a task that asks for text, by its configuration.

    Raises:
        PlanError: if its filters or reasoning tags make no sense.
    """
    parts = setup.parts
    config, locate = parts.config, parts.binding.where
    tags = setup.provenance.reasoning_tags
    is_read = reads_answers(setup)
    filters = readings(
        config.filter_list,
        task=config.task,
        where=locate("filter_list"),
        strips_thinking=config.auto_strip_thinking,
        sources=code_files(setup.spec),
    )
    return TextScoring(
        task=setup.spec.name,
        readings=filters,
        separate=partial(_separated, tags) if is_read else _as_it_is,
        strip_reasoning=_as_it_is if is_read else make_stripper(tags),
        scorer=setup.scorer
        or default_scorer(
            parts.metrics,
            parts.target,
            parts.choices,
            is_each_alone=_has_several_targets(setup) and setup.parity.on("several-targets"),
            keeps_numbers=setup.parity.on("number-targets"),
            splits_printed=setup.parity.on("printed-lists"),
        ),
        metrics=frozenset(metric.name for metric in parts.metrics),
        target=parts.target if setup.scorer is None else _shown_target(parts.target),
        needs_media=config.process_results_use_image or any(metric.takes_image_size for metric in parts.metrics),
        cells=setup.target_cells,
        extract={}
        if setup.scorer is not None
        else {
            metric.name: partial(metric.extract, **metric.kwargs)
            for metric in parts.metrics
            if metric.extract is not None and not metric.takes_all
        },
        extracting=extracting(config.filter_list) if setup.scorer is not None else frozenset(),
    )


def score_answers(scoring: TextScoring, sample: Sample, answers: Sequence[Any]) -> Score:
    """Score the answers of one sample, each of them a text.

    Raises:
        ScoreError: if there is no answer, or the task's code raised.
    """
    refuse_no_answer(scoring, sample, answers)
    answers = scoring.separate(list(answers))

    def results_of(read: Reading) -> list[Any]:
        results = bare(scoring.strip_reasoning(read(answers, sample.doc)))
        return results if isinstance(results, list) else [results]

    return score_readings(scoring, sample, results_of, scored_rows(scoring, sample))


def refuse_no_answer(scoring: TextScoring, sample: Sample, answers: Sequence[Any]) -> None:
    """Refuse to score nothing.

    Raises:
        ScoreError: if there is no answer.
    """
    if not answers:
        raise ScoreError(f"Sample {sample.id} of task {scoring.task!r} has no answer to score.")


def score_readings(
    scoring: TextScoring,
    sample: Sample,
    results_of: Callable[[Reading], list[Any]],
    rows: Iterable[Doc],
) -> Score:
    """The score of one sample: every reading of its answers through one scorer.

    Args:
        scoring: How the task scores.
        sample: The sample.
        results_of: Returns the list that the scorer gets for a reading.
        rows: For each reading the row that the scorer gets.

    Raises:
        ScoreError: if the sample has no target to compare with, or the task's code raised.
    """
    scoring.cells.refuse_missing(sample, scoring.target)
    values: dict[MetricKey, Any] = {}
    extracted: dict[MetricKey, str | None] = {}
    log: dict[str, Any] = {}
    answer: str | None = None
    for (name, read), row in zip(scoring.readings, rows, strict=False):
        results = results_of(read)
        if answer is None:
            answer = as_text(results[0] if len(results) == 1 else results)
        for metric, value in scoring.scorer(row, results).items():
            if metric in scoring.metrics:
                values[metric, name] = value
                extracted |= scoring.extracted(metric, name, results)
            else:
                log[metric] = value
    return Score(values, as_text(scoring.target(sample.doc)), answer, None, log, extracted=extracted)


def scored_rows(scoring: TextScoring, sample: Sample) -> list[Doc]:
    """The row of a sample as the scorer gets it, for each reading."""
    row = full_row(sample) if scoring.needs_media else sample.doc
    # Scoring code may change the row that it gets, so every reading after the first gets an untouched copy.
    return [row, *(copy.deepcopy(row) for _ in scoring.readings[1:])]


def default_scorer(
    metrics: Sequence[BoundMetric],
    target: Form,
    choices: Form | None,
    *,
    is_each_alone: bool = False,
    keeps_numbers: bool = False,
    splits_printed: bool = False,
) -> Scorer:
    """Scoring by registered metrics: an answer against the target, or against each of several.

    Our own metrics take several references at once; with a guest's metric a sample scores 1 if any reference
    does.

    Args:
        metrics: The metrics.
        target: ``doc_to_target``.
        choices: ``doc_to_choice``.
        is_each_alone: Whether our own metrics too get one reference at a time, but for ``anls``.
        keeps_numbers: Whether a number as reference stays one, which no text equals.
        splits_printed: Whether any printed list is several references, also one of numbers.
    """
    alone = frozenset(metric.name for metric in metrics if is_each_alone and metric.name != _TAKES_ALL)

    def scorer(doc: Doc, results: Sequence[Any]) -> dict[str, Any]:
        expected = target(doc)
        if isinstance(expected, PrintedList) and not (expected.is_several or choices or splits_printed):
            expected = expected.text
        references = reference_texts(expected, choices(doc) if choices else None, keeps_numbers=keeps_numbers)
        first = results[0] if results else ""
        return {
            metric.name: _any_of(metric, references, first, doc)
            if metric.name in alone and metric.score is not None
            else _value(metric, references, results if metric.takes_all else first, doc)
            for metric in metrics
        }

    return scorer


def _separated(tags: Tags | None, value: Any) -> Any:
    if isinstance(value, list):
        return [_separated(tags, item) for item in value]
    if not isinstance(value, str):
        return value
    apart = separated(value, tags)
    return apart.text if apart.has_reasoning else value  # white space of an answer may be a program's indentation


def _as_it_is(value: Any) -> Any:
    return value


def _has_several_targets(setup: CompileSetup) -> bool:
    """Return whether the first row's target is a list. A target that cannot be read is reported with its own sample."""
    try:
        return isinstance(setup.parts.target(setup.samples[0].doc), (list, tuple))
    except PolymeterError:
        return False


def own_scorer(config: YamlFields, task: str, rows: Rows) -> Scorer | None:
    """``process_results`` as a scorer; with ``full_docs`` it gets all rows too, if it names a parameter for them."""
    if config.process_results is None:
        return None
    parameters = inspect.signature(resolve(config.process_results)).parameters
    more = {"full_docs": AllDocs(rows)} if config.full_docs and "full_docs" in parameters else {}
    return checked_scorer(guest(config.process_results, "process_results", task, ScoreError), task, more)


def checked_scorer(call: Callable[..., Any], task: str, more: Mapping[str, Any]) -> Scorer:
    """Task code as a scorer: it must return a mapping of metrics."""

    def scorer(doc: Any, results: Any) -> Mapping[str, Any]:
        values = call(doc, results, **more)
        if not isinstance(values, Mapping):
            raise ScoreError(f"process_results of task {task!r} must return a dict of metrics, not {values!r:.80}.")
        return values

    return scorer


def bare(value: Any) -> Any:
    """Answers without leading and trailing space; ``None`` becomes an empty text."""
    if type(value) is str:
        return value.strip()
    if value is None:
        return ""
    return [bare(item) for item in value] if isinstance(value, list) else value


def reference_texts(target: Any, choices: Sequence[str] | None, *, keeps_numbers: bool = False) -> list[Any]:
    """The references: the target, or each of a list of targets; an index stands for its choice.

    Numbers become text, unless they are to be kept: a model answers in text, and a column of numbers in a CSV means
    what is written there.
    """
    targets = list(target) if isinstance(target, (list, tuple)) else [target]
    return [_reference_text(item, choices, keeps_numbers) for item in targets]


def as_text(value: Any) -> str | None:
    """A value for display."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, PrintedList) and not value.is_several:
        return value.text
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return value[0] if len(value) == 1 else " | ".join(value)
    return str(value)


def _shown_target(target: Form) -> Form:
    """The target for display only: where a task scores by itself, a failing ``doc_to_target`` is not an error."""

    def shown(doc: Any) -> Any:
        try:
            return target(doc)
        except PolymeterError as error:
            return f"doc_to_target failed: {error}"

    return shown


def _reference_text(item: Any, choices: Sequence[str] | None, keeps_numbers: bool) -> Any:
    if choices is not None and isinstance(item, int) and not isinstance(item, bool):
        if not -len(choices) <= item < len(choices):
            raise ScoreError(f"The target is choice {item}, but there are {len(choices)} choices.")
        refuse_empty([item % len(choices)], choices)
        return choices[item]
    return str(item) if isinstance(item, (int, float)) and not keeps_numbers else item


def _value(metric: BoundMetric, references: list[Any], answer: Any, row: Doc) -> Any:
    if metric.score is None:
        return (references[0] if len(references) == 1 else references, answer)
    if len(references) == 1 or not metric.is_guest_score:
        return call_score(metric, references, answer, row)
    return _any_of(metric, references, answer, row)


def _any_of(metric: BoundMetric, references: list[Any], answer: Any, row: Doc) -> float:
    return float(any(call_score(metric, [reference], answer, row) for reference in references))
