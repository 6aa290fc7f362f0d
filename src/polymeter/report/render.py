"""Draws the result table: on a terminal, as plain text, and as Markdown."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from polymeter.report.columns import TEXT_COLUMNS
from polymeter.report.table import Line, footnotes, table_lines

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {"main": "bold", "aside": "dim"}
_PLAIN_WIDTH = 200


def print_table(console: Console, results: Mapping[str, Any]) -> None:
    """Print the table of a ``results.json`` and its footnotes."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for heading, column in TEXT_COLUMNS.items():
        table.add_column(
            heading,
            justify="right" if column.is_right else "left",
            no_wrap=not column.is_name,
            overflow="fold" if column.is_name else "ellipsis",
            min_width=12 if column.is_name else None,
            max_width=column.max_width,
        )
    for line in table_lines(results):
        style = "bold" if line.kind == "group" else "dim" if line.subset else ""
        cells = zip(TEXT_COLUMNS.values(), _cells(line, "  "), strict=True)
        table.add_row(*(Text(text, style=_STYLES.get(column.weight, style)) for column, text in cells))
    console.print(table)
    for note in footnotes(results):
        console.print(Text(note, style="yellow"), soft_wrap=True)


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
    rules = ["--:" if column.is_right else ":--" for column in TEXT_COLUMNS.values()]
    rows = [
        TEXT_COLUMNS,
        rules,
        *(tuple(_escaped(cell) for cell in _cells(line, "– ")) for line in table_lines(results)),
    ]
    notes = "".join(f"\n- {_escaped(note)}" for note in footnotes(results))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n" + (f"{notes}\n" if notes else "")


def _cells(line: Line, indent: str) -> tuple[str, ...]:
    name, *others = (column.cell(line) for column in TEXT_COLUMNS.values())
    return (indent * line.depth + name if name else "", *others)


def _escaped(text: str) -> str:
    """A text with everything escaped that Markdown or HTML would interpret."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", text)
