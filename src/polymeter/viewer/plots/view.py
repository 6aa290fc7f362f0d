"""A plot as pages show it: a sentence, the drawing of a script, and the same numbers as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from polymeter.report.run.extract import script_json

MOST_BINS = 20
SHADES = 9
"""The darkest shade of a cell; 0 is none."""


@dataclass(frozen=True, slots=True)
class PlotCell:
    """A cell of a table: its text, whether it is a number, and its shade from 0 to ``SHADES``; ``None``: no shade."""

    text: str
    is_number: bool = True
    shade: int | None = None


@dataclass(frozen=True, slots=True)
class PlotTable:
    """A table: its caption, the heads of its columns, and its rows, whose first cells are their heads."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[PlotCell, ...], ...]
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class StackPart:
    """A part of a stacked bar: its text, its place and width in percent of the bar, and its fill: a step of the colour
    scale, or ``plain`` if neither end is better.
    """

    text: str
    start: float
    width: float
    fill: str


@dataclass(frozen=True, slots=True)
class Stack:
    """One stacked bar: its label, and its parts from the left."""

    label: str
    parts: tuple[StackPart, ...]


@dataclass(frozen=True, slots=True)
class PlotView:
    """A plot.

    Attributes:
        name: A word that is unique on the page.
        title: Its heading.
        reading: Its result, in a sentence with its numbers.
        tables: The same as tables.
        chart: The data of the drawing (``static/plots.js`` describes it); ``None``: the tables are the plot.
        note: A sentence on its method; may be empty.
        stacks: Stacked bars, which need no script; empty: the chart is the drawing.
    """

    name: str
    title: str
    reading: str
    tables: tuple[PlotTable, ...]
    chart: Mapping[str, Any] | None = None
    note: str = ""
    stacks: tuple[Stack, ...] = ()

    @property
    def data(self) -> Markup:
        """The chart as JSON that is safe within a script element."""
        return Markup(script_json(self.chart))


def row(head: str, cells: Sequence[str], shades: Sequence[int | None] = ()) -> tuple[PlotCell, ...]:
    """A row of a table."""
    given = [*shades, *[None] * (len(cells) - len(shades))]
    return (
        PlotCell(head, is_number=False),
        *(PlotCell(text, shade=shade) for text, shade in zip(cells, given, strict=True)),
    )


def shade(share: float) -> int:
    """The shade of a share between 0 and 1; a share above 0 is never without one."""
    return 0 if share <= 0 else min(max(round(share * SHADES), 1), SHADES)


def percent(share: float) -> str:
    """A share as text: ``62.0 %``."""
    return f"{100 * share:.1f} %"
