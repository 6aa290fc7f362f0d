"""``polymeter resume``: continue a run that stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polymeter.cli.state import Debug, state_of

StrictResume = Annotated[
    bool | None,
    typer.Option(
        "--strict-resume/--no-strict-resume",
        help="Refuse to continue a run whose endpoint, task sources or Polymeter code changed since it began.",
        show_default=False,
    ),
]


def resume(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="The run folder.", metavar="RUN", show_default=False)],
    retry_errors: Annotated[
        bool | None,
        typer.Option(
            "--retry-errors/--no-retry-errors",
            help="Which samples without a score are run again. Default: those that failed, but not those that the "
            "model refused; --retry-errors: all of them; --no-retry-errors: none.",
            show_default=False,
        ),
    ] = None,
    strict_resume: StrictResume = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if a number lacks a whole member or subset.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the results, no progress.")] = False,
    debug: Debug = False,
) -> int:
    """Continue a run that was interrupted. Completed samples are not run again."""
    from polymeter.cli.outcome import resumable, show

    options = {"retry_errors": retry_errors, "is_strict_resume": strict_resume}
    with resumable(run):
        from polymeter.api import resume as resume_run
        from polymeter.cli.progress import make_progress

        with make_progress(is_quiet=quiet) as progress:
            result = resume_run(
                run,
                progress=progress,
                command=state_of(context).command,
                is_strict=strict,
                **{name: value for name, value in options.items() if value is not None},
            )
    return show(result)
