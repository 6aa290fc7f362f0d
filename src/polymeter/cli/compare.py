"""``polymeter compare``: is the difference between runs more than noise?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymeter.cli.forms import OutputForm, print_document, words
from polymeter.cli.state import Debug
from polymeter.cli.verdicts import Verdicts

if TYPE_CHECKING:
    from polymeter.analysis.comparison.comparing import Comparison

_REGRESSION = 3
_UNDECIDED = 4


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Run folders of the same tasks. Each is compared with the first.",
            metavar="RUN RUN...",
            show_default=False,
        ),
    ],
    *,
    metric: Annotated[
        str,
        typer.Option(
            "--metric", help="Only this metric; default: the first of each task.", metavar="NAME", show_default=False
        ),
    ] = "",
    tasks: Annotated[
        str,
        typer.Option(
            "--tasks", help="Only these tasks and groups (comma, * allowed).", metavar="NAMES", show_default=False
        ),
    ] = "",
    max_regression: Annotated[
        float | None,
        typer.Option(
            "--max-regression",
            help="Exit with 3 if a run is worse than the first by more than this and more than noise, "
            "with 4 if the samples are too few to decide it.",
            metavar="X",
            show_default=False,
        ),
    ] = None,
    allow_undecided: Annotated[
        bool, typer.Option("--allow-undecided", help="With --max-regression: exit with 0 if that cannot be decided.")
    ] = False,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="Compare the means of different samples, which shows less.")
    ] = False,
    allow: Annotated[
        str,
        typer.Option(
            "--allow",
            help="Allowed differences besides the model: samples, data, task, prompts, shown, judge, "
            "unfinished (comma).",
            metavar="WHAT",
            show_default=False,
        ),
    ] = "",
    pair_by: Annotated[
        str,
        typer.Option(
            "--pair-by",
            help="What compared samples have in common: their id, their prompt, or their place (order).",
            metavar="WHAT",
        ),
    ] = "id",
    subsets: Annotated[
        bool, typer.Option("--subsets", help="Compare each subset of a task, too: one line each.")
    ] = False,
    verdicts: Verdicts = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            help="Write a page with the answers side by side, those that differ first.",
            metavar="FILE.html",
            show_default=False,
        ),
    ] = None,
    form: Annotated[OutputForm, typer.Option("--format", help="How to print the comparison.")] = OutputForm.text,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    debug: Debug = False,
) -> int:
    """Show whether runs differ from the first one by more than noise, sample by sample.

    Differences of scores come with an interval, a p-value and the samples behind them. Runs of other samples, prompts,
    data or ways to score are refused, with what differs, until --allow names it.

    Exit codes: 0; 2: the runs cannot be compared; 3: worse than --max-regression allows; 4: too few samples to decide
    that, unless --allow-undecided is set.
    """
    from polymeter.analysis.comparison.comparing import compare as compare_runs
    from polymeter.core.errors import PlanError

    if max_regression is not None and not max_regression >= 0:
        raise PlanError("The largest tolerated loss is 0 or more.", where=f"--max-regression {max_regression}")
    comparison = compare_runs(
        *runs,
        unpaired=unpaired,
        metric=metric,
        tasks=words(tasks),
        allow=words(allow),
        subsets=subsets,
        verdicts=verdicts,
        pair_by=pair_by,
    )
    form = OutputForm.json if as_json else form
    document = comparison.document()
    code = 0
    if max_regression is not None:
        worse, undecided = comparison.regressions(max_regression)
        code = _REGRESSION if worse else _UNDECIDED if undecided and not allow_undecided else 0
        document["max_regression"] = {"limit": max_regression, "regressions": worse, "unclear": undecided}
    elif allow_undecided:
        raise PlanError("--allow-undecided needs --max-regression.", hint="Add --max-regression 0.02.")
    _print(document, form, code)
    if output is not None:
        _write_page(comparison, output, is_quiet=form is not OutputForm.text)
    return code


def _print(document: dict[str, Any], form: OutputForm, code: int) -> None:
    from polymeter.cli.printing import say
    from polymeter.report.comparison.tables import print_comparison, to_csv, to_latex, to_markdown

    print_document(document, form, text=print_comparison, markdown=to_markdown, csv=to_csv, latex=to_latex)
    if form is OutputForm.json:
        return
    gate = document.get("max_regression")
    if gate is not None:
        is_err = form is not OutputForm.text
        for sentence in gate["regressions"]:
            say(f"REGRESSION: {sentence}", err=is_err)
        for sentence in gate["unclear"]:
            say(f"UNDECIDED: {sentence}", err=is_err)
        if not gate["regressions"]:
            say(f"No loss of more than {gate['limit']:g} is shown.", err=is_err)
        if code == _UNDECIDED:
            say(f"Exit code {code}: such a loss is not excluded either. --allow-undecided accepts that.", err=is_err)


def _write_page(comparison: Comparison, output: Path, *, is_quiet: bool) -> None:
    from polymeter.analysis.comparison.page import write_page
    from polymeter.cli.printing import say

    write_page(comparison, output)
    say(f"page     {output}", err=is_quiet)
