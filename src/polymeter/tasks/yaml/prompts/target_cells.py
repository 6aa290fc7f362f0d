"""The cells that a target is read from where a task's own metrics compare with it: as they are written, and never
missing.

A column of numbers in a CSV is read as numbers, which hooks may count on; an answer is compared with the text in the
file. A cell without a value is not a target at all, so its sample fails: compared with nothing, any answer is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, PlanError, ScoreError, count, enumerated
from polymeter.core.format import OpenContext
from polymeter.core.names.parity import Parity
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.task import RolloutSteps, Sample
from polymeter.core.text.written_numbers import WrittenNumber, plain_number
from polymeter.data import ListRows, Opening, Rows, know_written, written_cell
from polymeter.reading.lists import PrintedList
from polymeter.tasks.yaml.config import YamlFields
from polymeter.tasks.yaml.outputs.image_targets import IMAGES
from polymeter.tasks.yaml.prompts.forms import Form
from polymeter.tasks.yaml.prompts.templates import inserted_columns

if TYPE_CHECKING:
    import datasets

    from polymeter.tasks.yaml.pieces import Parts

_WRITE_ANSWER = "Write the answer into the data, or leave the row out."
_AS_TEXT = "Write the answers as texts: in a .jsonl with quotes around them, or in a TSV table."


@dataclass(frozen=True, slots=True)
class TargetCells:
    """The cells that the target of a row is read from.

    Attributes:
        task: Name of the task.
        columns: Their columns; empty: the target is read from none, or may be missing.
        is_code: Whether a function gives the target, which must not be ``None``.
        where: ``file:line`` of ``doc_to_target``.
    """

    task: str
    columns: tuple[str, ...]
    is_code: bool
    where: str

    def asking_if_present(self, rollout: Callable[[Sample], RolloutSteps]) -> Callable[[Sample], RolloutSteps]:
        """A rollout that sends nothing about a sample without a target: no answer to it can be scored. A function's
        target is looked at when answers are scored, since calling it earlier could change what it draws.
        """
        if not self.columns:
            return rollout

        def asking(sample: Sample) -> RolloutSteps:
            self._refuse_empty(sample)
            return (yield from rollout(sample))

        return asking

    def refuse_missing(self, sample: Sample, target: Form) -> None:
        """Refuse to score a sample that has no target.

        Raises:
            DataError: if its cell is empty.
            ScoreError: if code returns none.
        """
        self._refuse_empty(sample)
        if self.is_code and target(sample.doc) is None:
            what = f"Sample {sample.id} has no target: doc_to_target returned None."
            raise ScoreError(what, where=self.where)

    def is_empty(self, sample: Sample) -> bool:
        """Return whether a sample has no target."""
        return any(_is_missing(written_cell(sample.doc, column)) for column in self.columns)

    def _refuse_empty(self, sample: Sample) -> None:
        for column in self.columns:
            if _is_missing(written_cell(sample.doc, column)):
                what = f"Sample {sample.id} has no target: column {column!r} is empty there."
                raise DataError(what, where=self.where, hint=_WRITE_ANSWER)


def target_columns(config: YamlFields, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that ``doc_to_target`` names, or that its template inserts unchanged."""
    written = config.doc_to_target
    if not isinstance(written, str) or config.class_ is not None or config.output_type == IMAGES:
        return ()
    if written in columns:
        return (written,)
    return tuple(name for name in inserted_columns(written) if name in columns)


def know_targets(
    rows: Rows, dataset: datasets.Dataset | None, config: YamlFields, opening: Opening, parity: Parity
) -> None:
    """Let rows that code gets know the cells of their target as they are written, where metrics of Polymeter compare
    with them.

    Raises:
        DataError: if the text of a CSV is not found; the message shows a row.
    """
    if config.process_results is not None or config.process_docs is not None or parity.on("csv-targets"):
        return
    columns = [
        name for name in target_columns(config, rows.columns) if dataset is None or not _is_index(dataset, name, config)
    ]
    if not columns:
        return
    try:
        know_written(rows, dataset, opening, columns=columns, in_place=False)
    except DataError as error:
        if dataset is None or all(_is_whole(dataset, name) for name in columns):  # but for leading zeros as written
            return
        value = dataset.with_format("arrow")[:1].column(columns[0])[0].as_py()
        raise DataError(
            f"The targets in column {columns[0]!r} were read from CSV as numbers (row 1: {value!r}), and how they are "
            f"written is not found: {error.what}",
            hint=_AS_TEXT,
        ) from error


def written_form(form: Form, config: YamlFields, rows: Rows) -> Form:
    """``doc_to_target`` over the cells as they are written: text, or the plain number of a choice."""
    columns = [name for name in target_columns(config, rows.columns) if name in rows.written]
    has_choices = config.doc_to_choice is not None
    if callable(config.doc_to_target) or not (rows.written or rows.has_blanks or isinstance(rows, ListRows)):
        return form

    def target(doc: Mapping[str, Any]) -> Any:
        texts = {name: written_cell(doc, name) for name in columns}
        value = form({**doc, **texts})
        is_number = has_choices and columns and not isinstance(doc[columns[0]], str)
        # The number of a choice, in a column that an empty cell elsewhere has made floats.
        if is_number and isinstance(value, str) and value.isdigit():
            return int(value)
        return compared(value, has_choices=has_choices, is_text=rows.has_blanks)

    return target


def compared(value: Any, *, has_choices: bool, is_text: bool = False) -> Any:
    """A target as it is compared: numbers that keep a text are that text, unless they may be indices of choices.

    Args:
        value: The target.
        has_choices: Whether numbers may be indices.
        is_text: Whether all numbers are texts, as in a CSV.
    """
    if isinstance(value, PrintedList):  # its text is what was written
        return value
    if isinstance(value, list):
        return [compared(item, has_choices=has_choices, is_text=is_text) for item in value]
    if isinstance(value, WrittenNumber):
        return plain_number(value) if has_choices else str(value)
    return str(value) if is_text and not has_choices and isinstance(value, (bool, int, float)) else value


def target_cells(parts: Parts, parity: Parity, *, is_compared: bool) -> TargetCells:
    """The cells that the target of a sample must have.

    Args:
        parts: The task.
        parity: The system to be matched.
        is_compared: Whether its scores rest on the target.
    """
    config, where = parts.config, parts.binding.where("doc_to_target")
    if not is_compared or parts.scorer is not None or config.class_ is not None or parity.on("missing-targets"):
        return TargetCells(config.task, (), False, where)
    is_code = callable(config.doc_to_target) and not any(metric.is_guest_score for metric in parts.metrics)
    columns = target_columns(config, parts.rows.measured.columns)
    return TargetCells(config.task, columns, is_code and config.output_type != IMAGES, where)


def missing_target_findings(cells: TargetCells, rows: Rows, context: OpenContext) -> Iterator[LintFinding]:
    """A finding if some rows have no target.

    Raises:
        PlanError: if none has one.
    """
    measured = context.measured(len(rows))
    for column in cells.columns:
        missing = [number for number in rows.missing(column) if number in measured]
        if not missing:
            continue
        n = len(measured)
        if len(missing) == n and not context.is_begun:
            what = f"Column {column!r}, the target of task {cells.task!r}, is empty in all {n} rows."
            raise PlanError(what, where=cells.where, hint="Name the column that has the answers.")
        have, are = ("has", "It is") if len(missing) == 1 else ("have", "They are")
        yield LintFinding(
            "row-without-target",
            f"{len(missing)} of {count(n, 'sample')} {have} no target: column {column!r} is empty in "
            f"{enumerated('sample', missing)}. {are} not sent to the model and {'fails' if have == 'has' else 'fail'}.",
            cells.task,
            cells.where,
            _WRITE_ANSWER,
        )


def _is_index(dataset: datasets.Dataset, column: str, config: YamlFields) -> bool:
    """Return whether a column may hold numbers of choices, which are meant as numbers."""
    kind = str(getattr(dataset.features[column], "dtype", ""))
    is_number = "int" in kind or ("float" in kind and config.output_type == "multiple_choice")
    return config.doc_to_choice is not None and is_number


def _is_whole(dataset: datasets.Dataset, column: str) -> bool:
    """Return whether a column has whole numbers, or texts, in all rows."""
    is_known = any(kind in str(getattr(dataset.features[column], "dtype", "")) for kind in ("int", "string"))
    return is_known and dataset.data.table.column(column).null_count == 0


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
