"""``polymeter verify``: check that the files of a run are what was written, and agree with each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polymeter.cli.state import Debug


def verify(
    run: Annotated[Path, typer.Argument(help="The run folder.", metavar="RUN", show_default=False)],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only what is wrong.")] = False,
    debug: Debug = False,
) -> int:
    """Check a run folder: rows against checksums, media against hashes, samples and results against rows.

    Exit code 0: everything was checked and is right; 1: something is wrong or could not be checked.
    """
    from polymeter.api import verify as verify_run
    from polymeter.cli.progress import make_progress
    from polymeter.report.formatting import one_line

    with make_progress(is_quiet=quiet) as progress:
        found = verify_run(run, progress=progress)
    for problem in found.problems:
        typer.echo(f"wrong        {one_line(problem)}")
    for sentence in found.unchecked:
        typer.echo(f"not checked  {one_line(sentence)}")
    if not quiet:
        for fact in found.facts:
            typer.echo(f"checked      {fact}")
        typer.echo("nothing is wrong" if found.is_sound else "")
    return 0 if found.is_sound else 1
