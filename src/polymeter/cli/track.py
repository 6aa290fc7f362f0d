"""``polymeter track``: measure each new checkpoint of a training run, and keep the curve."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymeter.cli import run_options as option
from polymeter.cli.asked import read_asked, read_ending, with_options_of
from polymeter.cli.run import run
from polymeter.cli.run_flags import takes_options
from polymeter.cli.state import Debug, state_of

if TYPE_CHECKING:
    from polymeter.analysis.tracking.curve import Curve
    from polymeter.core.records.progress import Progress

_PIPED = 130
"""The width of tables that no terminal shows: every column fits."""
_UNDECIDED = 4
_STAND_INS = {"{checkpoint}": "\ue000checkpoint\ue001", "{step}": "\ue000step\ue001"}
"""While arguments are parsed, where a brace begins JSON."""
_NOT_OF_A_CURVE = ("options", "strict", "fail_under")
_CURVE = "The curve"


@takes_options("track")
@with_options_of(run, without=_NOT_OF_A_CURVE)
def track(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(help="The folder that training writes checkpoints to.", metavar="DIR", show_default=False)
    ],
    tasks: option.Tasks,
    options: dict[str, Any],
    *,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            help="A backend, which loads the checkpoint by its path, or a model with {checkpoint} or {step} in it. "
            "--model-args may hold them as well.",
            metavar="SPEC",
            rich_help_panel="What to measure",
        ),
    ] = "hf",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The folder for run folders and curve; default: runs/track/NAME.",
            metavar="FOLDER",
            rich_help_panel="Output",
            show_default=False,
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Wait for new checkpoints until Ctrl-C.", rich_help_panel=_CURVE)
    ] = False,
    until: Annotated[
        int | None,
        typer.Option(
            "--until",
            help="With --watch: end when a checkpoint of this step or a later one is measured.",
            metavar="STEP",
            rich_help_panel=_CURVE,
            show_default=False,
        ),
    ] = None,
    every: Annotated[
        int,
        typer.Option(
            "--every",
            help="Only checkpoints whose step is a multiple of this.",
            metavar="N",
            rich_help_panel=_CURVE,
            show_default=False,
        ),
    ] = 1,
    last: Annotated[bool, typer.Option("--last", help="Only the newest checkpoint.", rich_help_panel=_CURVE)] = False,
    name: Annotated[
        str,
        typer.Option(
            "--name",
            help="Only checkpoints whose names match (* allowed).",
            metavar="PATTERN",
            rich_help_panel=_CURVE,
            show_default=False,
        ),
    ] = "*",
    against: Annotated[
        str,
        typer.Option(
            "--against",
            help="The checkpoint to compare with: best (before it), previous, first, or a step.",
            metavar="WHICH",
            rich_help_panel=_CURVE,
        ),
    ] = "best",
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            help="Only this metric; default: the first of each task.",
            metavar="NAME",
            rich_help_panel=_CURVE,
            show_default=False,
        ),
    ] = "",
    max_regression: Annotated[
        float | None,
        typer.Option(
            "--max-regression",
            help="Exit with 3 if the newest checkpoint is worse by more than this and more than noise, "
            "with 4 if the samples are too few to decide it.",
            metavar="X",
            rich_help_panel=_CURVE,
            show_default=False,
        ),
    ] = None,
    allow_undecided: Annotated[
        bool,
        typer.Option(
            "--allow-undecided",
            help="With --max-regression: exit with 0 if that cannot be decided.",
            rich_help_panel=_CURVE,
        ),
    ] = False,
    allow: Annotated[
        str,
        typer.Option(
            "--allow",
            help="Allowed differences between checkpoints besides the model, as for compare (comma).",
            metavar="WHAT",
            rich_help_panel=_CURVE,
            show_default=False,
        ),
    ] = "",
    poll: Annotated[
        float,
        typer.Option(
            "--poll",
            help="With --watch: the time between looks; default 30.",
            metavar="SECONDS",
            rich_help_panel=_CURVE,
            show_default=False,
            min=0.1,
        ),
    ] = 30.0,
    settle: Annotated[
        float,
        typer.Option(
            "--settle",
            help="A checkpoint is complete if nothing was written to it for this long; default 10.",
            metavar="SECONDS",
            rich_help_panel=_CURVE,
            show_default=False,
            min=0.0,
        ),
    ] = 10.0,
    debug: Debug = False,
    **words: Any,
) -> int:
    """Measure each new checkpoint in a folder once, and keep a curve with what is more than noise.

    Each checkpoint has its run folder in --output, beside curve.html and curve.csv, which are written again after each.
    Checkpoints that were deleted since stay on the curve.

    Exit codes: 0; 1: a checkpoint could not be measured, or has samples without a score; 2: nothing could be measured
    as asked for; 3: the newest is worse than --max-regression allows; 4: too few samples to decide that, unless
    --allow-undecided is set; 130: interrupted.
    """
    from polymeter.cli.json_output import stdout_kept

    is_json, is_quiet = words.pop("as_json"), words.pop("quiet")
    ending = read_ending(log_to=words.pop("log_to"), on_end=words.pop("on_end"))
    texts = [_hidden(text) for text in words.pop("model_args", None) or ()]
    asked = read_asked(_hidden(model), tasks, model_args=texts, **words)
    with stdout_kept(is_json=is_json):
        from polymeter.analysis.tracking.tracking import WaitClock
        from polymeter.analysis.tracking.tracking import track as track_folder
        from polymeter.cli.progress import make_progress

        with make_progress(is_quiet=is_quiet) as progress:
            curve = track_folder(
                folder,
                asked.tasks,
                model=_with_marks(asked.model),
                model_path=asked.model_path,
                model_args=_with_marks(asked.model_args),
                roles=asked.roles,
                output=output,
                against=_step_or_word(against),
                metric=metric,
                allow=[word.strip() for word in allow.split(",") if word.strip()],
                max_regression=max_regression,
                allow_undecided=allow_undecided,
                every=every,
                last=last,
                name=name,
                watch=watch,
                until=until,
                waiting=WaitClock(poll_s=poll, settle_s=settle),
                progress=progress,
                on_measured=partial(_note, progress) if watch else None,
                command=state_of(context).command,
                **ending,
                **options,
            )
    _show(curve, is_json=is_json)
    return curve.exit_code


def _note(progress: Progress, curve: Curve, step: int) -> None:
    """Report the results of a checkpoint while the watch continues."""
    from polymeter.report.curve.text import newest_step, sentences

    document = curve.document()
    if newest_step(document) == step:
        for sentence in sentences(document):
            progress.note(sentence)


def _show(curve: Curve, *, is_json: bool) -> None:
    from rich.console import Console

    from polymeter.cli.printing import as_json, say
    from polymeter.report.curve.tables import print_curve

    document = curve.document()
    if is_json:
        typer.echo(as_json(document))
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _PIPED)
    print_curve(console, document)
    if curve.exit_code == _UNDECIDED:
        say(f"Exit code {_UNDECIDED}: such a loss is not excluded either. --allow-undecided accepts that.")
    say(f"page     {curve.page}")
    say(f"table    {curve.table}")
    if curve.status == "interrupted":
        say("Interrupted. All answers are kept; run the same command to continue.", err=True)


def _step_or_word(text: str) -> str | int:
    return int(text) if text.isdecimal() else text


def _hidden(text: str) -> str:
    for mark, stand_in in _STAND_INS.items():
        text = text.replace(mark, stand_in)
    return text


def _with_marks(value: Any) -> Any:
    if isinstance(value, str):
        for mark, stand_in in _STAND_INS.items():
            value = value.replace(stand_in, mark)
        return value
    if isinstance(value, dict):
        return {key: _with_marks(item) for key, item in value.items()}
    return [_with_marks(item) for item in value] if isinstance(value, (list, tuple)) else value
