"""``polymeter log``: send finished runs to trackers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polymeter.cli.pairs import parse_trackers
from polymeter.cli.state import Debug


def log(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders of finished runs.", metavar="RUN...", show_default=False)
    ],
    *,
    to: Annotated[
        list[str],
        typer.Option(
            "--to",
            help="A tracker with its arguments: wandb:project=vlm,samples=all. May be given several times.",
            metavar="TRACKER[:KEY=VALUE,…]",
            show_default=False,
        ),
    ],
    imports: Annotated[
        list[Path] | None,
        typer.Option("--import", help="A Python file that registers a tracker.", metavar="FILE", show_default=False),
    ] = None,
    debug: Debug = False,
) -> int:
    """Send finished runs to trackers: wandb, mlflow, tensorboard, hub, or those of other packages.

    The runs are read and stay unchanged. 'polymeter run --log-to' does the same when a run ends.

    Exit codes: 0; 1: a run could not be sent; 2: a tracker, an argument or a run does not exist.
    """
    from polymeter.api import open_run
    from polymeter.api.imports import import_file
    from polymeter.cli.outcome import show_logged
    from polymeter.exchange.sending import make_trackers, require_ended, send_to_all

    for file in imports or ():
        import_file(file)
    log_to = parse_trackers(to, "--to")
    trackers = make_trackers(log_to)
    found = [require_ended(open_run(run)) for run in runs]
    sent = [send_to_all(run, trackers, log_to) for run in found]
    for run in sent:
        show_logged(run, is_named=len(runs) > 1)
    return int(any(one.error for run in sent for one in run.logged))
