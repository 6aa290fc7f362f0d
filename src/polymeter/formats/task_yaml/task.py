"""Layer three: a task that is bound to a model, with its dataset open."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.errors import PolymeterError, ScoreError
from polymeter.core.parts import Text
from polymeter.core.repeats import repeats_of
from polymeter.core.request import ChoiceLogprob, Loglikelihood, Message, Origin, Parameters, Protocol, Request
from polymeter.core.task import (
    Needs,
    ReduceContext,
    Result,
    Rollout,
    RolloutSteps,
    Sample,
    Score,
    ScoredRow,
    Task,
    TaskSpec,
)
from polymeter.formats.task_yaml.choices import choice_values, likelihood_values
from polymeter.formats.task_yaml.config import TaskConfig
from polymeter.formats.task_yaml.filters import Reading
from polymeter.formats.task_yaml.forms import Form
from polymeter.formats.task_yaml.generation import GenerationPlan
from polymeter.formats.task_yaml.metrics import BoundMetric
from polymeter.formats.task_yaml.prompt import Prompt, full_row
from polymeter.formats.task_yaml.reduction import reduce_task
from polymeter.formats.task_yaml.samples import RowSamples
from polymeter.formats.task_yaml.scoring import Scorer, as_text, score_readings


@dataclass(frozen=True, slots=True)
class Identity:
    """What the engine asks of a task besides its samples.

    Attributes:
        needs: What it needs of the run.
        is_guest: Whether it runs task code.
        is_thread_safe: Whether that code may run at the same time.
        fingerprint: Identity of its data.
        score_digest: Hash of what turns answers into scores.
        num_fewshot: For the table.
        notes: What the user should know of it.
    """

    needs: Needs
    is_guest: bool
    is_thread_safe: bool
    fingerprint: str
    score_digest: str
    num_fewshot: int
    notes: tuple[str, ...] = ()


class YamlTask(ABC):
    """Base of the tasks of this dialect: prompts and reductions. Subclasses ask and score.

    Args:
        spec: What it was made from.
        config: Its typed configuration.
        identity: What the engine asks of it.
        samples: Its samples.
        prompt: Builds its messages.
        metrics: Its metrics.
        target: ``doc_to_target``.
        seed: The run's seed.
    """

    def __init__(
        self,
        spec: TaskSpec,
        config: TaskConfig,
        identity: Identity,
        samples: RowSamples,
        prompt: Prompt,
        metrics: Sequence[BoundMetric],
        target: Form,
        seed: int,
    ) -> None:
        self.spec = spec
        self.config = config
        self.needs = identity.needs
        self.is_guest = identity.is_guest
        self.is_thread_safe = identity.is_thread_safe
        self.fingerprint = identity.fingerprint
        self.score_digest = identity.score_digest
        self.num_fewshot = identity.num_fewshot
        self.notes = identity.notes
        self.prompt = prompt
        self.batch_size = config.own_batch_size
        self._samples = samples
        self._metrics = tuple(metrics)
        self._filters: tuple[str, ...] = ("none",)
        self._target = target
        self._run_seed = seed
        self._split = config.eval_split or ""
        self._metadata = {"task": spec.name, "split": self._split, "repeats": config.repeats, **config.metadata}

    @property
    def samples(self) -> RowSamples:
        """Its samples."""
        return self._samples

    @property
    @abstractmethod
    def asks(self) -> Sequence[Parameters]:
        """What its requests ask for."""

    @abstractmethod
    def play(self, sample: Sample) -> RolloutSteps:
        """Ask about one sample."""

    @abstractmethod
    def score(self, sample: Sample, played: Rollout) -> Score:
        """Score the answers of one sample."""

    def reduce(self, rows: Iterable[ScoredRow], context: ReduceContext) -> list[Result]:
        """Results from rows in sample order."""
        return reduce_task(self.spec.name, rows, self._metrics, self._filters, context, self.config.score_key)

    def _origin(self, sample: Sample, raw: Mapping[str, Any], protocol: Protocol = "single") -> Origin:
        metadata = {**self._metadata, "doc_id": sample.index}
        return Origin(self.spec.name, sample.id, self._split, sample.index, protocol, raw, metadata)

    def as_task(self) -> Task:
        """The record that the engine plays."""
        return Task(
            spec=self.spec,
            needs=self.needs,
            samples=self.samples,
            rollout=self.play,
            score=self.score,
            reduce=self.reduce,
            row_functions=self.prompt.row_functions(self._samples),
            parameters=tuple(self.asks),
            fingerprint=self.fingerprint,
            score_digest=self.score_digest,
            is_guest=self.is_guest,
            is_thread_safe=self.is_thread_safe,
            batch_size=self.batch_size,
            num_fewshot=self.num_fewshot,
            notes=self.notes,
        )


class GenerationTask(YamlTask):
    """A task whose answers are text."""

    def bind(
        self,
        generation: GenerationPlan,
        readings: Sequence[tuple[str, Reading]],
        clean: Callable[[Any], Any],
        scorer: Scorer,
        *,
        has_own_scorer: bool,
    ) -> GenerationTask:
        """Say how it asks and scores; called once, by ``compile_task``."""
        self._generation = generation
        self._readings = tuple(readings)
        self._filters = tuple(name for name, _ in readings)
        self._clean = clean
        self._scorer = scorer
        self._names = frozenset(metric.name for metric in self._metrics)
        self._sees_media = self.config.process_results_use_image
        self._log_target: Form = self._target if not has_own_scorer else self._shown_target
        return self

    @property
    def asks(self) -> Sequence[Parameters]:
        """Texts, with the settings of all its requests."""
        return (self._generation.ask,)

    def play(self, sample: Sample) -> RolloutSteps:
        """Ask once; a task with repeats asks that many times at once."""
        plan = self._generation
        origin = self._origin(sample, plan.raw)
        messages = yield from self.prompt.asked(sample, origin)
        request = Request(messages, plan.ask, origin)
        asked = repeats_of(request, self.config.repeats, self._run_seed, self.spec.name, sample.id)
        yield asked if len(asked) > 1 else asked[0]

    def score(self, sample: Sample, played: Rollout) -> Score:
        """Score the answers of one sample.

        Raises:
            ScoreError: The task's code raised, or an answer is not of a kind that can be scored.
        """
        answers = self._answers(played)
        if not answers:
            raise ScoreError(f"Sample {sample.id} of task {self.spec.name!r} has no answer to score.")
        doc = sample.doc
        return score_readings(
            doc,
            full_row(sample) if self._sees_media else doc,
            answers,
            self._readings,
            lambda filtered: self._as_results(self._clean(filtered)),
            self._scorer,
            self._names,
            self._log_target,
        )

    def _answers(self, played: Rollout) -> list[Any]:
        """The raw answers of a sample, one for each repeat."""
        return [output.text or "" for response in played.responses for output in response.outputs]

    def _as_results(self, filtered: Any) -> list[Any]:
        """What a filter gave, as the list that the scorer gets."""
        return filtered if isinstance(filtered, list) else [filtered]

    def _shown_target(self, doc: Any) -> Any:
        """The target for people only: a task that scores by itself is right whatever its ``doc_to_target`` does."""
        try:
            return self._target(doc)
        except PolymeterError as error:
            return f"doc_to_target failed: {error}"


class ChoiceTask(YamlTask):
    """A task that compares the likelihood of choices, of contexts, or measures that of one text."""

    def bind(self, text: Form, choices: Form | None) -> ChoiceTask:
        """Say what it compares; called once, by ``compile_task``."""
        self._text = text
        self._choices = choices
        self._delimiter = self.config.target_delimiter
        self._is_mutual = any(metric.name == "acc_mutual_info" for metric in self._metrics)
        return self

    @property
    def asks(self) -> Sequence[Parameters]:
        """The likelihood of continuations."""
        return (Loglikelihood(()),)

    def play(self, sample: Sample) -> RolloutSteps:
        """One request with all choices; a tuple where there is a context per choice, or none at all as well."""
        origin = self._origin(sample, {})
        row = self.prompt.row(sample)
        if self._choices is None:
            messages = yield from self.prompt.asked(sample, origin)
            yield Request(messages, Loglikelihood((self._continuation(row),)), origin)
            return
        choices = self._choices(row)
        if type(self._text(row)) is int:
            before = self.prompt.before(sample)
            ask = Loglikelihood((self._delimiter + str(self._target(row)),))
            yield tuple([Request(self.prompt.of_text(sample, before + choice), ask, origin) for choice in choices])
            return
        ask = Loglikelihood(tuple([self._delimiter + choice for choice in choices]))
        request = Request((yield from self.prompt.asked(sample, origin)), ask, origin)
        if not self._is_mutual:
            yield request
            return
        empty = Request((Message("user", (Text(""),)),), Loglikelihood(tuple(choices)), origin)
        yield (request, empty)

    def score(self, sample: Sample, played: Rollout) -> Score:
        """Score the likelihoods of one sample.

        Raises:
            ScoreError: The model gave none, or not one for each continuation.
        """
        row = self.prompt.row(sample)
        lists = [response.outputs[0].logprobs if response.outputs else () for response in played.responses]
        if self._choices is None:
            text = self._continuation(row)
            given = self._checked(lists[0] if lists else (), 1, sample)[0]
            return self._scored(likelihood_values(self._metrics, text, given, row), text, str(given.logprob))
        choices = self._choices(row)
        target = self._target(row)
        if type(self._text(row)) is int:
            # A context per choice: which one makes the target likeliest.
            merged = tuple([item for logprobs in lists for item in logprobs])
            target, lists = self._text(row), [merged]
        given_all = self._checked(lists[0] if lists else (), len(choices), sample)
        base = self._checked(lists[1], len(choices), sample) if self._is_mutual and len(lists) > 1 else None
        values, taken = choice_values(self._metrics, target, choices, given_all, base, row)
        gold = choices[target] if type(target) is int and 0 <= target < len(choices) else as_text(target)
        return self._scored(values, gold, choices[taken])

    def _continuation(self, row: Any) -> str:
        target = self._target(row)
        return target if isinstance(target, str) else str(target)

    def _scored(self, values: Mapping[str, Any], target: str | None, answer: str) -> Score:
        return Score({(metric, "none"): value for metric, value in values.items()}, target, answer)

    def _checked(self, given: Sequence[ChoiceLogprob], n: int, sample: Sample) -> Sequence[ChoiceLogprob]:
        if len(given) != n:
            raise ScoreError(
                f"The model gave {len(given)} log-probabilities for {n} continuations.",
                where=f"{self.spec.name} {sample.id}",
            )
        return given


class OwnChoiceTask(ChoiceTask):
    """A task of likelihoods that scores them with its own ``process_results``: it gets ``(logprob, is_greedy)``
    pairs.
    """

    def bind_scorer(self, scorer: Scorer) -> OwnChoiceTask:
        """Give it the task's function; called once, by ``compile_task``."""
        self._scorer = scorer
        self._names = frozenset(metric.name for metric in self._metrics)
        return self

    def score(self, sample: Sample, played: Rollout) -> Score:
        """Score the likelihoods of one sample."""
        pairs = [
            (item.logprob, item.is_greedy)
            for response in played.responses
            for output in response.outputs
            for item in output.logprobs
        ]
        doc = full_row(sample) if self.config.process_results_use_image else sample.doc
        found = self._scorer(doc, pairs)
        values = {(metric, "none"): value for metric, value in found.items() if metric in self._names}
        log = {metric: value for metric, value in found.items() if metric not in self._names}
        return Score(values, as_text(self._target(sample.doc)), None, None, log)
