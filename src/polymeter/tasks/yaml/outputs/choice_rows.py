"""The orders of the choices of a task: moved in its rows, or where it shows the choices with letters (``--mcq text``),
moved as they are shown.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from polymeter.core.content import Text
from polymeter.core.errors import PolymeterError, UnfitError
from polymeter.core.rows import RowFunctions
from polymeter.core.settings.choice_orders import ChoiceOrders, ListedChoices, Order
from polymeter.core.task import Sample, Samples
from polymeter.core.text.codec import is_nan
from polymeter.metrics.choice_targets import choice_indices
from polymeter.tasks.choices.rows import NOT_FOUND, RowForms, RowOrders
from polymeter.tasks.yaml.extensions import judge_findings
from polymeter.tasks.yaml.outputs.lettered import shown_choices, shown_places
from polymeter.tasks.yaml.outputs.output_types import CompileSetup
from polymeter.tasks.yaml.prompts.empty_options import only_offered
from polymeter.tasks.yaml.prompts.forms import Form
from polymeter.tasks.yaml.prompts.prompt import PromptBuilder
from polymeter.tasks.yaml.prompts.rows import full_row

_TYPES = ("generate_until", "multiple_choice")
_LOOKED_AT = 200
_MOST_SCORED = 3


def choice_orders(setup: CompileSetup, *, is_lettered: bool) -> ChoiceOrders:
    """Return the functions of a task that ask with choices in another order.

    Args:
        setup: The task.
        is_lettered: Whether it shows its choices with letters.

    Raises:
        UnfitError: if its choices are contexts of one continuation, it asks in several rounds, for images, or by
            requests of its own, or its own scoring does not follow.
    """
    parts, prompt, name = setup.parts, setup.prompt, setup.spec.name
    kind = parts.config.output_type
    if kind not in _TYPES or parts.compile_output is not None:
        what = "by requests of its own" if kind in _TYPES else f"by {kind}"
        raise UnfitError(f"Task {name!r} asks {what}, so that the order of its choices cannot be changed.")
    first = setup.samples[0]
    if type(parts.text(prompt.row(first))) is int:
        raise UnfitError(f"The choices of task {name!r} are contexts of one continuation, and are never listed.")
    choices = parts.choices
    forms = RowForms(
        name,
        lambda sample: _text(prompt, sample),
        lambda sample: parts.target(prompt.row(sample)),
        None if choices is None else lambda sample: choices(prompt.row(sample)),
        lists_choices=is_lettered,
        where=parts.binding.where("doc_to_target"),
    )
    rows = RowOrders(forms, setup.samples[: min(len(setup.samples), _LOOKED_AT)])
    if not is_lettered:
        _check_scoring(setup, rows)
        return ChoiceOrders(rows.listed, rows.reordered, prompt.row_functions)
    assert choices is not None
    shown = _ShownOrders(rows, prompt, choices, parts.target)
    return ChoiceOrders(shown.listed, shown.reordered, shown.row_functions, are_read_as_texts=True)


def _check_scoring(setup: CompileSetup, rows: RowOrders) -> None:
    """Check with a few rows that ``process_results`` scores the right answer alike in another order. It may read the
    key from a cell that is not known to hold it. Code that may ask a judge is not called.

    Raises:
        UnfitError: if it does not.
    """
    is_own = setup.scorer is not None and setup.parts.config.output_type == "generate_until"
    if not is_own or judge_findings(setup.spec, ()):
        return
    n_checked = 0
    for sample in setup.samples[: min(len(setup.samples), _LOOKED_AT)]:
        try:
            n = len(rows.listed(sample).texts)
            pair = (sample, rows.reordered(sample, (*range(1, n), 0))) if n else ()
        except PolymeterError:
            continue  # reported with all rows that are run
        if not pair:
            continue
        scored = [_scores(setup, one) for one in pair]
        if scored[0] != scored[1]:
            raise UnfitError(
                f"process_results of task {setup.spec.name!r} scores the right answer of sample {sample.id} as "
                f"{scored[0]}, and as {scored[1]} in another order: it reads a key that does not move with the choices."
            )
        n_checked += 1
        if n_checked == _MOST_SCORED:
            return


def _scores(setup: CompileSetup, sample: Sample) -> dict[str, float] | None:
    """The numbers that the task's own code gives to the target of a sample as its answer; ``None`` if it fails."""
    assert setup.scorer is not None
    doc = full_row(sample) if setup.parts.config.process_results_use_image else sample.doc
    try:
        target = setup.parts.target(setup.prompt.row(sample))
        found = setup.scorer(copy.deepcopy(doc), [str(target)])
    except PolymeterError:
        return None
    numbers = {str(name): value for name, value in found.items() if isinstance(value, (bool, int, float))}
    return {name: float(value) for name, value in numbers.items() if not is_nan(value)}


def _text(prompt: PromptBuilder, sample: Sample) -> str:
    """The text of a sample's prompt; of messages, that of all of them."""
    if prompt.messages_form is None:
        return str(prompt.text_form(prompt.row(sample)))
    parts = [part for message in prompt.messages(sample) for part in message.parts]
    return "\n".join(part.text for part in parts if isinstance(part, Text))


class _ShownOrders:
    """Orders of a task that shows its choices with letters: as its rows have them, or if no column has them, as they
    are shown.
    """

    def __init__(self, rows: RowOrders, prompt: PromptBuilder, choices: Form, target: Form) -> None:
        self._rows, self._prompt, self._choices, self._target = rows, prompt, choices, target

    def listed(self, sample: Sample) -> ListedChoices:
        """Return the choices of a sample; see ``RowOrders.listed``."""
        found = self._rows.listed(sample)
        if found.fixed != NOT_FOUND or self._are_in_prompt(sample):
            return found
        choices = self._of(sample)
        choice_indices(self._target(self._prompt.row(sample)), choices)
        return ListedChoices(tuple(only_offered(choices, choices)))

    def reordered(self, sample: Sample, order: Order) -> Sample:
        """Return a sample in an order; see ``RowOrders.reordered``."""
        if self._rows.listed(sample).fixed != NOT_FOUND:
            return self._rows.reordered(sample, order)
        return replace(sample, order=order, original=sample)

    def row_functions(self, samples: Samples) -> RowFunctions:
        """Return the functions of rows, with target and choices as they are shown."""
        own = self._prompt.row_functions(samples)

        def target(index: int) -> Any:
            sample = samples[index]
            value = self._target(sample.full_doc())
            if not sample.order:
                return value
            choices = self._choices(sample.full_doc())
            places = shown_places(choice_indices(value, choices), choices, sample.order)
            return places[0] if len(places) == 1 else places

        def choices(index: int) -> Sequence[str]:
            sample = samples[index]
            return shown_choices(self._choices(sample.full_doc()), sample.order)

        return replace(own, target=target, choices=choices)

    def _of(self, sample: Sample) -> Sequence[str]:
        choices: Sequence[str] = self._choices(self._prompt.row(sample))
        return choices

    def _are_in_prompt(self, sample: Sample) -> bool:
        """Return whether the prompt lists the choices besides, which then would not follow."""
        text = _text(self._prompt, sample)
        return all(choice in text for choice in self._of(sample))
