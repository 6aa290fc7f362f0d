"""``multiple_choice`` and ``loglikelihood``: how likely a model finds the choices of a question, or one text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from polymeter.core.content import Text
from polymeter.core.errors import ScoreError
from polymeter.core.request import ChoiceLogprob, Loglikelihood, Message, Request
from polymeter.core.task import Rollout, RolloutSteps, Sample, Score
from polymeter.metrics.choice_targets import choice_indices
from polymeter.tasks.yaml.outputs.choices import choice_values, likelihood_values
from polymeter.tasks.yaml.outputs.output_types import CompileSetup, Provenance, TaskFunctions
from polymeter.tasks.yaml.outputs.right_choices import RightChoices, right_choices
from polymeter.tasks.yaml.prompts.empty_options import IMPOSSIBLE, in_places, offered, only_offered
from polymeter.tasks.yaml.prompts.forms import Form
from polymeter.tasks.yaml.prompts.prompt import PromptBuilder
from polymeter.tasks.yaml.prompts.rows import full_row
from polymeter.tasks.yaml.prompts.target_cells import TargetCells
from polymeter.tasks.yaml.scoring.metrics import BoundMetric
from polymeter.tasks.yaml.scoring.readings import Scorer, as_text
from polymeter.tasks.yaml.scoring.reduction import NO_FILTER, reduction


@dataclass(frozen=True, slots=True)
class _Likelihoods:
    """A task of likelihoods.

    Attributes:
        prompt: Builds its messages.
        provenance: The origin and the seeds of its requests.
        text: ``doc_to_text``; if it returns an index, every choice is a separate context.
        target: ``doc_to_target``.
        delimiter: The text between a context and the continuation that is measured.
        metrics: Its metrics.
        right: Which choices are right, if its metrics need to know.
        cells: The cells that the target must have.
    """

    prompt: PromptBuilder
    provenance: Provenance
    text: Form
    target: Form
    delimiter: str
    metrics: tuple[BoundMetric, ...]
    right: RightChoices | None
    cells: TargetCells


def compile_choices(setup: CompileSetup) -> TaskFunctions:
    """The functions of a task that compares the likelihood of choices, or of contexts."""
    choices = setup.parts.choices
    if choices is None:  # a class may declare multiple choice and have none
        return compile_likelihood(setup)
    task = _likelihoods(setup)
    return _functions(setup, partial(_ask_choices, task, choices), partial(_score_choices, task, choices))


def compile_likelihood(setup: CompileSetup) -> TaskFunctions:
    """The functions of a task that measures the likelihood of one text."""
    task = _likelihoods(setup)
    return _functions(setup, partial(_ask_likelihood, task), partial(_score_likelihood, task))


def _likelihoods(setup: CompileSetup) -> _Likelihoods:
    parts = setup.parts
    return _Likelihoods(
        setup.prompt,
        setup.provenance,
        parts.text,
        parts.target,
        parts.config.target_delimiter,
        parts.metrics,
        right_choices(parts) if setup.scorer is None else None,
        setup.target_cells,
    )


def _functions(
    setup: CompileSetup, rollout: Callable[[Sample], RolloutSteps], score: Callable[[Sample, Rollout], Score]
) -> TaskFunctions:
    if setup.scorer is not None:
        score = partial(_score_by_task, setup, setup.scorer)
    return TaskFunctions(rollout, score, reduction(setup), (Loglikelihood(()),))


def _ask_choices(task: _Likelihoods, choices_of: Form, sample: Sample) -> RolloutSteps:
    """One request with all choices; a tuple of requests if each choice is a context, or if the bare choices are
    measured as well.
    """
    origin = task.provenance.origin(sample, {})
    row = task.prompt.row(sample)
    every = choices_of(row)
    choices = only_offered(every, every)
    if type(task.text(row)) is int:
        before = task.prompt.before(sample)
        _refuse_no_right_choice(task, sample, row)
        target = Loglikelihood((task.delimiter + str(task.target(row)),))
        yield tuple([Request(task.prompt.of_text(sample, before + choice), target, origin) for choice in choices])
        return
    continuations = Loglikelihood(tuple([task.delimiter + choice for choice in choices]))
    request = Request((yield from task.prompt.conversation(sample, origin)), continuations, origin)
    _refuse_no_right_choice(task, sample, row)
    if not _is_mutual(task):
        yield request
        return
    # Mutual information is measured against the bare choices: no context, no media, no delimiter.
    empty = Request((Message("user", (Text(""),)),), Loglikelihood(tuple(choices)), origin)
    yield (request, empty)


def _score_choices(task: _Likelihoods, choices_of: Form, sample: Sample, rollout: Rollout) -> Score:
    row = task.prompt.row(sample)
    lists = _logprobs(rollout)
    choices = choices_of(row)
    target = task.target(row)
    text = task.text(row)
    if type(text) is int:
        # Each choice is a context; the one that makes the target likeliest is taken. doc_to_text has the right index.
        target, lists = text, [tuple([item for items in lists for item in items])]
    indices = choice_indices(target, choices)
    n = len(offered(choices))
    logprobs = in_places(_checked(task, lists[0] if lists else (), n, sample), choices, IMPOSSIBLE)
    bare = _checked(task, lists[1], n, sample) if _is_mutual(task) and len(lists) > 1 else None
    unconditional = None if bare is None else in_places(bare, choices, IMPOSSIBLE)
    values, taken = choice_values(task.metrics, indices, choices, logprobs, unconditional, row)
    reference = as_text(target) if isinstance(target, (list, tuple)) else choices[indices[0]]
    return _scored(values, reference, choices[taken])


def _refuse_no_right_choice(task: _Likelihoods, sample: Sample, row: Any) -> None:
    """Refuse a row whose target names no choice before its request is sent: no answer to it can be scored.

    Raises:
        ScoreError: if it names none.
    """
    if task.right is not None:
        task.right.of(sample, row)


def _ask_likelihood(task: _Likelihoods, sample: Sample) -> RolloutSteps:
    origin = task.provenance.origin(sample, {})
    row = task.prompt.row(sample)
    task.cells.refuse_missing(sample, task.target)
    messages = yield from task.prompt.conversation(sample, origin)
    yield Request(messages, Loglikelihood((_continuation(task, row),)), origin)


def _score_likelihood(task: _Likelihoods, sample: Sample, rollout: Rollout) -> Score:
    row = task.prompt.row(sample)
    lists = _logprobs(rollout)
    text = _continuation(task, row)
    logprob = _checked(task, lists[0] if lists else (), 1, sample)[0]
    return _scored(likelihood_values(task.metrics, text, logprob, row), text, str(logprob.logprob))


def _score_by_task(setup: CompileSetup, scorer: Scorer, sample: Sample, rollout: Rollout) -> Score:
    """The task's own ``process_results``: which gets ``(logprob, is_greedy)`` pairs."""
    parts = setup.parts
    pairs = [
        (item.logprob, item.is_greedy)
        for response in rollout.responses
        for output in response.outputs
        for item in output.logprobs
    ]
    doc = full_row(sample) if parts.config.process_results_use_image else sample.doc
    scored = scorer(doc, pairs)
    names = {metric.name for metric in parts.metrics}
    values = {(name, NO_FILTER): value for name, value in scored.items() if name in names}
    log = {name: value for name, value in scored.items() if name not in names}
    return Score(values, as_text(parts.target(sample.doc)), None, None, log)


def _is_mutual(task: _Likelihoods) -> bool:
    return any(metric.name == "acc_mutual_info" for metric in task.metrics)


def _continuation(task: _Likelihoods, row: Any) -> str:
    target = task.target(row)
    return target if isinstance(target, str) else str(target)


def _logprobs(rollout: Rollout) -> list[tuple[ChoiceLogprob, ...]]:
    return [response.outputs[0].logprobs if response.outputs else () for response in rollout.responses]


def _checked(task: _Likelihoods, logprobs: Sequence[ChoiceLogprob], n: int, sample: Sample) -> Sequence[ChoiceLogprob]:
    if len(logprobs) != n:
        raise ScoreError(
            f"The model gave {len(logprobs)} log-probabilities for {n} continuations.",
            where=f"{task.provenance.task} {sample.id}",
        )
    return logprobs


def _scored(values: Mapping[str, Any], target: str | None, answer: str) -> Score:
    return Score({(metric, NO_FILTER): value for metric, value in values.items()}, target, answer)
