"""``polymeter import``: the log of another tool as a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polymeter.cli.json_output import AsJson
from polymeter.cli.state import Debug


def import_logs(
    log: Annotated[
        Path,
        typer.Argument(help="A file or folder that the other tool has written.", metavar="LOG", show_default=False),
    ],
    system: Annotated[
        str,
        typer.Option("--from", help="The tool that wrote it; default: recognised.", metavar="TOOL", show_default=False),
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", help="The run folder; default: a new one below runs/.", metavar="RUN", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Read the log of another tool into a run folder, to show, report and compare it like a run of your own.

    Values are those that the tool states; intervals are computed from its samples.
    """
    from polymeter.api import import_log
    from polymeter.cli.outcome import show_stored

    show_stored(import_log(log, system=system, output=output), is_json=as_json)
    return 0
