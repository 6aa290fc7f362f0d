"""``polymeter view``: runs in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from polymeter.cli.state import Debug
from polymeter.store.folder import RUNS


def view(
    runs: Annotated[
        Optional[list[Path]],  # noqa: UP045  (typer reads this form in all versions)
        typer.Argument(
            help="Folders that hold runs, or run folders. Default: runs/.", metavar="[RUNS...]", show_default=False
        ),
    ] = None,
    *,
    port: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("--port", help="The port; default: one that is free.", min=1, max=65535, show_default=False),
    ] = None,
    host: Annotated[
        str,
        typer.Option("--host", help="The address to listen at; any other than this machine's own requires a token."),
    ] = "127.0.0.1",
    token: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--token",
            help="The token that a browser must send; default: a new one if other machines can reach the address.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--name",
            help="Another name under which browsers ask for this machine. May be repeated.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
    journal_dir: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Option(
            "--journal-dir",
            help="A folder with journals of runs that were given the same option. May be repeated.",
            show_default=False,
        ),
    ] = None,
    is_opened: Annotated[bool, typer.Option("--open/--no-open", help="Whether to open a browser.")] = True,
    debug: Debug = False,
) -> int:
    """Look at runs in a browser: numbers, every sample, live progress, comparisons, notes.

    The server listens on this machine alone, reads only inside the folders that it is given, and writes only notes.
    It ends with Ctrl-C.
    """
    from polymeter.api.viewing import serve
    from polymeter.cli.printing import say

    def tell(url: str) -> None:
        say(f"The runs are at {url}")
        say("Ctrl-C ends this.")
        if is_opened:
            import webbrowser

            webbrowser.open(url)

    serve(
        runs or [RUNS],
        host=host,
        port=port,
        token=token,
        names=name or (),
        journal_dirs=journal_dir or (),
        when_ready=tell,
    )
    return 0
