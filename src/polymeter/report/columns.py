"""The columns of the result table, declared once for the terminal, plain text, Markdown and the HTML report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from polymeter.report.formatting import one_line
from polymeter.report.table import Line


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the result table.

    Attributes:
        text: Its heading on a terminal, in plain text and in Markdown; ``None``: it is left out.
        page: Its heading in the HTML report; ``None``: it is left out.
        cell: The text of its cell in a line.
        weight: ``main`` stands out; ``aside`` is subdued, and not in the HTML report on a narrow screen.
        is_right: Whether its cells are aligned right.
        is_name: Whether long texts are wrapped on a terminal, not cut.
        max_width: Its largest width on a terminal.
        drawing: The cell of ``templates/table.html`` that draws it; empty: the plain one.
        is_optional: Whether it is left out if all its cells are empty.
    """

    text: str | None
    page: str | None
    cell: Callable[[Line], str]
    weight: Literal["main", "plain", "aside"] = "plain"
    is_right: bool = False
    is_name: bool = False
    max_width: int | None = None
    drawing: Literal["", "name", "metric", "value", "stderr", "interval", "n"] = ""
    is_optional: bool = False


# The first one is indented by the depth of its line.
COLUMNS = (
    # A terminal shows the name, which can be typed again; a page has the title.
    Column("task", None, lambda line: line.alias and ("/".join(line.subset) or one_line(line.name)), is_name=True),
    Column(None, "Task", lambda line: line.alias, is_name=True, drawing="name"),
    Column("version", "Version", lambda line: line.version, "aside", max_width=10),
    Column("filter", None, lambda line: line.filter, "aside"),
    Column("n-shot", "n-shot", lambda line: line.n_shot, "aside", is_right=True),
    Column(None, "Filter", lambda line: "" if line.filter == "none" else line.filter, "aside", is_optional=True),
    Column(
        "metric",
        "Metric",
        lambda line: f"{line.metric} ({line.mark})" if line.mark else line.metric,
        is_name=True,
        drawing="metric",
    ),
    Column("", None, lambda line: line.direction, "aside"),
    Column("value", "Value", lambda line: line.value, "main", is_right=True, drawing="value"),
    Column("stderr", "Std. error", lambda line: line.stderr, "aside", is_right=True, drawing="stderr"),
    Column("95 % interval", None, lambda line: line.interval_text, "aside", is_optional=True),
    Column(None, "95 % interval", lambda line: "", drawing="interval"),
    Column("n", "n", lambda line: line.n, is_right=True, drawing="n"),
)


def text_columns(lines: Iterable[Line]) -> list[Column]:
    """The columns of these lines on a terminal, in plain text and in Markdown."""
    return _filled([column for column in COLUMNS if column.text is not None], lines)


def page_columns(lines: Iterable[Line]) -> list[Column]:
    """The columns of these lines in the HTML report."""
    return _filled([column for column in COLUMNS if column.page is not None], lines)


def _filled(columns: Iterable[Column], lines: Iterable[Line]) -> list[Column]:
    table = [*lines]
    return [column for column in columns if not column.is_optional or any(map(column.cell, table))]
