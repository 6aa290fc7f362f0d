"""``polymeter leaderboard``: the models of many runs, with rank intervals."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer

from polymeter.cli.forms import OutputForm, print_document, words
from polymeter.cli.pairs import parse_prices
from polymeter.cli.state import Debug


class Against(str, Enum):
    """The values that scores are plotted against."""

    tokens = "tokens"
    cost = "cost"
    time = "time"


def leaderboard(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Run folders, and folders that hold some, up to four levels deep.",
            metavar="RUN RUN...",
            show_default=False,
        ),
    ],
    *,
    tasks: Annotated[
        str,
        typer.Option(
            "--tasks", help="Only these tasks and groups (comma, * allowed).", metavar="NAMES", show_default=False
        ),
    ] = "",
    metric: Annotated[
        str,
        typer.Option(
            "--metric", help="Only this metric; default: the first of each task.", metavar="NAME", show_default=False
        ),
    ] = "",
    every: Annotated[bool, typer.Option("--all", help="A row for each run, even if several are of one model.")] = False,
    members: Annotated[bool, typer.Option("--members", help="Also the tasks below a group.")] = False,
    paired: Annotated[
        Optional[bool],  # noqa: UP045  (typer reads this form in all versions)
        typer.Option(
            "--paired/--unpaired",
            help="Compare samples one by one, or intervals alone; default: samples, if there are not too many.",
            show_default=False,
        ),
    ] = None,
    allow: Annotated[
        str,
        typer.Option(
            "--allow",
            help="Allowed differences between results that are ranked together: samples, data, task, prompts, shown, "
            "judge, unfinished (comma).",
            metavar="WHAT",
            show_default=False,
        ),
    ] = "",
    x: Annotated[
        Optional[Against],  # noqa: UP045
        typer.Option("--x", help="What the page plots scores against; default: tokens if known.", show_default=False),
    ] = None,
    prices: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--price",
            help="The price of a million tokens of input and of output of measured models, for --x cost; judges are "
            "listed apart. May be repeated.",
            metavar="MODEL=IN/OUT",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="Write a page that can be sorted.", metavar="FILE.html", show_default=False),
    ] = None,
    form: Annotated[OutputForm, typer.Option("--format", help="How to print the leaderboard.")] = OutputForm.text,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    debug: Debug = False,
) -> int:
    """Rank the models of many runs, with an interval for each rank.

    Models that the data cannot tell apart share their ranks. A result of other samples, prompts, data or ways to score
    is shown with a footnote, and not ranked; missing results stay missing.

    Exit codes: 0; 2: there is nothing to rank.
    """
    from polymeter.analysis.leaderboards.board import leaderboard as make
    from polymeter.report.leaderboard.tables import print_leaderboard, to_csv, to_latex, to_markdown

    board = make(
        *runs,
        tasks=words(tasks),
        metric=metric,
        every=every,
        members=members,
        paired=paired,
        allow=words(allow),
        x=None if x is None else x.value,
        prices=parse_prices(prices or (), "--price"),
    )
    document = board.document()
    form = OutputForm.json if as_json else form
    print_document(document, form, text=print_leaderboard, markdown=to_markdown, csv=to_csv, latex=to_latex)
    if output is not None:
        from polymeter.cli.printing import say
        from polymeter.report.leaderboard.page import make_leaderboard_page
        from polymeter.store.folder import write_text

        write_text(output, make_leaderboard_page(document))
        say(f"page     {output}", err=form is not OutputForm.text)
    return 0
