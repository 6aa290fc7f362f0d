"""Rows with their choices in another order.

The choices are moved in the row itself, because prompt, target and the author's code all read it. The answer moves with
them if it names a place. That is only done where prompt and target are seen to follow: the prompt has the same
characters in another order, and the target names the same choice.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polymeter.core.errors import DataError, ScoreError
from polymeter.core.settings.choice_orders import ListedChoices, Order, in_order, new_places
from polymeter.core.task import Sample
from polymeter.metrics.choice_targets import choice_indices
from polymeter.reading.choices import option_labels
from polymeter.tasks.choices.answers import ANSWERS, moved, places_of
from polymeter.tasks.choices.cells import OptionCells, option_cells, shown_text

NOT_SHOWN = "list no choices in their prompt"
NO_CHOICES = "have no choices"
NOT_FOUND = "have choices that are in no column of their row"
NOT_FOLLOWED = "have choices in their prompt that do not follow those in their row"
_NO_FIRST = "have numbers as answers that may count from 0 or from 1"
_AROUND = " \t\r\n().:*"
_FEWEST = 2
_LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class RowForms:
    """The functions of a task that read a row.

    Attributes:
        task: Its name, for messages.
        text: Sample → the text of its prompt, without examples.
        target: Sample → its target.
        choices: Sample → the choices that are compared, as texts or letters; ``None``: it has no such list.
        lists_choices: Whether the format adds the choices to the prompt.
        where: Where the target is written, for messages.
    """

    task: str
    text: Callable[[Sample], str]
    target: Callable[[Sample], Any]
    choices: Callable[[Sample], Sequence[str]] | None
    lists_choices: bool
    where: str


@dataclass(frozen=True, slots=True)
class _Read:
    """The choices of one row.

    Attributes:
        groups: The cells that hold them; several if the row has them more than once.
        right: The places of the right ones.
        answers: The columns whose places move with the choices.
    """

    groups: tuple[OptionCells, ...]
    right: frozenset[int]
    answers: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the choices."""
        return self.groups[0].texts


class RowOrders:
    """The orders of the choices of a task's rows.

    Args:
        forms: Its functions.
        samples: Some samples, by which numbers as answers are understood.
    """

    def __init__(self, forms: RowForms, samples: Sequence[Sample]) -> None:
        self._forms = forms
        self._first = self._first_number(samples[:_LOOKED_AT]) if forms.choices is None else 0

    def listed(self, sample: Sample) -> ListedChoices:
        """Return the choices of a sample.

        Raises:
            ScoreError: if its answer is none of them.
            DataError: if its row cannot be read.
        """
        read = self._read(sample)
        return ListedChoices((), read) if isinstance(read, str) else ListedChoices(read.texts)

    def reordered(self, sample: Sample, order: Order) -> Sample:
        """Return a sample whose row has its choices in an order.

        Raises:
            DataError: if its prompt or target do not follow.
        """
        read = self._read(sample)
        if isinstance(read, str):
            raise DataError(f"Sample {sample.id} of task {self._forms.task!r} cannot be asked in another order.")
        made = _with_cells(sample, _cells(sample.doc, read, order))
        if not self._follows(sample, made, read, order):
            raise DataError(
                f"Sample {sample.id} of task {self._forms.task!r}: its prompt and target do not follow the order "
                f"{'-'.join(in_order(option_labels(len(order)), order))} of its choices.",
                where=self._forms.where,
            )
        return made

    def _read(self, sample: Sample) -> _Read | str:
        """Return the choices of a row, or why they have one order only."""
        forms = self._forms
        listed = None if forms.choices is None else list(forms.choices(sample))
        is_labelled = listed is not None and _are_labels(listed)
        text = forms.text(sample)
        if listed is None or is_labelled:
            groups = [group for group in option_cells(sample.doc) if _are_in(group.texts, text)]
        else:
            wanted = [shown_text(choice) for choice in listed if choice.strip()]
            groups = [group for group in option_cells(sample.doc) if list(group.texts) == wanted]
            if not (forms.lists_choices or _are_in(wanted, text)):
                return NOT_SHOWN
        if not groups:
            return NO_CHOICES if listed is None else NOT_FOUND
        if listed is None:  # other lists of the prompt may come first
            target = forms.target(sample)
            groups = [group for group in groups if places_of(target, group, self._first)] or groups
        groups = [group for group in groups if group.texts == groups[0].texts]
        right = self._right(sample, groups[0], listed, is_labelled=is_labelled)
        if isinstance(right, str):
            return right
        n = len(groups[0].texts)
        test = (*range(1, n), 0)
        for answers in _answer_columns(sample.doc, groups, right):
            read = _Read(tuple(groups), frozenset(right), answers)
            if self._follows(sample, _with_cells(sample, _cells(sample.doc, read, test)), read, test):
                return read
        return NOT_FOLLOWED

    def _right(
        self, sample: Sample, cells: OptionCells, listed: Sequence[str] | None, *, is_labelled: bool
    ) -> set[int] | str:
        """Return the places of the right choices, or why they are unknown.

        Raises:
            ScoreError: if the target is none of the choices.
        """
        target = self._forms.target(sample)
        if listed is None:
            found = places_of(target, cells, self._first)
            if found is None and self._first is None and _are_numbers(target):
                return _NO_FIRST
        else:
            found = self._indexed(sample, target, cells, listed, is_labelled=is_labelled)
        if found is None:
            shown = ", ".join(map(repr, cells.texts))
            raise ScoreError(
                f"Sample {sample.id} of task {self._forms.task!r}: the answer {str(target)[:80]!r} is none of its "
                f"choices {shown[:300]}.",
                where=self._forms.where,
                hint="Write the text of the right choice, or its letter.",
            )
        return found

    def _indexed(
        self, sample: Sample, target: Any, cells: OptionCells, listed: Sequence[str], *, is_labelled: bool
    ) -> set[int] | None:
        try:
            indices = choice_indices(target, listed)
        except ScoreError as error:
            what = f"Sample {sample.id} of task {self._forms.task!r}: {error.what}"
            raise ScoreError(what, where=self._forms.where, hint=error.hint) from None
        positions = [place for place, choice in enumerate(listed) if choice.strip()]
        known = cells.positions if is_labelled else positions
        return {known.index(index) for index in indices} if set(indices) <= set(known) else None

    def _follows(self, sample: Sample, made: Sample, read: _Read, order: Order) -> bool:
        """Return whether prompt, choices and target of a row in an order are those of the row, in that order."""
        forms = self._forms
        before, after = forms.text(sample), forms.text(made)
        if Counter(before) != Counter(after) or (before == after and not forms.lists_choices):
            return False
        groups = [group for group in option_cells(made.doc) if group.columns == read.groups[0].columns]
        wanted = tuple(in_order(read.texts, order))
        cells = next((group for group in groups if group.texts == wanted), None)
        if cells is None:
            return False
        listed = None if forms.choices is None else list(forms.choices(made))
        is_labelled = listed is not None and _are_labels(listed)
        texts = [shown_text(choice) for choice in listed or () if choice.strip()]
        if listed is not None and not is_labelled and tuple(texts) != wanted:
            return False
        try:
            right = self._right(made, cells, listed, is_labelled=is_labelled)
        except ScoreError:
            return False
        places = new_places(order)
        if isinstance(right, str):
            return False
        # Of equal choices, a text names the first.
        return {cells.texts[place] for place in right} == {read.texts[place] for place in read.right} and (
            len(set(cells.texts)) < len(cells.texts) or right == {places[place] for place in read.right}
        )

    def _first_number(self, samples: Sequence[Sample]) -> int | None:
        """Return the number of the first choice, where targets are numbers."""
        for sample in samples:
            target = self._forms.target(sample)
            if not _are_numbers(target):
                return None
            text = self._forms.text(sample)
            group = next((group for group in option_cells(sample.doc) if _are_in(group.texts, text)), None)
            numbers = [int(float(item)) for item in (target if isinstance(target, (list, tuple)) else [target])]
            if 0 in numbers:
                return 0
            if group is not None and group.positions[-1] + 1 in numbers:
                return 1
        return None


def _answer_columns(
    row: Mapping[str, Any], groups: Sequence[OptionCells], right: set[int]
) -> Iterator[tuple[str, ...]]:
    """Yield sets of columns that may say which choice is right by its place, likelier ones first."""
    cells = groups[0]
    unchanged = {place: place for place in range(len(cells.texts))}
    held = {column for group in groups for column in group.columns}
    coded = [
        column
        for column, value in row.items()
        if column not in held and moved(value, cells, right, unchanged) is not None
    ]
    named = tuple([column for column in coded if ANSWERS.search(column)])
    yield from dict.fromkeys([named, (), *((column,) for column in named), *((column,) for column in coded)])


def _cells(row: Mapping[str, Any], read: _Read, order: Order) -> dict[str, Any]:
    """Return the cells of a row that an order changes."""
    cells = {column: cell for group in read.groups for column, cell in group.write(order).items()}
    places = new_places(order)
    return cells | {column: moved(row[column], read.groups[0], read.right, places) for column in read.answers}


def _with_cells(sample: Sample, cells: Mapping[str, Any]) -> Sample:
    """Return a sample with other cells."""
    doc = copy.copy(sample.doc)  # of its own kind, which knows how cells are written
    doc.update(cells)
    made = replace(sample, doc=doc, original=sample)
    if sample.load_full_doc is None:
        return made
    return replace(made, load_full_doc=lambda: {**sample.full_doc(), **cells})


def _are_labels(choices: Sequence[str]) -> bool:
    """Return whether choices are the letters that a prompt shows before them."""
    return [choice.strip(_AROUND).upper() for choice in choices] == list(option_labels(len(choices)))


def _are_in(texts: Sequence[str], prompt: str) -> bool:
    return len(texts) >= _FEWEST and all(text in prompt for text in texts)


def _are_numbers(target: Any) -> bool:
    items = target if isinstance(target, (list, tuple)) else [target]
    return bool(items) and all(
        (isinstance(item, (int, float)) and not isinstance(item, bool))
        or (isinstance(item, str) and item.strip().isdecimal())
        for item in items
    )
