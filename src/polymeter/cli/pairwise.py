"""``polymeter pairwise``: which answers does a judge prefer?"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymeter.cli.forms import words
from polymeter.cli.pairs import parse_model_args
from polymeter.cli.roles import JudgeArgs
from polymeter.cli.run_flags import takes_options
from polymeter.cli.run_options import Quiet
from polymeter.cli.state import Debug, state_of

if TYPE_CHECKING:
    from polymeter.analysis.preferences.judging import Pairwise

_PIPED = 100
"""The width of tables that no terminal shows: every column fits."""


class PairwiseForm(str, Enum):
    """Forms of printed output."""

    text = "text"
    json = "json"
    markdown = "markdown"
    csv = "csv"


@takes_options("pairwise")
def pairwise(  # noqa: PLR0917  (one parameter for each option)
    context: typer.Context,
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Run folders of the same tasks. Every two are compared.", metavar="RUN RUN...", show_default=False
        ),
    ],
    judge: Annotated[str, typer.Option("--judge", help="The model that judges.", metavar="SPEC", show_default=False)],
    options: dict[str, Any],
    judge_args: JudgeArgs = None,
    rubric: Annotated[
        str,
        typer.Option(
            "--rubric",
            help="What makes an answer better, in words for the judge, or a file with them.",
            metavar="TEXT|FILE",
            show_default=False,
        ),
    ] = "",
    tasks: Annotated[
        str, typer.Option("--tasks", help="Only these tasks (comma, * allowed).", metavar="NAMES", show_default=False)
    ] = "",
    limit: Annotated[
        int | None,
        typer.Option("--limit", help="The maximum number of samples of each task.", metavar="N", show_default=False),
    ] = None,
    max_pairs: Annotated[
        int | None,
        typer.Option(
            "--max-pairs",
            help="The maximum number of pairs of answers, drawn at random and spread evenly over the runs.",
            metavar="N",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the draw.")] = 0,
    allow: Annotated[
        str,
        typer.Option(
            "--allow",
            help="Allowed differences besides the model: samples, data, task, prompts, shown, unfinished (comma).",
            metavar="WHAT",
            show_default=False,
        ),
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The run folder of the verdicts; default: beside the first run.", metavar="FOLDER"
        ),
    ] = None,
    form: Annotated[PairwiseForm, typer.Option("--format", help="How to print the outcome.")] = PairwiseForm.text,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Have a judge say which of two answers is better, each pair in both orders.

    The verdicts go into a run folder of their own. Repeating the command continues where it stopped, and asks nothing
    twice. A pair whose two verdicts contradict each other counts as a tie.

    Exit codes: 0; 1: some pairs have no verdict; 2: the runs cannot be compared.
    """
    from polymeter.analysis.preferences.judging import pairwise as judge_pairs
    from polymeter.cli.json_output import stdout_kept
    from polymeter.cli.outcome import resumable
    from polymeter.cli.printing import say
    from polymeter.cli.progress import make_progress

    form = PairwiseForm.json if as_json else form
    with (
        stdout_kept(is_json=form is not PairwiseForm.text),
        resumable(output),
        make_progress(is_quiet=quiet) as progress,
    ):
        found = judge_pairs(
            runs[0],
            *runs[1:],
            judge=judge,
            judge_args=parse_model_args(judge, judge_args or (), "--judge-args"),
            rubric=_rubric(rubric),
            tasks=words(tasks),
            allow=words(allow),
            limit=limit,
            max_pairs=max_pairs,
            seed=seed,
            output=output,
            progress=progress,
            command=state_of(context).command,
            tell=lambda sentence: say(sentence, err=True),
            **options,
        )
    return _show(found, form)


def _show(found: Pairwise, form: PairwiseForm) -> int:
    from polymeter.cli.outcome import short, show_failures, show_how_to_resume
    from polymeter.cli.printing import as_json, say
    from polymeter.report.pairwise_text import print_pairwise, to_csv, to_markdown

    document = found.document()
    if form is PairwiseForm.json:
        typer.echo(as_json(document))
    elif form is not PairwiseForm.text:
        say({PairwiseForm.markdown: to_markdown, PairwiseForm.csv: to_csv}[form](document).rstrip("\n"))
    else:
        from rich.console import Console

        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = max(console.width, _PIPED)
        print_pairwise(console, document)
        say(f"\nresults  {short(found.result.folder.path)}")
        if found.result.report.exists():
            say(f"report   {short(found.result.report)}")
        show_failures(found.result.results, found.result.folder.path)
    if not found.result.is_complete:
        show_how_to_resume(found.result)
    return found.result.exit_code


def _rubric(text: str) -> str:
    """The rubric, read from a file if the text names one."""
    from polymeter.core.errors import PlanError

    try:
        path = Path(text)
        is_file = bool(text) and len(text) < 4096 and path.is_file()
    except (OSError, ValueError):
        is_file = False
    if not is_file:
        if text.endswith((".txt", ".md")) and " " not in text:
            raise PlanError("There is no such file with a rubric.", where=f"--rubric {text}")
        return text
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise PlanError("The rubric is not UTF-8.", where=str(path)) from error
