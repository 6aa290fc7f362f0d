"""The prompt of a sample: messages for the model at hand, put together from the task's forms."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.core.parts import Modality, Part, Text
from polymeter.core.request import Message, Origin, OwnPrompt, Response
from polymeter.core.task import RowFunctions, Sample, Samples
from polymeter.formats.task_yaml.forms import Form
from polymeter.formats.task_yaml.visuals import from_chat, from_hook, keyed, modalities_of


@dataclass(frozen=True, slots=True)
class Prompt:
    """Builds the messages of a sample.

    Attributes:
        fingerprint: Identity of the rows and of the task's code; with the row's number, that of media that hooks make.
        text_form: ``doc_to_text``.
        choice_form: ``doc_to_choice``.
        description: Text before everything.
        column_visuals: Row number → parts, when ``doc_to_visual`` is a column.
        visual_form: ``doc_to_visual`` as a function of the full row, when it is one.
        messages_form: ``doc_to_messages``, when the model is to get it.
        target_form: ``doc_to_target``.
        next_round: ``doc_to_text`` with the arguments of a later round.
        next_messages: ``doc_to_messages``, whether or not the model is to get it.
        system: The system message, if there is one.
        sees_media: Whether text hooks get the row with media.
        fewshot: Examples before a sample's question.
        has_own: Whether the model may have prompts of its own, in place of all of this.
    """

    fingerprint: str
    text_form: Form
    choice_form: Form | None
    description: Form | None
    column_visuals: Callable[[int], tuple[Part, ...]] | None
    visual_form: Form | None
    messages_form: Callable[..., Any] | None
    target_form: Form
    next_round: Callable[..., Any] | None
    next_messages: Callable[..., Any] | None
    system: tuple[Message, ...] = ()
    sees_media: bool = False
    fewshot: Callable[[Sample], str] | None = None
    has_own: bool = False

    def row(self, sample: Sample) -> dict[str, Any]:
        """The row as text hooks see it."""
        return full_row(sample) if self.sees_media else sample.doc

    def asked(self, sample: Sample, origin: Origin) -> Generator[OwnPrompt, Response, tuple[Message, ...]]:
        """The conversation that is put to the model; one that may have its own is asked for it first."""
        own = (yield OwnPrompt(origin)).messages if self.has_own else None
        if own is None:
            return self.messages(sample)
        return self.system + keyed(own, f"{self.fingerprint}:{sample.index}")

    def messages(self, sample: Sample) -> tuple[Message, ...]:
        """The benchmark's own conversation."""
        prefix = f"{self.fingerprint}:{sample.index}"
        if self.messages_form is not None:
            chat = from_chat(self.messages_form(full_row(sample)), prefix)
            return self.system + chat
        return self.of_text(sample, self.text(sample))

    def of_text(self, sample: Sample, text: str) -> tuple[Message, ...]:
        """The conversation with a given text: one user turn, all visuals, then the text."""
        return self.of_parts(self.visuals(sample), text)

    def of_parts(self, visuals: tuple[Part, ...], text: str) -> tuple[Message, ...]:
        """The conversation of given media and a text; only a prompt with media may do without a text."""
        if not visuals:
            return (*self.system, Message("user", (Text(text),)))
        parts = (*visuals, Text(text)) if text else visuals
        return (*self.system, Message("user", parts))

    def text(self, sample: Sample) -> str:
        """Description, examples and question."""
        row = self.row(sample)
        found = self.text_form(row)
        if type(found) is not str:
            found = self._as_text(found, row)
        if self.description is None and self.fewshot is None:
            return found
        return self.before(sample) + found

    def before(self, sample: Sample) -> str:
        """What stands before the question: description and examples."""
        description = str(self.description(self.row(sample))) if self.description else ""
        return description + self.fewshot(sample) if self.fewshot else description

    def visuals(self, sample: Sample) -> tuple[Part, ...]:
        """Media before the text."""
        if self.column_visuals is not None:
            return self.column_visuals(sample.index)
        if self.visual_form is None:
            return ()
        return from_hook(self.visual_form(full_row(sample)), f"{self.fingerprint}:{sample.index}")

    def row_functions(self, samples: Samples) -> RowFunctions:
        """What wrapped models may ask about the task's rows."""
        target, choices = self.target_form, self.choice_form
        return RowFunctions(
            full_doc=lambda index: samples[index].full_doc(),
            target=lambda index: target(samples[index].full_doc()),
            choices=None if choices is None else lambda index: choices(samples[index].full_doc()),
            next_round=self.next_round,
            next_messages=self.next_messages,
            prompt_row=lambda index: full_row(samples[index]),
        )

    def modalities(self, sample: Sample) -> frozenset[Modality]:
        """What a model must take for this sample."""
        if self.messages_form is not None:
            return modalities_of(part for message in self.messages(sample) for part in message.parts)
        return modalities_of(self.visuals(sample))

    def _as_text(self, found: Any, row: Mapping[str, Any]) -> str:
        if isinstance(found, int) and not isinstance(found, bool) and self.choice_form is not None:
            return str(self.choice_form(row)[found])
        return "" if found is None else str(found)


def full_row(sample: Sample) -> dict[str, Any]:
    """The row with media, and with what hooks have put into it so far."""
    row = sample.full_doc()
    if row is not sample.doc:
        row.update(sample.doc)
    return row
