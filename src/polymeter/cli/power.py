"""``polymeter power``: what a run could have detected, and how many samples a difference needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from polymeter.cli.forms import OutputForm, print_document, words
from polymeter.cli.state import Debug


def power(
    runs: Annotated[
        Optional[list[Path]],  # noqa: UP045  (typer reads this form in all versions)
        typer.Argument(
            help="A run folder, or two that are compared; none: only the assumptions count.",
            metavar="[RUN [RUN]]",
            show_default=False,
        ),
    ] = None,
    *,
    difference: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--difference",
            help="A difference of interest, in the unit of the metric (comma; may be repeated); default: some.",
            metavar="D",
            show_default=False,
        ),
    ] = None,
    std: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(
            "--std", help="Without a run: the standard deviation of a value; default: 0.5.", show_default=False
        ),
    ] = None,
    correlation: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(
            "--correlation",
            help="Between two models' values of a sample, unless two runs are given; default: 0.5.",
            show_default=False,
        ),
    ] = None,
    chance: Annotated[
        float, typer.Option("--power", help="The probability of finding the difference if it exists.")
    ] = 0.8,
    alpha: Annotated[
        float, typer.Option("--alpha", help="The probability of finding a difference if none exists.")
    ] = 0.05,
    metric: Annotated[
        str, typer.Option("--metric", help="Only this metric; default: all.", metavar="NAME", show_default=False)
    ] = "",
    tasks: Annotated[
        str, typer.Option("--tasks", help="Only these tasks (comma, * allowed).", metavar="NAMES", show_default=False)
    ] = "",
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--output", help="Write a page.", metavar="FILE.html", show_default=False),
    ] = None,
    form: Annotated[OutputForm, typer.Option("--format", help="How to print the analysis.")] = OutputForm.text,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    debug: Debug = False,
) -> int:
    """Show what a run could have detected, and how many samples a difference needs.

    From one run, for each task and metric: its own variance, clusters and repeats count, and the other model is assumed
    to be as alike as --correlation says. From two runs, it is computed from the differences of their samples. Without a
    run, from --std and --correlation.

    Exit codes: 0; 2: there is no result.
    """
    from polymeter.analysis.power_analysis import power as analyse
    from polymeter.report.power.tables import print_power, to_csv, to_latex, to_markdown

    document = analyse(
        *runs or (),
        difference=[_difference(word) for text in difference or () for word in words(text)],
        std=std,
        correlation=correlation,
        power=chance,
        alpha=alpha,
        metric=metric,
        tasks=words(tasks),
    ).document()
    form = OutputForm.json if as_json else form
    print_document(document, form, text=print_power, markdown=to_markdown, csv=to_csv, latex=to_latex)
    if output is not None:
        from polymeter.cli.printing import say
        from polymeter.report.power.page import make_power_page
        from polymeter.store.folder import write_text

        write_text(output, make_power_page(document))
        say(f"page     {output}", err=form is not OutputForm.text)
    return 0


def _difference(text: str) -> float:
    from polymeter.core.errors import PlanError

    try:
        return float(text)
    except ValueError:
        raise PlanError(f"{text!r} is not a number.", where="--difference", hint="Such as --difference 0.02.") from None
