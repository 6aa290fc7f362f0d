"""Requests that a task class constructs itself: its instances as core requests, and the answers back in its order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any

from polymeter.core.errors import ScoreError
from polymeter.core.request import Loglikelihood, Message, Request, Response
from polymeter.core.settings.repeats import repeats_of
from polymeter.core.task import Rollout, RolloutSteps, Sample, Score
from polymeter.interop.lmms_eval.instance import Instance
from polymeter.tasks.yaml.outputs.generation import TextQuestions, text_functions, text_questions
from polymeter.tasks.yaml.outputs.output_types import CompileSetup, TaskFunctions
from polymeter.tasks.yaml.outputs.parameters import text_settings
from polymeter.tasks.yaml.prompts.forms import guest
from polymeter.tasks.yaml.prompts.rows import full_row
from polymeter.tasks.yaml.prompts.visuals import from_chat, from_hook
from polymeter.tasks.yaml.scoring.filters import Reading
from polymeter.tasks.yaml.scoring.readings import TextScoring, bare, score_readings, text_scoring

Construct = Callable[[int, str, Mapping[str, Any]], Any]
"""``(number of the row, prompt, metadata)`` → an ``Instance`` or a list of them."""
_LIKELIHOODS = ("loglikelihood", "multiple_choice")


@dataclass(frozen=True, slots=True)
class _Construction:
    """A task that constructs its requests.

    Attributes:
        construct: Its ``construct_requests``.
        questions: Prompt and settings for what its instances leave open.
        metadata: The task's part of each instance's metadata.
        plan_settings: Generation settings of the plan; they override those of its instances.
        is_completion: Whether the model continues a text rather than answers a chat.
    """

    construct: Construct
    questions: TextQuestions
    metadata: Mapping[str, Any]
    plan_settings: Mapping[str, Any]
    is_completion: bool


@dataclass(slots=True)
class _Merged:
    """One request of a sample, and the instances that it answers.

    Attributes:
        messages: The prompt.
        continuations: The continuations whose likelihood is asked for.
        settings: Generation settings as the instance has them; ``None`` for a request for likelihoods.
        positions: Positions of these instances among the sample's.
    """

    messages: tuple[Message, ...]
    continuations: list[str]
    settings: Mapping[str, Any] | None
    positions: list[int]


def compile_constructed(construct: Construct, setup: CompileSetup) -> TaskFunctions:
    """The functions of a task that constructs its requests. Likelihoods of several continuations of one context share
    one request.

    Raises:
        PlanError: if its settings or filters are invalid.
    """
    questions, scoring = text_questions(setup), text_scoring(setup)
    task = _Construction(
        construct, questions, setup.provenance.metadata, setup.plan_settings, setup.traits.is_completion
    )
    return text_functions(setup, questions, scoring, partial(_rollout, task), partial(_score, task, scoring))


def _rollout(task: _Construction, sample: Sample) -> RolloutSteps:
    """Yield all requests of the sample together, with their repeats."""
    instances = _instances(task, sample)
    merged = _merge(task, sample, instances)
    requests = [request for one in merged for request in _requests(task, sample, one)]
    responses = yield tuple(requests)
    return _in_order(task, merged, list(responses), len(instances))


def _score(task: _Construction, scoring: TextScoring, sample: Sample, rollout: Rollout) -> Score:
    """Apply each filter to the answers of one instance at a time, and give the scorer one item for each instance."""
    answers = rollout.returned
    if answers is None:
        merged = _merge(task, sample, _instances(task, sample))
        answers = _in_order(task, merged, list(rollout.responses), sum(len(one.positions) for one in merged))

    def results_of(read: Reading) -> list[Any]:
        return [bare(scoring.strip_reasoning(read(scoring.separate(item), sample.doc))) for item in answers]

    # As in lmms-eval, a class's scoring sees what it wrote into the row for an earlier filter; a YAML's does not.
    row = full_row(sample) if scoring.needs_media else sample.doc
    return score_readings(scoring, sample, results_of, repeat(row))


def _instances(task: _Construction, sample: Sample) -> list[Instance]:
    metadata = {**task.metadata, "doc_id": sample.index}
    constructed = task.construct(sample.index, task.questions.prompt.text(sample), metadata)
    instances = list(constructed) if isinstance(constructed, (list, tuple)) else [constructed]
    if not instances:
        raise ScoreError(f"construct_requests of task {task.questions.task!r} made no request for sample {sample.id}.")
    return instances


def _merge(task: _Construction, sample: Sample, instances: Sequence[Instance]) -> list[_Merged]:
    merged: list[_Merged] = []
    last: tuple[Any, Any] | None = None
    for position, instance in enumerate(instances):
        arguments = instance.args
        if instance.request_type in _LIKELIHOODS:
            context, continuation = arguments[:2]
            visual = arguments[2] if len(arguments) > 2 else None
            text = continuation(full_row(sample)) if callable(continuation) else continuation
            # Only neighbours are merged, so that the order alone assigns answers to instances.
            if last is not None and last == (context, visual):
                merged[-1].continuations.append(str(text))
                merged[-1].positions.append(position)
            else:
                merged.append(_Merged(_messages(task, sample, context, visual), [str(text)], None, [position]))
            last = (context, visual)
        else:
            merged.append(_generation(task, sample, arguments, position))
            last = None
    return merged


def _generation(task: _Construction, sample: Sample, arguments: tuple[Any, ...], position: int) -> _Merged:
    """One request for text. The layout distinguishes a chat model's arguments, ``(context, doc_to_messages, settings,
    …)``, from a simple model's, ``(context, settings, doc_to_visual, …)``.
    """
    prompt = task.questions.prompt
    context = arguments[0]
    settings = next((item for item in arguments[1:3] if isinstance(item, Mapping)), {})
    if len(arguments) > 2 and arguments[2] is settings and callable(arguments[1]):
        chat = guest(arguments[1], "doc_to_messages", task.questions.task)(full_row(sample))
        return _Merged(prompt.system + from_chat(chat, _media_key(task, sample)), [], settings, [position])
    visual = arguments[2] if len(arguments) > 2 else None
    return _Merged(_messages(task, sample, context, visual), [], settings, [position])


def _messages(task: _Construction, sample: Sample, context: Any, visual: Any) -> tuple[Message, ...]:
    prompt = task.questions.prompt
    if not callable(visual):
        return prompt.of_parts((), str(context))
    visuals = guest(visual, "doc_to_visual", task.questions.task)(full_row(sample))
    return prompt.of_parts(from_hook(visuals, _media_key(task, sample)), str(context))


def _media_key(task: _Construction, sample: Sample) -> str:
    return f"{task.questions.prompt.fingerprint}:{sample.index}"


def _requests(task: _Construction, sample: Sample, one: _Merged) -> list[Request]:
    provenance = task.questions.provenance
    if one.settings is None:
        return [Request(one.messages, Loglikelihood(tuple(one.continuations)), provenance.origin(sample, {}))]
    settings = text_settings(
        one.settings, {}, task.plan_settings, is_completion=task.is_completion, where="construct_requests"
    )
    origin = provenance.origin(sample, settings.raw)
    first = one.positions[0]
    label = f"request:{first}" if first else ""
    seeds = [provenance.seed(sample, number, label) for number in range(task.questions.repeats)]
    return list(repeats_of(Request(one.messages, settings.parameters, origin), seeds))


def _in_order(task: _Construction, merged: Sequence[_Merged], responses: list[Response], n: int) -> list[list[Any]]:
    """The answers of each instance: texts, or one ``(logprob, is_greedy)``."""
    repeats = task.questions.repeats
    answers: list[list[Any]] = [[] for _ in range(n)]
    for one in merged:
        if one.settings is None:
            logprobs = responses.pop(0).outputs[0].logprobs
            for position, choice in zip(one.positions, logprobs, strict=True):
                answers[position] = [(choice.logprob, choice.is_greedy)]
        else:
            repeated, responses = responses[:repeats], responses[repeats:]
            answers[one.positions[0]] = [output.text or "" for response in repeated for output in response.outputs]
    return answers
