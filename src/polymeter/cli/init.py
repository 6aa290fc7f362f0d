"""``polymeter init``: write a small benchmark or model that runs at once, or the task YAML of a table."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from polymeter.cli.printing import say
from polymeter.cli.state import Debug
from polymeter.core.errors import PlanError


def init(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Where to write it; with --kind its name becomes the benchmark's. With --from the default is the "
            "table's own folder.",
            metavar="DIR",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            help="What to write: vqa, python, mcq, t2i, judge, multi-round, model, or a kind of another system "
            "(adapter, dataset-class). Without it, the kinds are listed.",
            metavar="KIND",
            show_default=False,
        ),
    ] = "",
    table: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Write the task YAML of a table (.csv, .tsv, .xlsx, .jsonl, .json, .parquet) or a folder of images.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    debug: Debug = False,
) -> int:
    """Write a small benchmark or model that runs at once, or the task YAML of a table, with comments on what may be
    changed. Never overwrites.
    """
    if table is not None:
        if kind:
            raise PlanError("--from and --kind write different things.", where="--kind", hint="Leave one out.")
        return _init_from(table, folder)
    from polymeter.cli.starters import name_for, starter_of, write_starter
    from polymeter.core.names.installing import polymeter_command

    starter = starter_of(kind)
    if folder is None:
        what, hint = "No folder is named.", f"Write: {polymeter_command()} init DIR --kind {kind}"
        raise PlanError(what, where="DIR", hint=hint)
    written = write_starter(starter, folder)
    for file in written:
        if file.suffix != ".png":
            say(f"wrote  {file}")
    if starter.images:
        say(f"wrote  {folder / 'images' / '*.png'} ({len(starter.images)} images)")
    places = {"folder": shlex.quote(folder.as_posix()), "name": name_for(folder)}
    say("\nIt runs unchanged; adapt it to your data. Next:")
    for command in starter.commands:
        say(f"  {polymeter_command()} {command.format(**places)}")
    return 0


def _init_from(table: Path, folder: Path | None) -> int:
    """Write the task YAML of a table, and print the next command."""
    from polymeter.cli.starters import write_new
    from polymeter.core.names.installing import polymeter_command
    from polymeter.tasks.guessed.written import task_text

    home = table.resolve().parent if folder is None else folder
    made = task_text(table, home)
    file = (table.parent if folder is None else folder) / f"{made.name}.yaml"
    write_new({file: made.text})
    say(made.summary)
    say(f"wrote  {file}")
    shown = shlex.quote(file.as_posix())
    if not made.is_guessed:
        say(f"\nChange it first: {' and '.join(made.unknown) or 'its first lines explain why'}. Next:")
        say(f"  {polymeter_command()} check {shown}")
        return 0
    say("\nIt runs unchanged; edit what you need. Next:")
    say(f"  {polymeter_command()} check {shown}")
    say(f"  {polymeter_command()} run --model mock --model-args mode=gold --tasks {shown}")
    return 0
