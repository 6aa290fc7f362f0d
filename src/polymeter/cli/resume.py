"""``polymeter resume``: continue a run that stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from polymeter.cli import run_options as option
from polymeter.cli.asked import read_ending, served_arguments
from polymeter.cli.json_output import AsJson, stdout_kept
from polymeter.cli.run_flags import takes_options
from polymeter.cli.state import Debug, state_of


@takes_options("resume")
def resume(  # noqa: PLR0917  (one parameter for each flag that is not an option of the run)
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="The run folder.", metavar="RUN", show_default=False)],
    options: dict[str, Any],
    base_url: option.BaseURL = None,
    server_args: option.ServerArgs = None,
    server_timeout: option.ServerTimeout = None,
    fail_under: option.FailUnder = None,
    log_to: option.LogTo = None,
    on_end: option.OnEnd = None,
    quiet: option.Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Continue a run that was interrupted. Completed samples are not run again."""
    from polymeter.cli.outcome import resumable, show

    given = read_ending(fail_under=fail_under, log_to=log_to, on_end=on_end) | options
    if served := served_arguments(base_url, server_args, server_timeout):
        given["model_args"] = served
    with stdout_kept(is_json=as_json), resumable(run):
        from polymeter.api import resume as resume_run
        from polymeter.cli.progress import make_progress

        with make_progress(is_quiet=quiet) as progress:
            result = resume_run(
                run,
                progress=progress,
                command=state_of(context).command,
                **given,
            )
    return show(result, is_json=as_json)
