"""The curve of a training run as a table: on a terminal, and as CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polymeter.core.text.spreadsheets import csv_lines
from polymeter.report.curve.text import cells, direction, gate, legend, main_lines, metric, sentences, title, troubles
from polymeter.report.formatting import count
from polymeter.report.render import at_least

if TYPE_CHECKING:
    from rich.console import Console

_MOST_STEPS = 12
"""The steps of a task that a terminal shows."""
_HEADINGS = ("step", "n", "value", "95 % interval", "against", "difference", "95 % interval", "p", "what it shows")
_WIDE = 100
_ONLY_WIDE = ("n", "95 % interval")
_OF_POINT = ("value", "stderr", "n")
_OF_DIFFERENCE = (
    "difference", "stderr", "p_value", "p_corrected", "p_method", "verdict", "wins", "ties", "losses",
    "n_only_first", "n_only_second",
)  # fmt: skip
COLUMNS = (
    "step", "checkpoint", "kind", "name", "metric", "filter", "is_main", "value", "stderr", "interval_low",
    "interval_high", "n", "against", "n_pairs", "difference", "difference_stderr", "difference_low",
    "difference_high", "p_value", "p_corrected", "p_method", "verdict", "wins", "ties", "losses",
    "n_only_against", "n_only_here", "run",
)  # fmt: skip
"""The columns of ``to_csv``."""


def print_curve(console: Console, document: Mapping[str, Any]) -> None:
    """Print a curve: for each task the newest checkpoints, the result of the newest, and notes."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    for trouble in troubles(document):
        console.print(Text(f"Note: {trouble}", style="yellow"), soft_wrap=True)
    lines = main_lines(document)
    shown = [place for place, name in enumerate(_HEADINGS) if console.width >= _WIDE or name not in _ONLY_WIDE]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in ("task", "metric", *(_HEADINGS[place] for place in shown)):
        is_text = name in ("task", "metric", "what it shows")
        table.add_column(name, justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text)
    needed, n_left_out = 0, 0
    for line in lines:
        points = line["points"][-_MOST_STEPS:]
        n_left_out = max(n_left_out, len(line["points"]) - len(points))
        for place, point in enumerate(points):
            texts = cells(line, point)
            heads = (title(line), f"{metric(line)} {direction(line)}".rstrip()) if place == 0 else ("", "")
            row = (*heads, *(texts[column] for column in shown))
            needed = max(needed, sum(map(len, row)) + 2 * len(row))
            style = "bold" if point["step"] == line["best"] else ""
            table.add_row(*(Text(text, style=style) for text in row))
    if lines:
        with at_least(console, needed if not console.is_terminal else 0):
            console.print(table)
    if n_left_out:
        console.print(Text(f"{count(n_left_out, 'earlier checkpoint')}: see the page."), soft_wrap=True)
    for text in sentences(document):
        console.print(Text(text, style="bold"), soft_wrap=True)
    for text in legend(document) if lines else ():
        console.print(Text(text, style="dim"), soft_wrap=True)
    for text in gate(document):
        console.print(Text(text), soft_wrap=True)


def to_csv(document: Mapping[str, Any]) -> str:
    """All numbers of a curve as CSV: one line for each metric of each task and group at each step."""
    names = {point["step"]: point for point in document["checkpoints"]}
    rows: list[Sequence[Any]] = [COLUMNS]
    for line in document["lines"]:
        for point in line["points"]:
            found = point["difference"] or {}
            low, high = point["interval"] or (None, None)
            difference_low, difference_high = found.get("interval") or (None, None)
            of_difference = [found.get(name) for name in _OF_DIFFERENCE]
            row = [
                point["step"],
                names[point["step"]]["name"],
                *(line[name] for name in ("kind", "name", "metric", "filter", "is_main")),
                *(point[name] for name in _OF_POINT[:2]),
                low,
                high,
                point["n"],
                found.get("to"),
                found.get("n"),
                *of_difference[:2],
                difference_low,
                difference_high,
                *of_difference[2:],
                names[point["step"]]["run"],
            ]
            rows.append(row)
    return "".join(csv_lines(rows))
