"""``polymeter cost``: what a run will need, before it is paid."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from polymeter.cli import run_options as option
from polymeter.cli.asked import read_asked, with_options_of
from polymeter.cli.json_output import AsJson, print_document, stdout_kept
from polymeter.cli.run import run
from polymeter.cli.run_flags import takes_options
from polymeter.cli.state import Debug, state_of

_NOT_OF_AN_ESTIMATE = ("options", "fail_under", "log_to", "on_end")


@takes_options("run")
@with_options_of(run, without=_NOT_OF_AN_ESTIMATE)
def cost(
    context: typer.Context,
    model: option.Model,
    tasks: option.Tasks,
    options: dict[str, Any],
    sources: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            help="Runs, or folders of runs, that show how long answers are; default: those in ./runs.",
            metavar="FOLDER",
            rich_help_panel="What to measure",
            show_default=False,
        ),
    ] = None,
    quiet: option.Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
    **asked: Any,
) -> int:
    """Estimate the requests, tokens, money and time of a run.

    Takes the options of 'polymeter run', and sends nothing.

    With --pilot N, that many samples of each task are asked, and their answers kept: 'polymeter run' with the same
    options and --output, or 'polymeter resume', continues.
    """
    what = read_asked(model, tasks, **asked)
    with stdout_kept(is_json=as_json):
        from polymeter.api import estimate_cost
        from polymeter.cli.progress import make_progress

        with make_progress(is_quiet=quiet) as progress:
            estimate = estimate_cost(
                what.model,
                what.tasks,
                model_path=what.model_path,
                model_args=what.model_args,
                roles=what.roles,
                sources=sources or None,
                progress=progress,
                command=state_of(context).command,
                **options,
            )
    document = estimate.document()
    if as_json:
        print_document("cost", document)
    else:
        _show(document)
    return 0


def _show(document: dict[str, Any]) -> None:
    import shlex

    from rich.console import Console

    from polymeter.cli.outcome import short
    from polymeter.cli.printing import say
    from polymeter.report.run.cost_table import print_cost

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 160)
    print_cost(console, document)
    if document["run"] and any(task["n_asked"] < task["n_samples"] for task in document["tasks"].values()):
        folder = shlex.quote(str(short(Path(document["run"]))))
        say(f"The pilot's answers are kept. Continue with: polymeter resume {folder}")
