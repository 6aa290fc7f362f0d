"""``polymeter init``: write a small benchmark or model that runs at once."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from polymeter.cli.printing import say
from polymeter.cli.state import Debug


def init(
    folder: Annotated[Path, typer.Argument(help="Where to write it; its name becomes the benchmark's.", metavar="DIR")],
    kind: Annotated[
        str,
        typer.Option(
            help="What to write: vqa, mcq, t2i, judge, multi-round, model, or a kind of another system (adapter, "
            "dataset-class). Without it, the kinds are listed.",
            metavar="KIND",
            show_default=False,
        ),
    ] = "",
    debug: Debug = False,
) -> int:
    """Write a small benchmark or model that runs at once, with comments on what may be changed. Never overwrites."""
    from polymeter.cli.starters import name_for, starter_of, write_starter
    from polymeter.core.names.installing import polymeter_command

    starter = starter_of(kind)
    written = write_starter(starter, folder)
    for file in written:
        if file.suffix != ".png":
            say(f"wrote  {file}")
    if starter.images:
        say(f"wrote  {folder / 'images' / '*.png'} ({len(starter.images)} images)")
    places = {"folder": shlex.quote(folder.as_posix()), "name": name_for(folder)}
    say("\nIt runs as it is; change it into yours. Next:")
    for command in starter.commands:
        say(f"  {polymeter_command()} {command.format(**places)}")
    return 0
