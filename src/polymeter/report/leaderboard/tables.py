"""A leaderboard as tables: on a terminal, and as Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polymeter.core.text.spreadsheets import csv_lines
from polymeter.report.grids import Heading, latex_table, markdown_table, plain_table, width_of
from polymeter.report.leaderboard.text import footnotes, legend, rank, shown, title
from polymeter.report.render import escaped

if TYPE_CHECKING:
    from rich.console import Console

_NAME = Heading("model", is_number=False)
_RANK = Heading("rank")
_CSV = (
    "model",
    "run",
    "kind",
    "name",
    "metric",
    "filter",
    "higher_is_better",
    "value",
    "stderr",
    "interval_low",
    "interval_high",
    "n",
    "n_missing",
    "rank_low",
    "rank_high",
    "is_comparable",
    "notes",
)
_Pair = tuple[Heading, list[str], list[str]]
"""A column of all models: its heading, its cells and their ranks."""


def print_leaderboard(console: Console, document: Mapping[str, Any]) -> None:
    """Print a leaderboard: as many columns side by side as the console has room for, the others below."""
    from rich.text import Text

    names = [model["name"] for model in document["models"]]
    for part in _fitting(names, _pairs(document), console.width):
        head, body = plain_table(*_table(names, part))
        console.print(Text("\n".join(head), style="bold"), soft_wrap=True)
        console.print(Text("\n".join(body)), soft_wrap=True)
        console.print()
    for line in footnotes(document):
        console.print(Text(line, style="yellow"), soft_wrap=True)
    for line in legend(document):
        console.print(Text(line, style="dim"), soft_wrap=True)


def to_markdown(document: Mapping[str, Any]) -> str:
    """The leaderboard as Markdown."""
    names = [model["name"] for model in document["models"]]
    table = markdown_table(*_table(names, _pairs(document)))
    told = "".join(f"- {escaped(line)}\n" for line in (*footnotes(document), *legend(document)))
    return f"{table}\n\n{told}"


def to_latex(document: Mapping[str, Any]) -> str:
    """The leaderboard as LaTeX, for the package booktabs."""
    names = [model["name"] for model in document["models"]]
    table = latex_table(*_table(names, _pairs(document)))
    return table + "\n" + "".join(f"% {line}\n" for line in (*footnotes(document), *legend(document)))


def to_csv(document: Mapping[str, Any]) -> str:
    """All numbers as CSV: one line for each model and column. A missing number has a line without a value."""
    return "".join(csv_lines([_CSV, *_csv_rows(document)]))


def _csv_rows(document: Mapping[str, Any]) -> Iterator[list[Any]]:
    for model in document["models"]:
        own = model["average"]
        if own is not None:
            low, high = own["interval"] or (None, None)
            head = [model["name"], "", "average", "average", "", "", ""]
            yield [*head, own["value"], "", low, high, "", "", *own["rank"], True, ""]
        for column, cell in zip(document["columns"], model["cells"], strict=True):
            head = [model["name"], "" if cell is None else cell["run"], column["kind"], column["name"]]
            head += [column["metric"], column["filter"], column["higher_is_better"]]
            if cell is None:
                yield [*head, *[""] * 8, "", "missing"]
                continue
            low, high = cell["interval"] or (None, None)
            notes = "; ".join(document["footnotes"][number - 1] for number in cell["footnotes"])
            yield [
                *head,
                *(cell["value"], cell["stderr"], low, high, cell["n"], cell["n_missing"]),
                *(cell["rank"] or (None, None)),
                cell["is_comparable"],
                notes,
            ]


def _pairs(document: Mapping[str, Any]) -> list[_Pair]:
    models = document["models"]
    pairs: list[_Pair] = []
    if document["average"] is not None:
        cells = [model["average"] for model in models]
        pairs.append(
            (Heading("average"), [shown(cell, is_average=True) for cell in cells], [rank(cell) for cell in cells])
        )
    for place, column in enumerate(document["columns"]):
        cells = [model["cells"][place] for model in models]
        pairs.append((Heading(title(column), is_wrapped=True), [*map(shown, cells)], [*map(rank, cells)]))
    return pairs


def _table(names: Sequence[str], pairs: Sequence[_Pair]) -> tuple[list[Heading], list[list[str]]]:
    headings = [_NAME, *(heading for own, *_ in pairs for heading in (own, _RANK))]
    rows = [
        [name, *(cell for _, cells, ranks in pairs for cell in (cells[place], ranks[place]))]
        for place, name in enumerate(names)
    ]
    return headings, rows


def _fitting(names: Sequence[str], pairs: Sequence[_Pair], width: int) -> Iterator[list[_Pair]]:
    """The columns in parts that a console has room for, at least one in each."""
    part: list[_Pair] = []
    names_width = free = width - width_of([_NAME], [[name] for name in names])
    for pair in pairs:
        needed = width_of([pair[0], _RANK], [*zip(*pair[1:], strict=True)])
        if part and needed > free:
            yield part
            part, free = [], names_width
        part.append(pair)
        free -= needed
    yield part
