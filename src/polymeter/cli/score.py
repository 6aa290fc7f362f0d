"""``polymeter score``: score a run again without using its model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from polymeter.cli import run_options as option
from polymeter.cli.asked import read_ending
from polymeter.cli.json_output import AsJson, stdout_kept
from polymeter.cli.roles import JudgeArgs, judge_roles
from polymeter.cli.run_flags import takes_options
from polymeter.cli.state import Debug, state_of
from polymeter.cli.verdicts import Verdicts


@takes_options("score")
def score(  # noqa: PLR0917  (one parameter for each flag that is not an option of the run)
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="The run folder.", metavar="RUN", show_default=False)],
    options: dict[str, Any],
    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            help="The model that judges, replacing the run's; several are a panel.",
            metavar="SPEC",
            rich_help_panel="What to measure",
        ),
    ] = None,
    judge_args: JudgeArgs = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The new run folder; default: beside the run.", metavar="FOLDER"),
    ] = None,
    verdicts: Verdicts = False,
    fail_under: option.FailUnder = None,
    log_to: option.LogTo = None,
    on_end: option.OnEnd = None,
    quiet: option.Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Score a run again from its stored answers, if you like with another judge. Its model gets no requests."""
    from polymeter.api import score as score_run
    from polymeter.cli.outcome import show
    from polymeter.cli.progress import make_progress

    ending = read_ending(fail_under=fail_under, log_to=log_to, on_end=on_end)
    with stdout_kept(is_json=as_json), make_progress(is_quiet=quiet) as progress:
        result = score_run(
            run,
            roles=judge_roles(judge, judge_args),
            output=output,
            progress=progress,
            command=state_of(context).command,
            verdicts=verdicts,
            **ending,
            **options,
        )
    return show(result, is_json=as_json)
