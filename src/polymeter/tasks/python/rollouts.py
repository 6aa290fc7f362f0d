"""Asking: the requests of a sample, once or for each repeat, and the conversation that a generator leads.

A generator that yields a prompt continues the conversation: the model sees the earlier turns. One that yields messages
replaces the whole conversation. Requests for images have no conversation: each prompt stands alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import partial
from types import GeneratorType
from typing import Any

from polymeter.core.content import Text
from polymeter.core.errors import ScoreError
from polymeter.core.request import Generate, GenerateImage, Message, Request, Response
from polymeter.core.settings.repeats import repeats_of
from polymeter.core.task import Rollout, RolloutSteps, Sample
from polymeter.tasks.python.fields import BoundFields
from polymeter.tasks.python.prompts import is_conversation
from polymeter.tasks.python.rows import row_of
from polymeter.tasks.yaml.outputs.output_types import Provenance
from polymeter.tasks.yaml.outputs.parameters import ImageSettings, TextSettings
from polymeter.tasks.yaml.outputs.rounds import one_after_another, step_label

_ENDED = object()
OneAnswer = Generator[Request, Response, Any]


@dataclass(frozen=True, slots=True)
class PromptRequests:
    """Everything that makes the requests of a task.

    Attributes:
        fields: Its fields.
        provenance: The origin and the seeds of its requests.
        settings: Its generation settings.
        repeats: How many times each prompt is asked.
    """

    fields: BoundFields
    provenance: Provenance
    settings: TextSettings | ImageSettings
    repeats: int

    def request(self, messages: tuple[Message, ...], sample: Sample, repeat: int, step: int) -> Request:
        """Make one request of a conversation."""
        seed = self.provenance.seed(sample, repeat, step_label(step))
        parameters: Generate | GenerateImage = replace(self.settings.parameters, seed=seed)
        return Request(messages, parameters, self.provenance.origin(sample, self.settings.raw))


def rollout_of(asking: PromptRequests, *, has_rounds: bool) -> Callable[[Sample], RolloutSteps]:
    """Return the rollout of a task.

    Args:
        asking: How it asks.
        has_rounds: Whether its prompt function is a generator.
    """
    return one_after_another(partial(_rounds, asking), asking.repeats) if has_rounds else partial(_ask, asking)


def answers_of(rollout: Rollout, *, has_rounds: bool) -> list[Any]:
    """The answers to a sample, one for each repeat: texts without outer white space, images, or what a generator
    returned.
    """
    if has_rounds:
        return [_bare(answer) for answer in rollout.returned or ()]
    return [
        answer
        for response in rollout.responses
        for output in response.outputs
        for answer in (output.images or ((output.text or "").strip(),))
    ]


def first_prompt(fields: BoundFields, sample: Sample) -> Any:
    """Return the first prompt for a sample, as its author's function returns or yields it."""
    prompt = fields.prompt(row_of(sample))
    if not isinstance(prompt, GeneratorType):
        return prompt
    try:
        return fields.call(lambda row: next(prompt, None), {})
    finally:
        prompt.close()


def _ask(asking: PromptRequests, sample: Sample) -> RolloutSteps:
    """Ask once, or once for each repeat, all at once."""
    fields, provenance = asking.fields, asking.provenance
    messages = fields.reader.messages(fields.prompt(row_of(sample)))
    n = asking.settings.n if isinstance(asking.settings, ImageSettings) else 1
    seeds = [provenance.seed(sample, number) for number in range(n * asking.repeats)]
    origin = provenance.origin(sample, asking.settings.raw)
    requests = repeats_of(Request(messages, asking.settings.parameters, origin), seeds)
    yield requests[0] if len(requests) == 1 else requests


def _rounds(asking: PromptRequests, sample: Sample, repeat: int) -> OneAnswer:
    """Lead one conversation with the author's generator; returns its return value, else the last answer."""
    fields, task = asking.fields, asking.fields.task
    generator = fields.prompt(row_of(sample))
    is_image = isinstance(asking.settings, ImageSettings)
    said: tuple[Message, ...] = ()
    sent: Any = None
    for number in range(task.max_rounds + 1):
        prompt, returned = _advance(fields, generator, sent)
        if prompt is _ENDED:
            if number == 0:
                raise ScoreError(f"The prompt of task {task.name!r} asked nothing for sample {sample.id}.")
            return sent if returned is None else returned
        if number == task.max_rounds:
            break
        if said and not is_image and not is_conversation(prompt):
            said = (*said, fields.reader.turn(prompt))
        else:
            said = fields.reader.messages(prompt)
        response = yield asking.request(said, sample, repeat, number)
        sent, answer = _answer(response)
        said = (*said, answer)
    generator.close()
    raise ScoreError(
        f"Sample {sample.id} of task {task.name!r} was not done after {task.max_rounds} rounds.",
        where=task.where,
        hint="Let the generator return, or allow more rounds with max_rounds=N.",
    )


def _advance(fields: BoundFields, generator: Any, sent: Any) -> tuple[Any, Any]:
    """Resume a generator; returns what it yields, or that it ended with its return value."""

    def step(row: Any) -> tuple[Any, Any]:
        try:
            return generator.send(sent), None
        except StopIteration as stop:
            return _ENDED, stop.value

    return fields.call(step, {})  # type: ignore[no-any-return]


def _answer(response: Response) -> tuple[Any, Message]:
    """Return an answer as the generator gets it, and as a turn of the conversation."""
    output = response.outputs[0]
    if output.images:
        return output.images[0], Message("assistant", ())
    text = output.text or ""
    return text, Message("assistant", (Text(text),))


def _bare(answer: Any) -> Any:
    return answer.strip() if isinstance(answer, str) else answer
