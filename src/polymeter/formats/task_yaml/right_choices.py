"""The right choices of a row of a multiple-choice task, and the check of its rows before anything is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polymeter.core.errors import DataError, PlanError, ScoreError
from polymeter.core.format import OpenContext
from polymeter.core.task import Sample
from polymeter.formats.task_yaml.forms import Form
from polymeter.formats.task_yaml.parts import Parts
from polymeter.formats.task_yaml.prompt import Prompt
from polymeter.formats.task_yaml.rows import RowSamples
from polymeter.metrics.choice_targets import COLUMN, choice_indices

_MOST_ROWS = 2000
"""How many rows are checked before a run at most: rendering their templates takes a fraction of a second."""


@dataclass(frozen=True, slots=True)
class RightChoices:
    """How a task says which of its choices are right.

    Attributes:
        task: Its name, for messages.
        text: ``doc_to_text``; if it returns an index, the choices are contexts and this is the right one.
        target: ``doc_to_target``.
        choices: ``doc_to_choice``.
        where: ``file:line`` of ``doc_to_target``.
        column: The column that ``doc_to_target`` names; else empty.
    """

    task: str
    text: Form
    target: Form
    choices: Form
    where: str
    column: str

    def of(self, sample: Sample, row: Any) -> list[int]:
        """The indices of the right choices.

        Raises:
            ScoreError: if the row's target names no choice; the message shows the row.
        """
        text = self.text(row)
        target = text if type(text) is int else self.target(row)
        try:
            return choice_indices(target, self.choices(row))
        except ScoreError as error:
            what = f"Sample {sample.id} of task {self.task!r} (row {sample.index + 1}): {error.what}"
            hint = error.hint.replace(COLUMN, self.column or COLUMN)
            raise ScoreError(what, where=self.where, hint=hint) from None


def right_choices(parts: Parts) -> RightChoices | None:
    """How a task says which choices are right; ``None`` if it compares no choices, or scores them by its own code."""
    config = parts.config
    if config.output_type != "multiple_choice" or parts.choices is None or parts.scorer is not None:
        return None
    written = config.doc_to_target
    column = written if isinstance(written, str) and written in parts.binding.columns else ""
    where = parts.binding.where("doc_to_target")
    return RightChoices(str(config.task), parts.text, parts.target, parts.choices, where, column)


def check_targets(parts: Parts, prompt: Prompt, samples: RowSamples, context: OpenContext) -> None:
    """Check that the target of each row that is measured names a choice, so that no answer is paid for that nothing
    can score. Rows of a task with functions are not checked: calling them may cost anything.

    Raises:
        PlanError: if one names none; the message shows the row.
    """
    right, config = right_choices(parts), parts.config
    forms = (config.doc_to_text, config.doc_to_target, config.doc_to_choice)
    if right is None or config.class_ is not None or any(callable(form) for form in forms):
        return
    measured = context.measured(len(samples))[:_MOST_ROWS]
    for sample in samples[measured.start : measured.stop]:
        try:
            row = prompt.row(sample)
            right.of(sample, row)
        except ScoreError as error:
            raise PlanError(error.what, where=error.where, hint=error.hint) from error
        except DataError:
            continue  # a row that cannot be read is a failure of its sample alone
