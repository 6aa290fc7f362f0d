"""Rows of a CSV whose prompt holds a cell that is nothing. For rows without a target, see ``target_cells``.

A template writes ``None`` for such a cell: a number that means less than it seems. A CSV makes nothing of an empty
cell, and of words such as ``NA`` and ``None``, too.
"""

from __future__ import annotations

import math
import re
from typing import Any

from polymeter.core.errors import enumerated
from polymeter.formats.task_yaml.image_targets import IMAGES
from polymeter.formats.task_yaml.parts import Parts

_FIELD = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)\s*-?\}\}")
_MOST_ROWS = 2000
_CSV = "csv"
_WORDS = (
    "A CSV makes nothing of an empty cell, and of words such as NA, None and null: keep_default_na: false in "
    "dataset_kwargs keeps the words."
)


def empty_cell_notes(parts: Parts) -> tuple[str, ...]:
    """Notes about rows of a CSV in which a column of the prompt, as ``doc_to_text`` makes it, is nothing."""
    config = parts.config
    if config.class_ is not None or config.output_type == IMAGES or config.dataset_path != _CSV:
        return ()
    columns = _columns(config.doc_to_text, parts)
    if not columns:
        return ()
    docs = parts.rows.measured.docs(0, min(len(parts.rows.measured), _MOST_ROWS))
    return tuple(note for column in columns if (note := _note(parts, docs, column)))


def _note(parts: Parts, docs: list[dict[str, Any]], column: str) -> str:
    empty = [number for number, doc in enumerate(docs) if _is_nothing(doc.get(column))]
    if not empty:
        return ""
    return (
        f"Task {parts.config.task!r}: {len(empty)} of {len(docs)} samples: nothing in column {column!r} "
        f"({enumerated('sample', empty)}) [{parts.binding.where('doc_to_text')}]: their prompts say None. {_WORDS}"
    )


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
