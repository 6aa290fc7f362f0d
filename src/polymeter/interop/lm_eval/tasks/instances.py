"""The instances of a row: what lm-eval asks about it, by the task's output type."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.errors import DataError
from polymeter.core.task import Sample
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_eval.tasks.config import GENERATE, LIKELIHOOD, MULTIPLE_CHOICE, ROLLING
from polymeter.interop.lm_eval.tasks.contexts.prompts import Contexts
from polymeter.interop.lm_eval.tasks.fields import FieldFunctions
from polymeter.tasks.yaml.prompts.empty_options import only_offered
from polymeter.tasks.yaml.prompts.rows import full_row


@dataclass(frozen=True, slots=True)
class InstanceMaker:
    """Makes the instances of a task's rows.

    Attributes:
        task: Its name.
        output_type: Its output type.
        fields: Its fields.
        contexts: Makes the contexts.
        delimiter: What stands before a continuation.
        generation_kwargs: The settings of generated answers.
        repeats: How often everything is asked.
        has_bare_choices: Whether choices are measured without their context as well.
        sees_media: Whether fields get the row with its media.
        has_code: Whether a field is a function, which may change the row that it gets.
    """

    task: str
    output_type: str
    fields: FieldFunctions
    contexts: Contexts
    delimiter: str
    generation_kwargs: Mapping[str, Any]
    repeats: int
    has_bare_choices: bool
    sees_media: bool
    has_code: bool = False

    def row(self, sample: Sample) -> dict[str, Any]:
        """The row as scoring sees it, whatever was made of it for the prompt."""
        return full_row(sample) if self.sees_media else sample.doc

    def asked_row(self, sample: Sample) -> dict[str, Any]:
        """The row as the task's fields see it: scoring reads it anew, as in lm-eval."""
        doc = copy.deepcopy(sample.doc) if self.has_code else sample.doc
        return {**sample.full_doc(), **doc} if self.sees_media else doc

    def of(self, sample: Sample) -> list[Instance]:
        """The instances of a row.

        Raises:
            DataError: if a field of the row has no text where one is needed.
        """
        doc = self.asked_row(sample)
        context = self.contexts.of(doc, sample.index)
        listed: Sequence[tuple[Any, ...]]
        kind = self.output_type
        if kind == MULTIPLE_CHOICE:
            kind, listed = LIKELIHOOD, self._choices(doc, context)
        elif kind == GENERATE:
            listed = [(context, self.generation_kwargs)]
        elif kind == LIKELIHOOD:
            listed = [(context, self._continuation(doc))]
        else:
            listed = [(self._continuation(doc),)]
        media = self._media(doc)
        metadata = (self.task, sample.index, self.repeats)
        return [
            Instance(kind, doc, (*arguments, media) if media else arguments, number, metadata)
            for number, arguments in enumerate(listed)
        ]

    def _choices(self, doc: Any, context: str | list[str]) -> list[tuple[str, str]]:
        every, delimiter = self.fields.choices(doc), self.delimiter
        choices = only_offered(every, every)
        if isinstance(context, list):
            target = f"{delimiter}{self.fields.target(doc)}"
            listed = [(each, target) for each in context]
        else:
            listed = [(context, f"{delimiter}{choice}") for choice in choices]
        if self.has_bare_choices:
            listed += [("", f"{delimiter}{choice}") for choice in choices]
        return listed

    def _continuation(self, doc: Any) -> str:
        target = self.fields.target(doc)
        if not isinstance(target, str):
            raise DataError(
                f"doc_to_target of task {self.task!r} gives {target!r:.60}, not text.",
                hint=f"{ROLLING if self.output_type == ROLLING else LIKELIHOOD} tasks need text.",
            )
        return target

    def _media(self, doc: Any) -> dict[str, Any]:
        media: dict[str, Any] = {}
        if self.fields.images is not None:
            media["visual"] = self.fields.images(doc)
        if self.fields.audio is not None:
            media["audio"] = self.fields.audio(doc)
        return media


def choice_delimiter(delimiter: str, gen_prefix: str | None, *, is_chat: bool) -> str:
    """Return the text before a choice: nothing after a chat, unless its answer begins with a prefix that is written
    without white space at its end.
    """
    if not is_chat:
        return delimiter
    return delimiter if gen_prefix and not gen_prefix[-1].isspace() else ""
