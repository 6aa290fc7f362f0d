"""Files that the rows of a task name in a column or by a template, looked for before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, PolymeterError, enumerated
from polymeter.core.format import OpenContext
from polymeter.tasks.yaml.pieces import Parts
from polymeter.tasks.yaml.prompts.forms import is_template
from polymeter.tasks.yaml.prompts.visuals import flat, is_no_medium, not_found

_MOST_ROWS = 20_000
"""How many rows are looked at: one costs as much as asking the disk for a file."""
_ADVICE = 'Write paths relative to one of these folders; doc_to_visual: "photos/{{file}}" puts a folder before names.'


def missing_file_notes(parts: Parts, folders: Sequence[Path], context: OpenContext) -> Iterator[str]:
    """A note if rows name media files that are not there.

    Args:
        parts: The task.
        folders: Where relative paths are looked for beside the working directory.
        context: Says which rows are measured.

    Raises:
        PlanError: if no file of any row is there.
    """
    cells = _cells(parts)
    if cells is None:
        return
    measured = context.measured(len(parts.rows.measured))[:_MOST_ROWS]
    n_named = 0
    missing: list[tuple[int, str, str]] = []
    for index in measured:
        try:
            named = [cell for cell in flat(cells(index)) if isinstance(cell, str) and not is_no_medium(cell)]
        except PolymeterError:  # the row fails by itself, with its reason
            continue
        n_named += bool(named)
        found = ((cell, not_found(cell, folders)) for cell in named)
        missing += [(index, cell, places) for cell, places in found if places][:1]
    if not missing:
        return
    index, cell, places = missing[0]
    task, where = parts.config.task, parts.binding.where("doc_to_visual")
    if len(missing) == n_named == len(measured) and not context.is_begun:
        what = f"None of the files that the rows of task {task!r} name is there: sample {index} names {cell!r}."
        raise PlanError(what, where=where, hint=f"It was looked for {places}. {_ADVICE}")
    of = f"{len(missing)} of {len(measured)} samples"
    yield (
        f"Task {task!r}: {of}: a file that they name is not there (sample {index}: {cell!r}, looked for {places}): "
        "their samples fail."
    )


def empty_media_notes(parts: Parts, context: OpenContext) -> Iterator[str]:
    """Notes if nothing names a medium in some rows that are measured, or in some places of their lists.

    Args:
        parts: The task.
        context: Says which rows are measured.
    """
    rows, column = parts.rows.measured, parts.visual_column
    measured, cells = context.measured(len(rows)), _cells(parts)
    partly: list[int] = []
    if column is not None and column in rows.media:
        empty = [number for number in rows.missing(column) if number in measured]
    elif cells is not None:
        n_empty = [(number, *_counted(cells, number)) for number in measured[:_MOST_ROWS]]
        empty = [number for number, missing, n in n_empty if missing == n]
        partly = [number for number, missing, n in n_empty if 0 < missing < n]
    else:
        return
    of = f"column {column!r}" if column is not None else "doc_to_visual"
    where = parts.binding.where("doc_to_visual")
    begin = f"Task {parts.config.task!r}:"
    if empty:
        yield (
            f"{begin} {len(empty)} of {len(measured)} samples: nothing in {of} "
            f"({enumerated('sample', empty)}) [{where}]: they are asked without a medium."
        )
    if partly:
        yield (
            f"{begin} {len(partly)} of {len(measured)} samples: nothing in a place of the list in {of} "
            f"({enumerated('sample', partly)}) [{where}]: they are asked with the other media."
        )


def _counted(cells: Callable[[int], Any], number: int) -> tuple[int, int]:
    """How many media of a row are none, and how many places it has for them; an empty cell is one."""
    try:
        cell = cells(number)
    except PolymeterError:  # the row fails by itself, with its reason
        return 0, 1
    items = list(cell) if isinstance(cell, (list, tuple)) else [cell]
    return (sum(map(is_no_medium, items)), len(items)) if items else (1, 1)


def _cells(parts: Parts) -> Callable[[int], Any] | None:
    """From a row's number to the paths that it names; ``None`` if the task does not name files by text."""
    rows, column = parts.rows.measured, parts.visual_column
    if column is not None:
        return None if column in rows.media else lambda index: rows.cell(index, column)
    if parts.visual is None or not is_template(parts.config.doc_to_visual):
        return None
    visual = parts.visual
    return lambda index: visual(rows.doc(index))
