"""``polymeter ablate``: is the score about the image?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from polymeter.cli import run_options as option
from polymeter.cli.forms import OutputForm, print_document, words
from polymeter.cli.run_flags import takes_options
from polymeter.cli.state import Debug, state_of


@takes_options("ablate")
def ablate(  # noqa: PLR0917  (one parameter for each option)
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="The run folder.", metavar="RUN", show_default=False)],
    options: dict[str, Any],
    how: Annotated[
        str,
        typer.Option(
            "--how",
            help="What to leave out or replace (comma): no-image, no-video, no-audio, no-media, blank, shuffled-image, "
            "shuffled-video, shuffled-audio, no-question.",
            metavar="NAMES",
        ),
    ] = "no-image,blank,shuffled-image,no-question",
    limit: Annotated[
        float | None,
        typer.Option("--limit", help="Only so many samples of each task.", metavar="N", show_default=False),
    ] = None,
    llm: Annotated[
        Path | None,
        typer.Option(
            "--llm",
            help="A run of the language model alone on the same tasks, for the leakage.",
            metavar="RUN",
            show_default=False,
        ),
    ] = None,
    model_args: Annotated[
        list[str] | None,
        typer.Option(
            "--model-args",
            "-a",
            help="Arguments of the model that the run does not hold, such as a key: key=value,…",
            metavar="PAIRS",
            show_default=False,
        ),
    ] = None,
    base_url: option.BaseURL = None,
    form: Annotated[OutputForm, typer.Option("--format", help="How to print the outcome.")] = OutputForm.text,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    quiet: option.Quiet = False,
    debug: Debug = False,
) -> int:
    """Run a finished run again without a part of its prompts, and show what that part is worth.

    Each ablation is a run beside the run, and is compared with it sample by sample. Repeating the command continues one
    that stopped, and repeats no finished one. ablation.html in the folder of the run lists the samples that are
    answered right without media.

    Exit codes: 0; 1: an ablation was stopped; 2: the run cannot be run again, or nothing can be left out.
    """
    from polymeter.cli.asked import served_arguments
    from polymeter.cli.json_output import stdout_kept
    from polymeter.cli.pairs import parse_model_args
    from polymeter.cli.printing import say

    form = OutputForm.json if as_json else form
    with stdout_kept(is_json=form is not OutputForm.text):
        from polymeter.analysis.ablation.ablating import ablate as ablate_run
        from polymeter.cli.progress import make_progress

        with make_progress(is_quiet=quiet) as progress:
            report = ablate_run(
                run,
                words(how),
                limit=limit,
                llm=llm,
                model_args={**parse_model_args("", model_args or ()), **served_arguments(base_url, None, None)},
                progress=progress,
                command=state_of(context).command,
                **options,
            )
    from polymeter.report.ablation.tables import print_ablation, to_csv, to_latex, to_markdown

    document = report.document()
    print_document(document, form, text=print_ablation, markdown=to_markdown, csv=to_csv, latex=to_latex)
    if report.compared is not None:
        say(f"page     {report.page}", err=form is not OutputForm.text)
    return report.exit_code
