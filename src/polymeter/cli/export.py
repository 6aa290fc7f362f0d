"""``polymeter export``: a run as other tools' sample logs and result files."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from polymeter.cli.state import Debug
from polymeter.cli.verdicts import Verdicts
from polymeter.core.names.systems import systems


class Media(str, Enum):
    """The handling of images and other media."""

    copy = "copy"
    none = "none"


def export(
    run: Annotated[Path, typer.Argument(help="The run folder.", metavar="RUN", show_default=False)],
    *,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help=f"Whose files: {', '.join(name for system in systems() for name in system.exports)}; or csv, jsonl, "
            "parquet: one flat row for each sample. Without it, all names are listed.",
            metavar="NAME",
            show_default=False,
        ),
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            help="The folder for the files; default: exports/NAME in the run folder.",
            metavar="DIR",
            show_default=False,
        ),
    ] = None,
    tasks: Annotated[
        str,
        typer.Option("--tasks", help="Only these tasks (comma, * allowed).", metavar="NAMES", show_default=False),
    ] = "",
    media: Annotated[
        Media, typer.Option("--media", help="Copy images and other media where the files can refer to them.")
    ] = Media.none,
    verdicts: Verdicts = False,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that is not empty, replacing files of the same name.")
    ] = False,
    debug: Debug = False,
) -> int:
    """Write a run as another tool's files, for its own viewers and scripts.

    Data that these files have no place for is left out, and reported. The run stays unchanged.
    """
    from polymeter.cli.printing import say
    from polymeter.exchange.exporting import export as export_run
    from polymeter.exchange.exporting import export_summaries

    if not to:
        for name, summary in export_summaries().items():
            say(f"{name:<12} {summary}")
        return 0
    chosen = [word.strip() for word in tasks.split(",") if word.strip()]
    done = export_run(run, to, output=output, tasks=chosen, media=media.value, force=force, verdicts=verdicts)
    if done.notice:
        say(done.notice, err=True)
    for file in done.files:
        say(f"wrote    {file}")
    if done.n_media:
        say(f"copied   {done.n_media:,} media files")
    if done.left_out:
        say(done.left_out)
    return 0
