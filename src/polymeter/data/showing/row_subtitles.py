"""The subtitles of a row, by the source that a rule names: a column, or a path with columns in it.

Planning looks for the files before anything is asked (``subtitle_findings``), and each request gets those of its row
(``subtitles_of_row``). Nothing here reads a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.content import is_subtitle_text
from polymeter.core.errors import DataError, PlanError, PolymeterError, count, did_you_mean, enumerated
from polymeter.core.media.showing import VideoRule, filled_source, source_columns
from polymeter.core.media.sources import on_disk
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.task import Samples
from polymeter.data.media import names_nothing
from polymeter.data.rows import is_missing

Source = Path | str | None
"""The file of subtitles, or their text; ``None``: there are none."""
_SHOWN = 200
_MOST_ROWS = 20_000
"""The number of rows that are checked: each needs a request to the disk for a file."""


def subtitles_of_row(rule: VideoRule, row: Any, folders: Sequence[Path], n_videos: int) -> list[Source]:
    """The subtitles of the videos that a request about a row shows, in their order.

    Args:
        rule: It shows subtitles, and names their source.
        row: The row.
        folders: Where relative paths are looked for; the working directory comes last.
        n_videos: How many videos the request shows.

    Raises:
        DataError: if the row has subtitles of another kind, or for another number of videos.
    """
    values = _values(rule, row)
    if not n_videos or not any(value is not None for value in values):
        return [None] * n_videos
    if len(values) != n_videos:
        raise DataError(
            f"The row has the subtitles of {count(len(values), 'video')}, and the request shows {n_videos:,}.",
            hint="Give as many as there are videos, in their order: a list in the column of subtitles.",
        )
    return [_found(value, folders, rule) for value in values]


def check_columns(rule: VideoRule, samples: Samples, numbers: Sequence[int], place: str) -> None:
    """Refuse a source with a column that no row has.

    Args:
        rule: It shows subtitles, and names their source.
        samples: The samples of the task.
        numbers: Those that are measured.
        place: Where the rule is written.

    Raises:
        PlanError: if there is such a column.
    """
    missing: dict[str, None] = dict.fromkeys(source_columns(rule.subtitles_from or ""))
    known: dict[str, None] = {}
    for number in numbers[:_MOST_ROWS]:
        try:
            row: Any = samples[number].doc
        except PolymeterError:  # the row fails by itself, with its reason
            continue
        names = [str(name) for name in row] if isinstance(row, Mapping) else []
        known |= dict.fromkeys(names)
        for name in names:
            missing.pop(name, None)
        if not missing:
            return
    if known:
        name = next(iter(missing))
        raise PlanError(
            f"video.subtitles_from names the column {name!r}, which the rows do not have.",
            where=place,
            hint=f"{did_you_mean(name, known, n=1)} They have: {', '.join(known)}.".strip(),
        )


def subtitle_findings(
    rule: VideoRule, samples: Samples, numbers: Sequence[int], folders: Sequence[Path], task: str, place: str
) -> Iterator[LintFinding]:
    """Findings about rows without subtitles, and about files of subtitles that do not exist.

    Args:
        rule: It shows subtitles, and names their source.
        samples: The samples of the task.
        numbers: Those that are measured.
        folders: As for ``subtitles_of_row``.
        task: The name of the task.
        place: Where the rule is written.

    Raises:
        PlanError: if rows name files, none of them exists, and that is no sign of a video without subtitles; or if no
            row holds what can be subtitles.
    """
    measured, n_found = numbers[:_MOST_ROWS], 0
    without: list[str] = []
    lost: dict[str, str] = {}
    refused: list[PolymeterError] = []
    for number in measured:
        try:
            sample = samples[number]
            row = sample.doc
        except PolymeterError:  # the row fails by itself, with its reason
            continue
        try:
            values = _values(rule, row)
        except PolymeterError as error:  # likewise, unless it is so with all
            refused.append(error)
            continue
        if not any(value is not None for value in values):
            without.append(sample.id)
            continue
        gone = [str(value) for value in values if value is not None and _place(value, folders) is None]
        if gone:
            lost[sample.id] = gone[0]
        n_found += not gone
    n = count(len(measured), "sample")
    is_refused = rule.subtitles_missing != "none"
    if refused and not n_found and not lost and not without:
        raise PlanError(refused[0].what, where=place, hint=refused[0].hint)
    if lost and not n_found and is_refused:
        first = next(iter(lost))
        looked = ", ".join(dict.fromkeys(str(folder.resolve()) for folder in (*folders, Path())))
        raise PlanError(
            f"No file of subtitles of task {task!r} exists: sample {first} names {lost[first][:_SHOWN]!r}.",
            where=place,
            hint=f"It was looked for in {looked}. Write subtitles_from so that its paths begin there.",
        )
    if not is_refused:
        without += lost
    elif lost:
        yield LintFinding(
            "missing-subtitles",
            f"{len(lost)} of {n}: the file of subtitles does not exist ({enumerated('sample', [*lost])}). They fail.",
            task,
            place,
            "If these videos have no subtitles, write subtitles_missing: none.",
        )
    if without:
        text = f"{len(without)} of {n}: no subtitles ({enumerated('sample', without)}): they are asked without."
        yield LintFinding("row-without-subtitles", text, task, place)


def _values(rule: VideoRule, row: Any) -> list[str | None]:
    """The paths or texts of a row, one for each video; ``None``: it has none."""
    source = rule.subtitles_from or ""
    if not isinstance(row, Mapping):
        raise DataError("The row has no columns, so that it has no subtitles.", hint="Write subtitles: none.")
    if "{{" not in source:
        cell = row.get(source)
        cells = list(cell) if isinstance(cell, (list, tuple)) else [cell]
        return [_text(each, source) for each in cells]
    texts: dict[str, str] = {}
    for name in source_columns(source):
        text = _text(row.get(name), name, is_inserted=True)
        if text is None:
            return [None]
        texts[name] = text
    return [filled_source(source, texts)]


def _text(cell: Any, column: str, *, is_inserted: bool = False) -> str | None:
    if isinstance(cell, (bytes, bytearray)) and not is_inserted:
        try:
            cell = cell.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(f"Column {column!r} holds bytes that are not UTF-8: {error}.") from error
    if is_inserted and isinstance(cell, int) and not isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, (str, Path)):
        return None if names_nothing(str(cell)) else str(cell)
    if is_missing(cell):
        return None
    raise DataError(
        f"Column {column!r} holds a value of type {type(cell).__name__}, and no subtitles.",
        hint="Give the path of an SRT or WebVTT file, or its text.",
    )


def _found(value: str | None, folders: Sequence[Path], rule: VideoRule) -> Source:
    if value is None or is_subtitle_text(value):
        return value
    place = _place(value, folders)
    if place is None:  # read later, and named then, unless the rule takes it for a video without subtitles
        return None if rule.subtitles_missing == "none" else Path(value)
    return Path(place)


def _place(value: str, folders: Sequence[Path]) -> str | None:
    """The path of the file that a value names; the value itself if it is a text; ``None``: there is no such file."""
    if is_subtitle_text(value):
        return value
    places = (on_disk(os.path.join(folder, value)) for folder in (*folders, Path()))
    return next((place for place in places if os.path.isfile(place)), None)
