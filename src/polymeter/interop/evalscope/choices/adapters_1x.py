"""Orders of the choices of adapters of 1.x: a sample's ``choices``, ``target`` and messages in another order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from polymeter.core.errors import DataError, ScoreError
from polymeter.core.rows import RowFunctions
from polymeter.core.settings.choice_orders import ChoiceOrders, ListedChoices, Order, in_order, new_places
from polymeter.core.task import Sample as Row
from polymeter.core.task import Samples
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.reading.choices import option_labels
from polymeter.tasks.choices.answers import ANSWERS, moved
from polymeter.tasks.choices.cells import option_cells, shown_text
from polymeter.tasks.choices.prompts import relisted
from polymeter.tasks.choices.rows import NO_CHOICES, NOT_FOLLOWED

_FEWEST = 2


def sample_orders(
    name: str, samples: Sequence[Sample], row_functions: Callable[[Samples], RowFunctions]
) -> ChoiceOrders:
    """Return the functions that ask about samples with their choices in another order.

    Args:
        name: The benchmark.
        samples: Its samples with their prompts, by position.
        row_functions: Makes the functions of rows for wrapped models.
    """

    def listed(row: Row) -> ListedChoices:
        sample = samples[row.index]
        texts = tuple([shown_text(choice) for choice in sample.choices or ()])
        if len(texts) < _FEWEST:
            return ListedChoices((), NO_CHOICES)
        _require_target(sample, row, name)
        is_listed = any(relisted(text, texts, tuple(range(len(texts)))) is not None for text in _texts(sample))
        return ListedChoices(texts) if is_listed else ListedChoices((), NOT_FOLLOWED)

    def reordered(row: Row, order: Order) -> Row:
        sample = in_order_of(samples[row.index], order)
        doc = {**row.doc, "target": sample.target, "choices": sample.choices}
        return replace(row, doc=doc, order=order, original=row)

    return ChoiceOrders(listed, reordered, row_functions)


def in_order_of(sample: Sample, order: Order) -> Sample:
    """A sample with its choices in an order; itself without one.

    Raises:
        DataError: if its prompt does not list them.
    """
    if not order:
        return sample
    made = sample.model_copy(deep=True)
    choices = list(sample.choices or ())
    texts = [shown_text(choice) for choice in choices]
    made.choices = in_order(choices, order)
    places = new_places(order)
    made.target = _moved_target(sample.target, len(choices), places)
    made.metadata.update(_moved_metadata(sample, texts, order))
    for message in reversed(made.input if isinstance(made.input, list) else []):
        if _rewritten(message, texts, order):
            return made
    raise DataError(f"The prompt of sample {sample.id} does not list its choices.")


def _moved_target(target: Any, n: int, places: dict[int, int]) -> Any:
    """Move letters; several in one text keep their alphabetical order. A text of a choice stays."""
    if isinstance(target, list):
        return [_moved_target(item, n, places) for item in target]
    labels = option_labels(n)
    if target in labels:
        return labels[places[labels.index(target)]]
    if _are_letters(target, labels):
        return "".join(sorted(labels[places[labels.index(letter)]] for letter in target))
    return target


def _are_letters(target: str, labels: Sequence[str]) -> bool:
    return len(set(target)) == len(target) > 0 and set(target) <= set(labels)


def _require_target(sample: Sample, row: Row, name: str) -> None:
    """Refuse a sample whose target is none of its choices. One without a target has no score in any order.

    Raises:
        ScoreError: if it is none.
    """
    choices = list(sample.choices or ())
    labels = option_labels(len(choices))
    for target in sample.target if isinstance(sample.target, list) else [sample.target]:
        if target and not (target in labels or target in choices or _are_letters(target, labels)):
            raise ScoreError(
                f"Sample {row.id} of benchmark {name!r}: the target {target[:80]!r} is none of its choices "
                f"{', '.join(choices)!r:.300}.",
                hint="Set Sample(target=…) to the letter of the right choice.",
            )


def _moved_metadata(sample: Sample, texts: Sequence[str], order: Order) -> dict[str, Any]:
    """Move what metadata say about the choices, which an author's scoring may read."""
    groups = [group for group in option_cells(sample.metadata) if list(group.texts) == list(texts)]
    changed = {key: cell for group in groups for key, cell in group.write(order).items()}
    if not groups:
        groups = list(option_cells({"choices": list(sample.choices or ())}))
    labels = option_labels(len(texts))
    targets = sample.target if isinstance(sample.target, list) else [sample.target]
    right = {labels.index(target) for target in targets if target in labels}
    for key, value in sample.metadata.items():
        if right and ANSWERS.search(str(key)):
            cell = moved(value, groups[0], right, new_places(order))
            changed |= {} if cell is None else {key: cell}
    return changed


def _texts(sample: Sample) -> list[str]:
    found: list[str] = []
    for message in sample.input if isinstance(sample.input, list) else ():
        content = message.content
        found += [content] if isinstance(content, str) else [part.text for part in content if part.type == "text"]
    return found


def _rewritten(message: Any, texts: Sequence[str], order: Order) -> bool:
    """Write the list of choices of a message in an order; returns whether it has one."""
    if isinstance(message.content, str):
        text = relisted(message.content, texts, order)
        if text is not None:
            message.content = text
        return text is not None
    for part in reversed(message.content):
        text = relisted(part.text, texts, order) if part.type == "text" else None
        if text is not None:
            part.text = text
            return True
    return False
