"""``polymeter resume``: continue a run that stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polymeter.cli.state import Debug


def resume(
    run: Annotated[Path, typer.Argument(help="The run folder.", metavar="RUN", show_default=False)],
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if a number lacks a whole member or subset.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the results, no progress.")] = False,
    debug: Debug = False,
) -> int:
    """Continue a run that was interrupted. Completed samples are not run again."""
    from polymeter.api import resume as resume_run
    from polymeter.cli.outcome import show
    from polymeter.cli.progress import make_progress

    with make_progress(is_quiet=quiet) as progress:
        result = resume_run(run, progress=progress, is_strict=strict)
    return show(result)
