"""Rows whose prompt holds a cell that is nothing. For rows without a target, see ``target_cells``.

An empty cell of a CSV, or a null, is an empty text in a prompt: a number that means less than it seems. Where code gets
the rows, a template writes ``None``, also for words such as ``NA`` of which pandas makes nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, enumerated
from polymeter.core.records.lint_finding import LintFinding
from polymeter.tasks.yaml.outputs.image_targets import IMAGES
from polymeter.tasks.yaml.pieces import Parts

if TYPE_CHECKING:
    from polymeter.data import Rows

_FIELD = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)\s*-?\}\}")
_MOST_ROWS = 2000
_CSV = "csv"
_WORDS = (
    "In a CSV, an empty cell and words such as NA, None and null are missing values: keep_default_na: false in "
    "dataset_kwargs keeps the words."
)


def empty_cell_findings(parts: Parts) -> tuple[LintFinding, ...]:
    """Findings about rows in which a column of the prompt, as ``doc_to_text`` makes it, is nothing."""
    config = parts.config
    if config.class_ is not None or config.output_type == IMAGES:
        return ()
    if config.dataset_path != _CSV and not parts.binding.has_blanks:  # what code makes of a null is its own affair
        return ()
    columns = _columns(config.doc_to_text, parts)
    if not columns:
        return ()
    docs = _docs(parts.rows.measured)
    return tuple(found for column in columns if (found := _finding(parts, docs, column)) is not None)


def _docs(rows: Rows) -> dict[int, dict[str, Any]]:
    """The first rows by their numbers, without those that are damaged in their file: such a row fails by itself."""
    n_rows = min(len(rows), _MOST_ROWS)
    with suppress(DataError):
        return dict(enumerate(rows.docs(0, n_rows)))
    docs = {}
    for number in range(n_rows):
        with suppress(DataError):
            docs[number] = rows.doc(number)
    return docs


def _finding(parts: Parts, docs: Mapping[int, dict[str, Any]], column: str) -> LintFinding | None:
    has_blanks = parts.binding.has_blanks
    empty = [number for number, doc in docs.items() if _is_nothing(doc.get(column), has_nan=not has_blanks)]
    if not empty:
        return None
    said = "their prompts are empty there." if has_blanks else f"their prompts contain None. {_WORDS}"
    text = f"{len(empty)} of {len(docs)} samples: nothing in column {column!r} ({enumerated('sample', empty)}): {said}"
    return LintFinding("empty-cell", text, parts.config.task, parts.binding.where("doc_to_text"))


def _columns(form: Any, parts: Parts) -> tuple[str, ...]:
    """Return the columns that a form writes unchanged: the one that it names, or those alone inside of double
    braces.
    """
    if not isinstance(form, str):
        return ()
    plain = parts.binding.plain_columns
    if form in plain:
        return (form,)
    if "{%" in form:  # a condition may well look after empty cells
        return ()
    return tuple(name for name in dict.fromkeys(_FIELD.findall(form)) if name in plain)


def _is_nothing(value: Any, *, has_nan: bool) -> bool:
    """Return whether a cell is empty. pandas writes NaN for one; where cells are as written, NaN is what is written."""
    return value is None or (has_nan and isinstance(value, float) and math.isnan(value))
