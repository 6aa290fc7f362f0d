"""Draws the result table: on a terminal, as plain text, and as Markdown."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from polymeter.report.columns import Column, text_columns
from polymeter.report.table import Line, footnotes, table_lines

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {"main": "bold", "aside": "dim"}
_PLAIN_WIDTH = 200
_SESSION_WIDTH = 120
_DIRECTION = ""
"""The heading of the column with arrows."""
_DROPPED = ("version", "n-shot", "filter", _DIRECTION, "95 % interval")
"""The columns that are left out on a narrow console, in this order."""
_NAME_WIDTH = 16
"""The width of a column of names for which other columns are left out."""
_NAME_AT_LEAST = 12
_NARROWEST = 8
_LONGEST_TEXT = 24


def print_table(console: Console, results: Mapping[str, Any]) -> None:
    """Print the table of a ``results.json`` and its footnotes.

    Value, standard error and n are always whole. On a narrow console, the least important columns are left out, and
    names are wrapped; a still narrower one gets lines that are longer than it is.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    lines = table_lines(results)
    shown = _fitting(lines, console.width)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for column, width in shown:
        table.add_column(
            column.text or "",
            justify="right" if column.is_right else "left",
            no_wrap=not _may_wrap(column),
            overflow="fold",
            width=width,
        )
    for line in lines:
        style = "bold" if line.kind == "group" else "dim" if line.subset else ""
        cells = zip((column for column, _ in shown), _cells(line, "  ", [column for column, _ in shown]), strict=True)
        table.add_row(*(Text(text, style=_STYLES.get(column.weight, style)) for column, text in cells))
    needed = sum(width for _, width in shown) + _frame(len(shown))
    with at_least(console, needed):
        console.print(table)
    for note in footnotes(results):
        console.print(Text(note, style="yellow"), soft_wrap=True)


def as_text(print_document: Callable[[Console, Mapping[str, Any]], None], document: Mapping[str, Any]) -> str:
    """Return the printed form of a document, as text without colours: the representation of its object in a Python
    session.
    """
    from rich.console import Console

    buffer = io.StringIO()
    print_document(
        Console(file=buffer, width=_SESSION_WIDTH, color_system=None, highlight=False, legacy_windows=False), document
    )
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()).strip("\n")


@contextmanager
def at_least(console: Console, width: int) -> Iterator[None]:
    """Print for a width inside this; a terminal that is narrower breaks the lines, and no number is cut."""
    before = console.width
    if width <= before:
        yield
        return
    console.width = width
    try:
        yield
    finally:
        console.width = before


def _fitting(lines: Sequence[Line], width: int) -> list[tuple[Column, int]]:
    """The columns that a console of this width has room for, each with its width."""
    columns = text_columns(lines)
    for dropped in (None, *_DROPPED):
        columns = [column for column in columns if column.text != dropped]
        widths = _natural(lines, columns, min(_LONGEST_TEXT, width // 6))
        fixed = sum(width for column, width in zip(columns, widths, strict=True) if not column.is_name)
        room = width - fixed - _frame(len(columns))
        names = [width for column, width in zip(columns, widths, strict=True) if column.is_name]
        if sum(min(name, _NAME_WIDTH) for name in names) <= room:
            break
    shared = iter(_shared(names, room))
    return [
        (column, next(shared) if column.is_name else natural) for column, natural in zip(columns, widths, strict=True)
    ]


def _natural(lines: Sequence[Line], columns: Sequence[Column], longest_text: int) -> list[int]:
    """The width of each column in which nothing is wrapped, but for values that are long texts."""
    from rich.cells import cell_len

    rows = [[column.text or "" for column in columns], *(_cells(line, "  ", columns) for line in lines)]
    widths = [max(cell_len(row[number]) for row in rows) for number in range(len(columns))]
    for number, column in enumerate(columns):
        if column.is_name:
            widths[number] = max(widths[number], _NAME_AT_LEAST)
        if column.max_width is not None:
            widths[number] = min(widths[number], column.max_width)
        if _may_wrap(column) and not column.is_name:
            numbers = (cell_len(line.value) for line in lines if line.number is not None)
            widths[number] = min(widths[number], max([longest_text, *numbers]))
    return widths


def _shared(names: Sequence[int], room: int) -> list[int]:
    """The widths of the columns of names in the available room; one that needs less than its share gives the rest to
    the others.
    """
    left, widths = max(room, _NARROWEST * len(names)), dict.fromkeys(range(len(names)), 0)
    for rank, number in enumerate(sorted(widths, key=lambda number: names[number])):
        widths[number] = min(names[number], left // (len(names) - rank))
        left -= widths[number]
    return list(widths.values())


def _may_wrap(column: Column) -> bool:
    """Return whether a long text in a column is wrapped: names, and values that are not numbers."""
    return column.is_name or column.drawing == "value"


def _frame(n_columns: int) -> int:
    """The blanks around and between columns."""
    return 2 * n_columns


def to_text(results: Mapping[str, Any]) -> str:
    """The table and its footnotes as plain text, for logs and files."""
    from rich.console import Console

    buffer = io.StringIO()
    print_table(
        Console(file=buffer, width=_PLAIN_WIDTH, color_system=None, force_terminal=False, legacy_windows=False), results
    )
    return "\n".join(line.rstrip() for line in buffer.getvalue().strip("\n").splitlines()) + "\n"


def to_markdown(results: Mapping[str, Any]) -> str:
    """The table as Markdown, with its footnotes as a list."""
    lines = table_lines(results)
    columns = text_columns(lines)
    rules = ["--:" if column.is_right else ":--" for column in columns]
    rows = [
        [column.text or "" for column in columns],
        rules,
        *(tuple(escaped(cell) for cell in _cells(line, "– ", columns)) for line in lines),
    ]
    notes = "".join(f"\n- {escaped(note)}" for note in footnotes(results))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n" + (f"{notes}\n" if notes else "")


def _cells(line: Line, indent: str, columns: Sequence[Column]) -> tuple[str, ...]:
    """The texts of a line. A filter and an arrow without their own column stand behind the metric."""
    shown = {column.text: column.cell(line) for column in columns}
    if "filter" not in shown and line.filter not in ("", "none"):
        shown["metric"] += f", {line.filter}"
    if _DIRECTION not in shown and line.direction:
        shown["metric"] += f" {line.direction}"
    name, *others = shown.values()
    return (indent * line.depth + name if name else "", *others)


def escaped(text: str) -> str:
    """A text with everything escaped that Markdown or HTML would interpret."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", text)
