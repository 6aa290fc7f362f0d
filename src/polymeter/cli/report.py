"""``polymeter report``: the results and the HTML report of a run folder, however far its run has come."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from polymeter.cli.json_output import AsJson
from polymeter.cli.run_flags import takes_options
from polymeter.cli.state import Debug


@takes_options("report")
def report(
    run: Annotated[Path, typer.Argument(help="The run folder.", metavar="RUN", show_default=False)],
    options: dict[str, Any],
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Show the results of a run and write its HTML report again, also for a run that is still running or was killed.

    If the run has not ended, results.json and report.html hold partial results, marked as partial. No code
    of a task runs, and the run itself is not disturbed.
    """
    from polymeter.api import open_run
    from polymeter.cli.outcome import show_stored

    found = open_run(run)
    found.write_report(options.get("report_samples"))
    show_stored(found, is_json=as_json)
    return 0
