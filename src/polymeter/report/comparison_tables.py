"""The numbers of a comparison as tables: on a terminal, and as Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polymeter.report.comparison_text import (
    answers,
    flipped,
    interval,
    is_shown,
    legend,
    not_compared,
    p_value,
    sentences,
    signed,
    value,
)
from polymeter.report.formatting import DASH, count, one_line
from polymeter.report.render import at_least, escaped

if TYPE_CHECKING:
    from rich.console import Console

Score = Mapping[str, Any]
_WIDE = 100
_WIDEST_TEXT = 28
_BETWEEN = 2
_NARROWEST = 8
"""The width that names keep; a terminal that is narrower still breaks the lines, and no number is cut."""
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "–": "--",
        "<": "$<$",
        "−": "$-$",
    }
)
_CSV = (
    "kind",
    "name",
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
    "effect_size",
    "odds_ratio",
    "wins",
    "ties",
    "losses",
    "n_only_first",
    "n_only_second",
    "verdict",
)


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the short table; ``is_optional``: a narrow terminal goes without it."""

    heading: str
    cell: Callable[[Score], str]
    is_number: bool = True
    is_optional: bool = False


def print_comparison(console: Console, document: Mapping[str, Any]) -> None:
    """Print a comparison: for each run a table, what it says in words, and what the reader must know beside it."""
    from rich.text import Text

    for other in document["others"]:
        first, second = document["first"]["name"], other["name"]
        for warning in other["warnings"]:
            console.print(Text(f"Note: {one_line(warning)}", style="yellow"), soft_wrap=True)
        table, needed = _table(document, other, console.width)
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
    blocks = []
    for other in document["others"]:
        columns = _columns(document, other)
        rows = [
            [escaped(column.heading) for column in columns],
            ["--:" if column.is_number else ":--" for column in columns],
            *([escaped(column.cell(score)) for column in columns] for score in _shown(other)),
        ]
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        told = [*other["warnings"], *sentences(document, other)]
        blocks.append(f"{table}\n\n" + "".join(f"- {escaped(one_line(line))}\n" for line in told))
    notes = "".join(f"{escaped(line)} " for line in legend(document, document["others"])).rstrip()
    return "\n".join([*blocks, f"{notes}\n"])


def to_csv(document: Mapping[str, Any]) -> str:
    """All numbers of the comparison as CSV: one line for each metric of each task and group in each run."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["first_run", "second_run", *_CSV, "interval_low", "interval_high"])
    for other in document["others"]:
        for score in other["scores"]:
            low, high = score["interval"] or ("", "")
            cells = ["" if score[name] is None else score[name] for name in _CSV]
            writer.writerow([document["first"]["name"], other["name"], *cells, low, high])
    return buffer.getvalue()


def to_latex(document: Mapping[str, Any]) -> str:
    """The short tables as LaTeX, for the package booktabs."""
    blocks = []
    for other in document["others"]:
        columns = _columns(document, other)
        rows = [" & ".join(_latex(column.cell(score)) for column in columns) for score in _shown(other)]
        blocks.append(
            "\n".join(
                [
                    f"\\begin{{tabular}}{{{''.join('r' if column.is_number else 'l' for column in columns)}}}",
                    "\\toprule",
                    " & ".join(_latex(column.heading) for column in columns) + r" \\",
                    "\\midrule",
                    *(f"{row} \\\\" for row in rows),
                    "\\bottomrule",
                    "\\end{tabular}",
                ]
            )
        )
    notes = "".join(f"% {line}\n" for line in legend(document, document["others"]))
    return "\n\n".join(blocks) + f"\n{notes}"


def _columns(document: Mapping[str, Any], other: Mapping[str, Any]) -> list[_Column]:
    return [
        _Column("task", lambda score: one_line(str(score["title"])), is_number=False),
        _Column("metric", _metric, is_number=False),
        _Column("", _direction, is_number=False, is_optional=True),
        _Column("n", lambda score: f"{score['n']:,}", is_optional=True),
        _Column(document["first"]["name"], lambda score: value(score["first"])),
        _Column(other["name"], lambda score: value(score["second"])),
        _Column("difference", lambda score: signed(score["difference"])),
        _Column("95 % interval", interval),
        _Column("p", lambda score: p_value(score["p_corrected"])),
        _Column("won–lost", _won, is_optional=True),
    ]


def _table(document: Mapping[str, Any], other: Mapping[str, Any], width: int) -> tuple[Any, int]:
    """The table for a console of this width, and the width that it needs at least."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    columns = [column for column in _columns(document, other) if width >= _WIDE or not column.is_optional]
    runs = (document["first"]["name"], other["name"])
    needed = 0
    for column in columns:
        cells = [cell_len(column.cell(score)) for score in _shown(other)]
        is_wrapped = not column.is_number or column.heading in runs
        heading = min(cell_len(column.heading), _NARROWEST) if is_wrapped else cell_len(column.heading)
        least = max([heading, *cells]) if column.is_number else max(heading, min(_NARROWEST, max(cells, default=0)))
        needed += least + _BETWEEN
        table.add_column(
            Text(column.heading),
            justify="right" if column.is_number else "left",
            no_wrap=not is_wrapped,
            overflow="fold",
            min_width=least,
            max_width=None if column.is_number else _WIDEST_TEXT,
        )
    for score in _shown(other):
        style = "bold" if score["kind"] == "group" else ""
        table.add_row(*(Text(column.cell(score), style=style) for column in columns))
    return table, needed


def _shown(other: Mapping[str, Any]) -> Sequence[Score]:
    return [score for score in other["scores"] if is_shown(score)]


def _direction(score: Score) -> str:
    return {True: "↑", False: "↓"}.get(score["higher_is_better"], "")


def _metric(score: Score) -> str:
    name = one_line(str(score["metric"]))
    return name if score["filter"] in ("", "none") else f"{name}, {one_line(str(score['filter']))}"


def _won(score: Score) -> str:
    return DASH if score["wins"] is None else f"{score['wins']:,}–{score['losses']:,}"


def _latex(text: str) -> str:
    return text.translate(_LATEX).replace("↑", r"$\uparrow$").replace("↓", r"$\downarrow$")
