"""``polymeter rerun``: run a run again from its manifest, and show the first difference."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from polymeter.cli.run_flags import takes_options
from polymeter.cli.state import Debug, state_of


@takes_options("rerun")
def rerun(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="The run folder.", metavar="RUN", show_default=False)],
    options: dict[str, Any],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The new run folder; default: beside the run.", metavar="FOLDER", show_default=False
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the comparison, no progress.")] = False,
    debug: Debug = False,
) -> int:
    """Run a run again from its manifest alone (model, tasks, options), and print the first difference.

    Exit code 0: there is none; 1: there is one, or the new run did not end; 2: the manifest cannot be run.
    """
    from polymeter.api import rerun as rerun_run
    from polymeter.cli.progress import make_progress
    from polymeter.report.formatting import clean

    with make_progress(is_quiet=quiet) as progress:
        again = rerun_run(
            run,
            output=output,
            **options,
            progress=progress,
            command=state_of(context).command,
        )
    for sentence in again.changed:
        typer.echo(f"changed     {clean(sentence)}")
    if again.result.status != "complete":
        typer.echo("not compared: the new run did not end")
        return again.result.exit_code
    if again.difference is None:
        typer.echo("no difference")
        return 0
    typer.echo("first difference")
    typer.echo(f"  {again.difference.kind} of {clean(again.difference.where)}")
    typer.echo(f"  before  {clean(again.difference.before)}")
    typer.echo(f"  now     {clean(again.difference.after)}")
    return 1
