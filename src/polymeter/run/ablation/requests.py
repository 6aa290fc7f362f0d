"""Requests without a part of their prompts.

A rollout makes its requests as always, also those of later rounds, and gets the answers to what was sent instead.
Requests that shared their messages share the changed ones, so that repeats still reach a model together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from polymeter.core.content import Media, Part, Text
from polymeter.core.errors import DataError
from polymeter.core.request import Loglikelihood, Message, Origin, OwnPrompt, Request
from polymeter.core.settings.ablations import Ablation, shown_media
from polymeter.core.task import RolloutSteps, Sample, Task
from polymeter.run.ablation.blank_media import BlankMedia
from polymeter.run.ablation.partners import SampleCycle, partner_media
from polymeter.run.ablation.questions import no_question, without_question

_PROMPT = "prompt"
"""The key under which tables keep the text of a prompt in the metadata of its origin, for wrapped models."""
Change = Callable[[Request], tuple[Message, ...]]


@dataclass(frozen=True, slots=True)
class Ablating:
    """The ablation of a task.

    Attributes:
        task: The task without it.
        ablation: The ablation.
        cycle: The samples of the task in the order in which they lend their media.
        blank: Makes blank media.
    """

    task: Task
    ablation: Ablation
    cycle: SampleCycle
    blank: BlankMedia = field(default_factory=BlankMedia)

    def rollout(self, sample: Sample) -> RolloutSteps:
        """Lead the rollout of a sample, with changed requests; returns what it returns."""
        steps = self.task.rollout(sample)
        change: Change | None = None
        sent: Any = None
        try:
            while True:
                try:
                    asked = steps.send(sent)
                except StopIteration as stop:
                    return stop.value
                if isinstance(asked, OwnPrompt):
                    sent = yield asked
                    continue
                listed = asked if isinstance(asked, tuple) else (asked,)
                together = tuple([one for one in listed if isinstance(one, Request)])  # a task that acts is refused
                if change is None:
                    change = yield from self._change(sample, together)
                changed = _changed(together, change)
                sent = yield changed[0] if isinstance(asked, Request) else changed
        finally:
            steps.close()

    def _change(self, sample: Sample, first: Sequence[Request]) -> RolloutSteps:
        """Return the function that changes the messages of a sample's requests, by its first ones."""
        way, modalities = self.ablation.way, self.ablation.modalities
        if way == "unasked":
            return _WithoutQuestion(self.task, sample)
        if way == "removed":
            return _replacing(lambda medium, number: None, self.ablation)
        if way == "blank":
            return _replacing(lambda medium, number: self.blank.of(medium), self.ablation)
        own = [one for one in (first[0].media() if first else ()) if one.modality in modalities]
        if not own:
            return _replacing(lambda medium, number: medium, self.ablation)
        lent = yield from partner_media(self.task, self.cycle, sample, own, modalities)
        return _replacing(lambda medium, number: _lent(lent, medium, number), self.ablation)


@dataclass(slots=True)
class _WithoutQuestion:
    """Leaves the question out of the requests of a sample. Later rounds may not repeat it."""

    task: Task
    sample: Sample
    _is_first: bool = True

    def __call__(self, request: Request) -> tuple[Message, ...]:
        messages = without_question(self.task, self.sample, request)
        if messages is None and self._is_first:
            raise no_question(self.sample)
        self._is_first = False
        return request.messages if messages is None else messages


def _replacing(replaced: Callable[[Media, int], Media | None], ablation: Ablation) -> Change:
    """Return a function from a request to its messages with other media.

    Args:
        replaced: A medium and its number among those of its kind in the request → what stands for it; ``None``:
            nothing.
        ablation: The ablation.
    """

    def change(request: Request) -> tuple[Message, ...]:
        counts: dict[str, int] = {}
        messages = []
        for message in request.messages:
            parts: list[Part] = []
            for part in message.parts:
                if isinstance(part, Text) or part.modality not in ablation.modalities:
                    parts.append(part)
                    continue
                number = counts[part.modality] = counts.get(part.modality, -1) + 1
                if (other := replaced(part, number)) is not None:
                    parts.append(other)
            if parts == list(message.parts):
                messages.append(message)
            elif parts:
                messages.append(replace(message, parts=tuple(parts), written=_without_content(message.written)))
        if not messages or (not any(one.role == "user" for one in messages) and not _has_choices(request)):
            raise DataError(f"Without {shown_media(ablation.modalities)} the prompt is empty.")
        return tuple(messages)

    return change


def _has_choices(request: Request) -> bool:
    return isinstance(request.parameters, Loglikelihood)


def _without_content(written: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return a message as its author wrote it, without the content, which is another now."""
    return None if written is None else {key: value for key, value in written.items() if key != "content"}


def _lent(lent: Sequence[Media], medium: Media, number: int) -> Media:
    """Return the medium of another sample that stands for one; of too few, the first ones come again."""
    alike = [one for one in lent if one.modality == medium.modality]
    return alike[number % len(alike)] if alike else medium


def _changed(together: Sequence[Request], change: Change) -> tuple[Request, ...]:
    made: dict[int, tuple[Message, ...]] = {}
    for request in together:
        if id(request.messages) not in made:
            made[id(request.messages)] = change(request)
    return tuple(
        Request(made[id(one.messages)], one.parameters, _origin(one, made[id(one.messages)])) for one in together
    )


def _origin(request: Request, messages: tuple[Message, ...]) -> Origin | None:
    """Return the origin of a changed request: the prompt in the benchmark's own form is another one."""
    origin = request.origin
    if origin is None or messages == request.messages:
        return origin
    metadata = origin.metadata
    if _PROMPT in metadata:
        texts = (part.text for one in messages if one.role == "user" for part in one.parts if isinstance(part, Text))
        metadata = {**metadata, _PROMPT: "\n".join(texts)}
    return replace(origin, prompt=None, metadata=metadata)
