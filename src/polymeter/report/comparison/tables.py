"""Tables of the numbers of a comparison: on a terminal, and as Markdown, CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polymeter.core.text.spreadsheets import csv_lines
from polymeter.report.comparison.labels import labelled
from polymeter.report.comparison.text import (
    answers,
    flipped,
    interval,
    is_shown,
    label,
    legend,
    not_compared,
    p_value,
    sentences,
    signed,
    value,
)
from polymeter.report.formatting import DASH, count, one_line
from polymeter.report.grids import Heading, latex_table, markdown_table, terminal_table
from polymeter.report.render import at_least, escaped

if TYPE_CHECKING:
    from rich.console import Console

Score = Mapping[str, Any]
_WIDE = 100
_CSV = (
    "kind",
    "name",
    "subset",
    "metric",
    "filter",
    "is_main",
    "n",
    "first",
    "second",
    "difference",
    "stderr",
    "p_value",
    "p_corrected",
    "p_method",
    "false_positive_rate",
    "effect_size",
    "odds_ratio",
    "wins",
    "ties",
    "losses",
    "n_only_first",
    "n_only_second",
    "n_neither",
    "verdict",
)


@dataclass(frozen=True, slots=True)
class _TableColumn:
    """A column of the short table; ``is_optional``: a narrow terminal goes without it."""

    heading: str
    cell: Callable[[Score], str]
    is_number: bool = True
    is_optional: bool = False


def print_comparison(console: Console, document: Mapping[str, Any]) -> None:
    """Print a comparison: for each run a table, its sentences, and notes."""
    from rich.text import Text

    document = labelled(document)
    for other in document["others"]:
        first, second = document["first"]["name"], other["name"]
        for warning in other["warnings"]:
            console.print(Text(f"Note: {one_line(warning)}", style="yellow"), soft_wrap=True)
        headings, rows = _cells(document, other, is_terminal=True, is_narrow=console.width < _WIDE)
        styles = ["bold" if score["kind"] == "group" else "" for score in _shown(other)]
        table, needed = terminal_table(headings, rows, styles)
        with at_least(console, needed):
            console.print(table)
        for line in sentences(document, other):
            console.print(Text(line, style="bold"), soft_wrap=True)
        details = [flipped(score, first, second) for score in other["scores"] if is_shown(score)]
        titles = {score["name"]: one_line(str(score["title"])) for score in other["scores"]}
        for answer in other["answers"]:
            details += answers(answer, titles.get(answer["task"], answer["task"]), first, second)
        details += [not_compared(one, first, second) for one in other["not_compared"]]
        n_more = sum(not is_shown(score) for score in other["scores"])
        if n_more:
            details.append(f"{count(n_more, 'further metric')}: --metric NAME shows one, --json all.")
        for line in filter(None, details):
            console.print(Text(line), soft_wrap=True)
        console.print()
    for line in legend(document, document["others"]):
        console.print(Text(line, style="dim"), soft_wrap=True)


def to_markdown(document: Mapping[str, Any]) -> str:
    """The comparison as Markdown."""
    document, blocks = labelled(document), []
    for other in document["others"]:
        table = markdown_table(*_cells(document, other))
        told = [*other["warnings"], *sentences(document, other)]
        blocks.append(f"{table}\n\n" + "".join(f"- {escaped(one_line(line))}\n" for line in told))
    notes = "".join(f"{escaped(line)} " for line in legend(document, document["others"])).rstrip()
    return "\n".join([*blocks, f"{notes}\n"])


def to_csv(document: Mapping[str, Any]) -> str:
    """All numbers of the comparison as CSV: one line for each metric of each task and group in each run, with notes on
    the two runs beside it.
    """
    rows = (
        [
            document["first"]["name"],
            other["name"],
            *(_subset(score) if name == "subset" else score.get(name) for name in _CSV),
            *(score["interval"] or ("", "")),
            " ".join(map(one_line, other["warnings"])),
        ]
        for other in document["others"]
        for score in other["scores"]
    )
    headings = ["first_run", "second_run", *_CSV, "interval_low", "interval_high", "notes"]
    return "".join(csv_lines([headings, *rows]))


def to_latex(document: Mapping[str, Any]) -> str:
    """The short tables as LaTeX, for the package booktabs; their sentences as comments."""
    document, blocks = labelled(document), []
    for other in document["others"]:
        told = [*other["warnings"], *sentences(document, other)]
        notes = "".join(f"% {one_line(line)}\n" for line in told)
        blocks.append(f"{latex_table(*_cells(document, other))}\n{notes}".rstrip())
    notes = "".join(f"% {line}\n" for line in legend(document, document["others"]))
    return "\n\n".join(blocks) + f"\n{notes}"


def _columns(document: Mapping[str, Any], other: Mapping[str, Any], *, is_terminal: bool = False) -> list[_TableColumn]:
    return [
        _TableColumn("task", _indented if is_terminal else label, is_number=False),
        _TableColumn("metric", _metric, is_number=False),
        _TableColumn("", _direction, is_number=False, is_optional=True),
        _TableColumn("n", lambda score: f"{score['n']:,}", is_optional=True),
        _TableColumn(document["first"]["name"], lambda score: value(score["first"])),
        _TableColumn(other["name"], lambda score: value(score["second"])),
        _TableColumn("difference", lambda score: signed(score["difference"])),
        _TableColumn("95 % interval", interval),
        _TableColumn("p", lambda score: p_value(score["p_corrected"])),
        _TableColumn("won–lost", _won, is_optional=True),
    ]


def _cells(
    document: Mapping[str, Any], other: Mapping[str, Any], *, is_terminal: bool = False, is_narrow: bool = False
) -> tuple[list[Heading], list[list[str]]]:
    known = _columns(document, other, is_terminal=is_terminal)
    columns = [column for column in known if not (is_narrow and column.is_optional)]
    runs = (document["first"]["name"], other["name"])
    headings = [Heading(column.heading, column.is_number, column.heading in runs) for column in columns]
    return headings, [[column.cell(score) for column in columns] for score in _shown(other)]


def _shown(other: Mapping[str, Any]) -> Sequence[Score]:
    return [score for score in other["scores"] if is_shown(score)]


def _direction(score: Score) -> str:
    return {True: "↑", False: "↓"}.get(score["higher_is_better"], "")


def _metric(score: Score) -> str:
    name = one_line(str(score["metric"]))
    return name if score["filter"] in ("", "none") else f"{name}, {one_line(str(score['filter']))}"


def _indented(score: Score) -> str:
    """A task or group, or below it a subset."""
    subset = _subset(score)
    return f"  {subset}" if subset else label(score)


def _won(score: Score) -> str:
    return DASH if score["wins"] is None else f"{score['wins']:,}–{score['losses']:,}"


def _subset(score: Score) -> str:
    return "/".join(one_line(str(part)) for part in score.get("subset") or ())
