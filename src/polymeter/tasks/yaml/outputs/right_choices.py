"""The right choices of a row of a multiple-choice task, and the check of its rows before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from polymeter.core.errors import DataError, PlanError, PolymeterError, ScoreError
from polymeter.core.format import OpenContext
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.task import Sample
from polymeter.guests import seeded
from polymeter.metrics.choice_targets import COLUMN, choice_indices
from polymeter.reading.choices.option_texts import has_equal
from polymeter.tasks.yaml.pieces import Parts
from polymeter.tasks.yaml.prompts.empty_options import only_offered, refuse_empty
from polymeter.tasks.yaml.prompts.forms import Form
from polymeter.tasks.yaml.prompts.prompt import PromptBuilder
from polymeter.tasks.yaml.prompts.rows import RowSamples
from polymeter.tasks.yaml.prompts.target_cells import TargetCells

_LOOKED_AT = 200
_FEWEST_ROWS = 20
_MOST_ROWS = 2000
"""The most rows that are checked before a run: rendering their templates takes a fraction of a second."""


@dataclass(frozen=True, slots=True)
class RightChoices:
    """The fields that name the right choices of a task.

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
            choices = self.choices(row)
            indices = choice_indices(target, choices)
            refuse_empty(indices, choices)
            return indices
        except ScoreError as error:
            what = f"Sample {sample.id} of task {self.task!r}: {error.what}"
            hint = error.hint.replace(COLUMN, self.column or COLUMN)
            raise ScoreError(what, where=self.where, hint=hint) from None


def right_choices(parts: Parts) -> RightChoices | None:
    """Return the fields that name the right choices of a task; ``None`` if it compares no choices, or scores them by
    its own code.
    """
    config = parts.config
    if config.output_type != "multiple_choice" or parts.choices is None or parts.scorer is not None:
        return None
    written = config.doc_to_target
    column = written if isinstance(written, str) and written in parts.binding.columns else ""
    where = parts.binding.where("doc_to_target")
    return RightChoices(str(config.task), parts.text, parts.target, parts.choices, where, column)


def choice_target_findings(parts: Parts, prompt: PromptBuilder, samples: RowSamples) -> Iterator[LintFinding]:
    """Findings if numbers as targets may mean another choice than the one that they index in every row looked at: the
    choice of that text, or the one before, because they count from 1.

    Args:
        parts: The task.
        prompt: Its prompt, which makes its rows.
        samples: Its samples.
    """
    right = right_choices(parts)
    if right is None or parts.config.class_ is not None or callable(parts.config.doc_to_target):
        return
    n = min(len(samples), _LOOKED_AT)
    targets: list[int] = []
    has_text, is_first, first = 0, 0, ""
    for sample in samples[:n]:
        try:
            row = prompt.row(sample)
            target, choices = right.target(row), [choice.strip() for choice in right.choices(row)]
        except PolymeterError:
            return
        if type(target) is not int or not 0 <= target < len(choices):
            return
        targets.append(target)
        has_text += str(target) in choices and choices[target] != str(target)
        is_first += target == 0
        first = first or choices[target]
    said = "doc_to_target gives numbers, which are indices from 0"
    column, task = right.column or COLUMN, parts.config.task
    if n and has_text == n:
        text = (
            f"{said}, and in each of the {n} rows looked at another choice has the number as its text: the first "
            f"expects {first!r}."
        )
        hint = f"If the text is meant, write doc_to_target: \"'{{{{ {column} }}}}'\"."
        yield LintFinding("choice-numbers", text, task, right.where, hint)
    elif n >= _FEWEST_ROWS and not is_first and len(set(targets)) > 1:
        text = f"{said}, and none of the {n} rows looked at has index 0."
        hint = f'If they count from 1, write doc_to_target: "{{{{ {column}|int - 1 }}}}".'
        yield LintFinding("choice-numbers", text, task, right.where, hint)


def equal_choice_findings(
    parts: Parts, prompt: PromptBuilder, samples: RowSamples, *, is_lettered: bool
) -> Iterator[LintFinding]:
    """A finding if rows have choices that are the same text.

    Args:
        parts: The task.
        prompt: Its prompt, which makes its rows.
        samples: Its samples.
        is_lettered: Whether answers name choices by letter or text, and not by log-probabilities.
    """
    config = parts.config
    if config.output_type != "multiple_choice" or parts.choices is None or config.class_ is not None:
        return
    if callable(config.doc_to_choice):
        return
    looked_at = samples[: min(len(samples), _MOST_ROWS)]
    of_rows = ((sample.id, partial(parts.choices, prompt.row(sample))) for sample in looked_at)
    note = equal_choices(of_rows, is_lettered=is_lettered)
    if note:
        yield LintFinding("equal-choices", f"{note}.", config.task, parts.binding.where("doc_to_choice"))


def equal_choices(rows: Iterable[tuple[str, Callable[[], Sequence[str]]]], *, is_lettered: bool) -> str:
    """Return the finding about rows with choices of the same text; empty if there are none.

    Args:
        rows: The id of each, and what gives its choices.
        is_lettered: Whether answers name choices by letter or text, and not by log-probabilities.
    """
    found: list[str] = []
    n = 0
    with seeded(0):  # a template that draws at random gives the same afterwards
        for n, (name, choices_of) in enumerate(rows, 1):  # noqa: B007
            try:
                choices = choices_of()
            except PolymeterError:
                continue  # a row that cannot be read is a failure of its sample alone
            texts = only_offered(choices, choices)
            if has_equal(texts) if is_lettered else len(set(texts)) < len(texts):
                found.append(name)
    if not found:
        return ""
    which = "which an answer can name by letter only" if is_lettered else "of which the first is always chosen"
    return f"{len(found)} of the {n} rows looked at have equal choices (the first is sample {found[0]}), {which}"


def check_targets(
    parts: Parts, prompt: PromptBuilder, samples: RowSamples, cells: TargetCells, context: OpenContext
) -> None:
    """Check that the target of each row that is measured names a choice, so that no answer is paid for that nothing
    can score. Rows without any target are not sent to the model, and have a finding of their own. Rows of a task with
    functions are not checked: calling them may cost anything.

    Raises:
        PlanError: if one names none; the message shows the row.
    """
    right, config = right_choices(parts), parts.config
    forms = (config.doc_to_text, config.doc_to_target, config.doc_to_choice)
    if right is None or config.class_ is not None or any(callable(form) for form in forms):
        return
    measured = context.measured(len(samples))[:_MOST_ROWS]
    for sample in samples[measured.start : measured.stop]:
        if cells.is_empty(sample):
            continue
        try:
            row = prompt.row(sample)
            right.of(sample, row)
        except ScoreError as error:
            raise PlanError(error.what, where=error.where, hint=error.hint) from error
        except DataError:
            continue  # a row that cannot be read is a failure of its sample alone
