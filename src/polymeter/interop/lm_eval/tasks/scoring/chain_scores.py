"""The values of one sample: each chain of filters, and what the task or its output type makes of the result.

An author's ``process_results`` gets the row and one item for each request, in order of ``idx``, and its values replace
everything else. Otherwise the output type decides: ``choice_scores`` and ``text_scores`` compute the values.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral
from operator import attrgetter
from typing import Any, Protocol

from polymeter.core.errors import PolymeterError, ScoreError, boundary
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.core.task import MetricKey, Rollout, Score, TaskSpec
from polymeter.guests import resolve
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_eval.tasks.config import GENERATE, LIKELIHOOD, MULTIPLE_CHOICE
from polymeter.interop.lm_eval.tasks.scoring.chains import Chain, chains
from polymeter.interop.lm_eval.tasks.scoring.choice_scores import choice_scores
from polymeter.interop.lm_eval.tasks.scoring.metrics import MetricConfig, bind_metrics, unvalued
from polymeter.interop.lm_eval.tasks.scoring.text_scores import refuse_pairs_under_means, text_scores
from polymeter.metrics.text import text_compared
from polymeter.tasks.yaml.outputs.choices import argmax
from polymeter.tasks.yaml.prompts.empty_options import only_offered
from polymeter.tasks.yaml.registration import code_files
from polymeter.tasks.yaml.scoring.filters import INVALID
from polymeter.tasks.yaml.scoring.metrics import BoundMetric
from polymeter.tasks.yaml.scoring.readings import as_text

SOURCES = "from_metric"
"""The key of a score's log that maps metrics of a sample to the metrics that they are parts of."""
_SPACES = re.compile(r"\s+")
_place = attrgetter("idx")
ProcessResults = Callable[[Any, list[Any]], Mapping[str, Any]]


class RowFields(Protocol):
    """The values of a row, by the task's ``doc_to_*``."""

    @property
    def has_choices(self) -> bool: ...
    def text(self, doc: Any) -> Any: ...
    def target(self, doc: Any) -> Any: ...
    def choices(self, doc: Any) -> Any: ...


class ScoredConfig(MetricConfig, Protocol):
    """The part of a task's configuration that scoring reads."""

    @property
    def filter_list(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """Facts that lm-eval finds out from a task's first row, and applies to all.

    Attributes:
        fields: The values of a row.
        multiple_input: The number of contexts of a row, if ``doc_to_text`` gives the index of the right one; else 0.
        multiple_target: The number of targets of the first row, if they are a list; else 0.
    """

    fields: RowFields
    multiple_input: int = 0
    multiple_target: int = 0


@dataclass(frozen=True, slots=True)
class LmEvalScorer:
    """Scores the samples of one task.

    Attributes:
        task: Its name.
        bound: Its metrics.
        chains: Its chains of filters.
        values: From a row and one filtered item for each request, the values by metric and, for those that are a part
            of another, the name of that one.
        shown: From a row, the target, to show.
        answer: From a row and its filtered items, what was answered, to show.
        valued: The metrics that every scored sample has a value for; ``None``: only the values show which there are.
        is_guest: Whether a row is passed to an author's function, which may change it.
        has_errors_of_lm_eval: Whether standard errors are those that lm-eval computes.
        notes: What the user should know.
        extract: The part of a generated answer that a metric compares, by metric, as far as it is known.
    """

    task: str
    bound: tuple[BoundMetric, ...]
    chains: tuple[Chain, ...]
    values: Callable[[Any, list[Any]], tuple[Mapping[str, Any], Mapping[str, str]]]
    shown: Callable[[Any], str | None]
    answer: Callable[[Any, list[Any]], str | None]
    valued: tuple[str, ...] | None = None
    is_guest: bool = False
    has_errors_of_lm_eval: bool = False
    notes: tuple[str, ...] = ()
    extract: Mapping[str, Callable[[Any], str | None]] = field(default_factory=dict)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics that the task lists."""
        return tuple(metric.name for metric in self.bound)

    @property
    def filters(self) -> tuple[str, ...]:
        """The names of its chains of filters."""
        return tuple(chain.name for chain in self.chains)

    @property
    def digest(self) -> Any:
        """The parts of scoring that are neither in the task's sources nor in Polymeter's code."""
        return [[metric.name, metric.version] for metric in self.bound]

    def score_of(self, doc: Any, instances: Sequence[Instance]) -> Score:
        """The score of one sample.

        Args:
            doc: Its row.
            instances: Its requests, with their answers.

        Raises:
            ScoreError: if there is no answer, or a filter, the task's code or a metric fails.
            UnscoredError: if scoring takes longer than it may.
        """
        if not instances:
            raise ScoreError(f"A row of task {self.task!r} has no request to score.")
        ordered = instances if len(instances) == 1 else sorted(instances, key=_place)
        # An author's function may change the row, so every chain after the first gets an untouched copy.
        rows = [doc, *[copy.deepcopy(doc) if self.is_guest else doc for _ in self.chains[1:]]]
        values: dict[MetricKey, Any] = {}
        extracted: dict[MetricKey, str | None] = {}
        sources: dict[str, str] = {}
        answer: str | None = None
        for chain, row in zip(self.chains, rows, strict=True):
            results = chain.apply(ordered)
            if answer is None:
                answer = self.answer(row, results)
            of_metric, parts = self.values(row, results)
            sources.update(parts)
            for metric, value in of_metric.items():
                values[metric, chain.name] = value
                extract = self.extract.get(metric)
                if extract is not None and results and isinstance(results[0], str):
                    extracted[metric, chain.name] = None if results[0] == INVALID else extract(results[0])
        return Score(values, self.shown(doc), answer, None, {SOURCES: sources} if sources else {}, extracted=extracted)


def make_scorer(spec: TaskSpec, config: ScoredConfig, facts: TaskFacts, parity: Parity = NO_PARITY) -> LmEvalScorer:
    """Make the scorer of a task, by its configuration.

    Raises:
        PlanError: if a filter, metric or aggregation is unknown, or metric and aggregation do not go together.
    """
    sources = code_files(spec)
    bound = bind_metrics(config, f"metric_list of {spec.file}", sources, parity)
    process = (
        None
        if config.process_results is None or isinstance(config.process_results, str)
        else (checked_process_results(resolve(config.process_results), spec.name))
    )
    if process is None and config.output_type == GENERATE:
        refuse_pairs_under_means(bound, spec.name)
    without = unvalued(config, bound)
    is_known = process is None and all(metric.score is None for metric in bound)
    return LmEvalScorer(
        task=spec.name,
        bound=bound,
        valued=tuple(metric.name for metric in bound if metric.name not in without) if is_known else None,
        chains=chains(config.filter_list, task=spec.name, where=f"filter_list of {spec.file}", sources=sources),
        values=process or _values(str(config.output_type), bound, facts, parity, spec.name),
        shown=partial(_shown, facts.fields),
        answer=partial(_likeliest, facts.fields) if config.output_type == MULTIPLE_CHOICE else as_answered,
        is_guest=process is not None,
        has_errors_of_lm_eval=parity.on("resampled-error"),
        extract={} if process else _extractors(str(config.output_type), bound, parity),
        notes=tuple(
            f"Metric {name!r} of task {spec.name!r} has no value for output type {config.output_type!r}."
            for name in without
        ),
    )


def _extractors(
    output_type: str, bound: Sequence[BoundMetric], parity: Parity
) -> Mapping[str, Callable[[Any], str | None]]:
    """The part of a generated answer that each of our own metrics compares."""
    if output_type != GENERATE or parity.on("exact-as-written"):
        return {}
    return {
        metric.name: partial(text_compared, **metric.kwargs)
        for metric in bound
        if metric.score is None and metric.name in ("exact_match", "acc")
    }


def answers_only(rollout: Rollout) -> Score:
    """The score of a sample if only answers are asked for: no value, and what was answered."""
    answers = [instance.resps for instance in rollout.returned]
    return Score({}, None, str(answers[0] if len(answers) == 1 else answers))


def checked_process_results(
    function: Callable[..., Any], task: str
) -> Callable[[Any, list[Any]], tuple[Mapping[str, Any], Mapping[str, str]]]:
    """An author's function as a source of values: it must return a mapping of metrics."""

    def values(doc: Any, results: list[Any]) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        with boundary(ScoreError, f"process_results of task {task!r}"):
            made = function(doc, results)
        if not isinstance(made, Mapping):
            raise ScoreError(f"process_results of task {task!r} must return a dict of metrics, not {made!r:.80}.")
        return {str(name): value for name, value in made.items()}, {}

    return values


def count_words(text: str) -> int:
    """The words of a text, for a perplexity per word: the parts between runs of white space, empty ones included."""
    return len(_SPACES.split(text))


def count_bytes(text: str) -> int:
    """The bytes of a text in UTF-8."""
    return len(text.encode("utf-8"))


def rolling_values(logprob: float, text: str) -> dict[str, tuple[float, int]]:
    """The values of a text whose log-likelihood as a whole is known: that, and its words or bytes."""
    n_bytes = count_bytes(text)
    return {
        "word_perplexity": (logprob, count_words(text)),
        "byte_perplexity": (logprob, n_bytes),
        "bits_per_byte": (logprob, n_bytes),
    }


def _values(
    output_type: str, bound: tuple[BoundMetric, ...], facts: TaskFacts, parity: Parity, task: str
) -> Callable[[Any, list[Any]], tuple[Mapping[str, Any], Mapping[str, str]]]:
    """The values of an output type."""
    names = frozenset(metric.name for metric in bound)
    if output_type == MULTIPLE_CHOICE:
        of_choices = partial(
            choice_scores,
            names,
            facts.fields,
            has_several_inputs=bool(facts.multiple_input),
            takes_no_choice=parity.on("no-choice-target"),
        )
        return lambda doc, results: (of_choices(doc, results), {})
    if output_type == GENERATE:
        return text_scores(bound, facts.fields, facts.multiple_target, parity)

    def likelihood(doc: Any, results: list[Any]) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        logprob, is_greedy = results[0]
        made = {"perplexity": logprob, "acc": float(is_greedy)}
        return {name: value for name, value in made.items() if name in names}, {}

    def rolling(doc: Any, results: list[Any]) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        made = rolling_values(results[0], facts.fields.target(doc))
        return {name: value for name, value in made.items() if name in names}, {}

    return _located(likelihood if output_type == LIKELIHOOD else rolling, task)


def _located(
    values: Callable[[Any, list[Any]], tuple[Mapping[str, Any], Mapping[str, str]]], task: str
) -> Callable[[Any, list[Any]], tuple[Mapping[str, Any], Mapping[str, str]]]:
    """Values whose failure (filters may return anything) names the task."""

    def located(doc: Any, results: list[Any]) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        with boundary(ScoreError, f"Scoring a row of task {task!r}"):
            return values(doc, results)

    return located


def as_answered(doc: Any, results: list[Any]) -> str | None:
    """Return the answer: the item of the only request, or those of all."""
    return as_text(results[0] if len(results) == 1 else results)


def _likeliest(fields: RowFields, doc: Any, results: list[Any]) -> str | None:
    """The likeliest choice; what was answered where that is something else than log-likelihoods of choices."""
    try:
        every = fields.choices(doc)
        choices = only_offered(every, every)
        sums = [logprob for logprob, _ in results[: len(choices)]]
        return str(choices[argmax(sums)])
    except (PolymeterError, TypeError, ValueError, IndexError):
        return as_answered(doc, results)


def _shown(fields: RowFields, doc: Any) -> str | None:
    """The target, to show only: where a task scores by itself, one that cannot be read is not an error."""
    try:
        target = fields.target(doc)
        if not fields.has_choices:
            return as_text(target)
        choices = list(fields.choices(doc))
        indices = target if isinstance(target, (list, tuple)) else [target]
        named = [choices[int(i)] if isinstance(i, Integral) and 0 <= int(i) < len(choices) else str(i) for i in indices]
    except PolymeterError as error:
        return f"doc_to_target failed: {error}"
    return as_text(named)
