"""The orders of the choices of a table's rows: the columns ``A``, ``B``, … and ``answer`` in another order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polymeter.core.content import Text
from polymeter.core.errors import UnfitError
from polymeter.core.rows import RowFunctions
from polymeter.core.settings.choice_orders import ChoiceOrders
from polymeter.core.task import Sample, Samples
from polymeter.tasks.choices.rows import RowForms, RowOrders
from polymeter.tasks.table.classes.multiple_choice import circular
from polymeter.tasks.table.options import TableRunOptions
from polymeter.tasks.table.prompts import Prompting, messages_about
from polymeter.tasks.table.rows import answer_of

LineOf = Callable[[Sample], Any]
"""From a sample to its row, as the methods of its dataset get it."""


def ordered_line(line: Any, sample: Sample) -> Any:
    """A row with the cells that the order of its choices has changed.

    Args:
        line: The row as the table has it: a mapping, or a ``pandas.Series`` of its own.
        sample: The sample in its order.
    """
    if sample.original is None:
        return line
    for column, cell in sample.doc.items():
        if cell != sample.original.doc.get(column):
            line[column] = cell
    return line


def table_orders(
    prompting: Prompting,
    samples: Samples,
    options: TableRunOptions,
    line_of: LineOf,
    row_functions: Callable[[Samples], RowFunctions],
    *,
    where: str,
) -> ChoiceOrders:
    """Return the functions that ask about a table's rows with their choices in another order.

    Args:
        prompting: The dataset, and how its rows become requests.
        samples: Its samples.
        options: The run's options for tables.
        line_of: Gives the row of a sample.
        row_functions: Makes the functions of rows for wrapped models.
        where: The table, for messages.

    Raises:
        UnfitError: if its rows are rotations already, its class is scored by a file or asked by positions, or it has
            conversations or images as answers.
    """
    dataset = prompting.dataset
    why = _why_not(prompting, options)
    if why:
        raise UnfitError(f"Benchmark {dataset.name!r} {why}, so that the order of its choices cannot be changed.")

    def text(sample: Sample) -> str:
        parts = [part for message in messages_about(prompting, line_of(sample)) for part in message.parts]
        return "\n".join(part.text for part in parts if isinstance(part, Text))

    def target(sample: Sample) -> Any:
        return answer_of(sample.doc)

    rows = RowOrders(RowForms(dataset.name, text, target, None, lists_choices=False, where=where), samples[:200])
    return ChoiceOrders(rows.listed, rows.reordered, row_functions)


def _why_not(prompting: Prompting, options: TableRunOptions) -> str:
    dataset = prompting.dataset
    if options.circular or circular.has_rotations(dataset.table.data):
        return "asks the rotations of its questions already (tsv.circular, or rows of its table)"
    if dataset.is_scored_by_file:
        return "is scored by its class from one file with all answers and the choices of its rows"
    if options.predictions_as or options.keep_predictions:
        return "writes a file of predictions beside the choices of its rows"
    if dataset.asks_by_position:
        return "makes its prompts of positions in its own table"
    if dataset.is_conversation or prompting.parameters.kind != "generate":
        return "asks for images or in conversations"
    return ""
