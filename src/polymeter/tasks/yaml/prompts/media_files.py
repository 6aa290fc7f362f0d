"""Files that the rows of a task name in a column or by a template, looked for before anything is asked."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.content import Modality
from polymeter.core.errors import PlanError, PolymeterError, count, enumerated
from polymeter.core.format import OpenContext
from polymeter.core.records.lint_finding import NO_MEDIUM_SHOWN, LintFinding
from polymeter.core.task import Samples
from polymeter.core.text.phrases import in_words
from polymeter.tasks.yaml.outputs.image_targets import IMAGES
from polymeter.tasks.yaml.pieces import Parts, is_table
from polymeter.tasks.yaml.prompts.forms import is_template
from polymeter.tasks.yaml.prompts.visuals import flat, is_found, is_no_medium, not_found

_MOST_ROWS = 20_000
"""The number of rows that are checked: each needs one request to the disk for a file."""
_FIRST_ROWS = 3
_PLURALS: Mapping[str, str] = {"image": "images", "audio": "audio", "video": "videos"}
_PROMPT_FIELDS = ("doc_to_visual", "doc_to_text", "doc_to_messages")
_ADVICE = 'Write paths relative to one of these folders; doc_to_visual: "photos/{{file}}" puts a folder before names.'


def missing_file_findings(parts: Parts, folders: Sequence[Path], context: OpenContext) -> Iterator[LintFinding]:
    """Return a finding if rows name media files that do not exist.

    Args:
        parts: The task.
        folders: Folders of relative paths, besides the working directory.
        context: Knows which rows are measured.

    Raises:
        PlanError: if no file of any row exists.
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
        what = f"None of the files that the rows of task {task!r} name exists: sample {index} names {cell!r}."
        raise PlanError(what, where=where, hint=f"It was looked for {places}. {_ADVICE}")
    numbers = [number for number, _, _ in missing]
    names, are = ("names", "It is") if len(missing) == 1 else ("name", "They are")
    yield LintFinding(
        "missing-media-file",
        f"{len(missing)} of {count(len(measured), 'sample')} {names} a file that does not exist "
        f"({enumerated('sample', numbers)}; {cell!r} was looked for {places}). {are} not sent to the model and "
        f"{'fails' if len(missing) == 1 else 'fail'}.",
        task,
        where,
    )


def empty_media_findings(parts: Parts, context: OpenContext) -> Iterator[LintFinding]:
    """Return findings if nothing names a medium in some rows that are measured, or in some places of their lists.

    Args:
        parts: The task.
        context: Knows which rows are measured.
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
    task, n = parts.config.task, count(len(measured), "sample")
    if empty:
        text = f"{len(empty)} of {n}: nothing in {of} ({enumerated('sample', empty)}): they are asked without a medium."
        yield LintFinding("row-without-media", text, task, where)
    if partly:
        text = (
            f"{len(partly)} of {n}: nothing in a place of the list in {of} ({enumerated('sample', partly)}): they are "
            "asked with the other media."
        )
        yield LintFinding("row-without-media", text, task, where)


def unshown_media_findings(
    parts: Parts, home: Path, modalities: Collection[Modality], samples: Samples, folders: Sequence[Path]
) -> Iterator[LintFinding]:
    """A finding if rows have media, or name files of media, and no prompt shows one.

    Args:
        parts: The task.
        home: Where it is written.
        modalities: What the prompts that were tried show.
        samples: Its samples.
        folders: Where relative paths are looked for beside the working directory.
    """
    config, rows = parts.config, parts.rows.measured
    if set(modalities) > {"text"} or config.output_type == IMAGES or config.process_results_use_image:
        return
    kinds = {name: _PLURALS[kind] for name, kind in rows.media.items() if len(rows.missing(name)) < len(rows)}
    verb = "have"
    if not kinds:
        verb = "name files with"
        kinds = _named_kinds(samples, folders)
    if not kinds:
        return
    columns, media = in_words(map(repr, kinds)), in_words(dict.fromkeys(kinds.values()))
    field = next((name for name in _PROMPT_FIELDS if getattr(config, name) is not None), "task")
    hint = f"Write doc_to_visual: {next(iter(kinds))}." if config.doc_to_messages is None else ""
    if is_table(home):
        hint = f"Call the column image_path, or write a task file: polymeter init --from {home.name}."
    yield LintFinding(
        NO_MEDIUM_SHOWN,
        f"The rows {verb} {media} (column {columns}), but no prompt shows any.",
        config.task,
        parts.binding.where(field),
        hint,
    )


def _named_kinds(samples: Samples, folders: Sequence[Path]) -> dict[str, str]:
    """The columns that name an existing file of media in each of the first rows, with the kind of medium."""
    kinds: list[dict[str, str]] = []
    for number in range(min(len(samples), _FIRST_ROWS)):
        try:
            doc = samples[number].doc
        except PolymeterError:  # the row fails by itself, with its reason
            continue
        named = {name: cell for name, cell in doc.items() if isinstance(cell, str) and is_found(cell, folders)}
        types = {name: str(mimetypes.guess_type(cell)[0]).partition("/")[0] for name, cell in named.items()}
        kinds.append({name: _PLURALS[kind] for name, kind in types.items() if kind in _PLURALS})
    return {name: kind for name, kind in kinds[0].items() if all(name in one for one in kinds)} if kinds else {}


def _counted(cells: Callable[[int], Any], number: int) -> tuple[int, int]:
    """Return the number of missing media of a row, and the number of its places for media; an empty cell is a missing
    medium.
    """
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
