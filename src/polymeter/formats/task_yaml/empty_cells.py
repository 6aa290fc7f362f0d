"""Rows without a target, and rows of a CSV whose prompt holds a cell that is nothing.

A row whose target is nothing is scored against no answer, and a template writes ``None`` for it: a number that means
less than it seems. A CSV makes nothing of an empty cell, and of words such as ``NA`` and ``None``, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.formats.task_yaml.image_targets import IMAGES
from polymeter.formats.task_yaml.misspelt import reads_target
from polymeter.formats.task_yaml.parts import Parts

_FIELD = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)\s*-?\}\}")
_MOST_ROWS = 2000
_SHOWN = 3
_CSV = "csv"
_WORDS = (
    "A CSV makes nothing of an empty cell, and of words such as NA, None and null: keep_default_na: false in "
    "dataset_kwargs keeps the words."
)


def empty_cell_notes(parts: Parts, *, is_text_read: bool, is_begun: bool) -> tuple[str, ...]:
    """Notes about rows whose target, or a column of whose prompt, is nothing.

    Args:
        parts: The task.
        is_text_read: Whether prompts are made with ``doc_to_text``.
        is_begun: Whether answers of the run are stored already; then nothing is refused.

    Raises:
        PlanError: if no row has a target and scores rest on it.
    """
    config = parts.config
    if config.class_ is not None or config.output_type == IMAGES:
        return ()
    targets = _columns(config.doc_to_target, parts) if reads_target(parts) else ()
    is_csv = config.dataset_path == _CSV
    asked = _columns(config.doc_to_text, parts) if is_csv and is_text_read else ()
    if not targets and not asked:
        return ()
    rows = parts.rows.measured
    docs = rows.docs(0, min(len(rows), _MOST_ROWS))
    return tuple(_notes(parts, docs, targets, asked, _WORDS if is_csv else "", is_begun=is_begun))


def _notes(
    parts: Parts,
    docs: list[dict[str, Any]],
    targets: tuple[str, ...],
    asked: tuple[str, ...],
    reason: str,
    *,
    is_begun: bool,
) -> Iterator[str]:
    task, where = parts.config.task, parts.binding.where
    for column in dict.fromkeys((*targets, *asked)):
        rows = [number for number, doc in enumerate(docs, 1) if _is_nothing(doc.get(column))]
        if not rows:
            continue
        field = "doc_to_target" if column in targets else "doc_to_text"
        if column in targets and len(rows) == len(docs) and not is_begun:
            raise PlanError(
                f"No row of task {task!r} has a target: column {column!r} is empty.",
                where=where(field),
                hint=f"Name the column that holds the answers. {reason}".strip(),
            )
        shown = ", ".join(map(str, rows[:_SHOWN])) + (", …" if len(rows) > _SHOWN else "")
        effect = "they are scored against no answer" if column in targets else "their prompts say None"
        yield (
            f"Task {task!r}: {len(rows)} of {len(docs)} rows have nothing in column {column!r} (row {shown}) "
            f"[{where(field)}]: {effect}. {reason}"
        ).rstrip()


def _columns(form: Any, parts: Parts) -> tuple[str, ...]:
    """The columns that a form writes as they are: the one that it names, or those alone inside of double braces."""
    if not isinstance(form, str):
        return ()
    plain = parts.binding.plain_columns
    if form in plain:
        return (form,)
    if "{%" in form:  # a condition may well look after empty cells
        return ()
    return tuple(name for name in dict.fromkeys(_FIELD.findall(form)) if name in plain)


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
