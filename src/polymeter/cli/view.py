"""``polymeter view``: runs in a browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    is_read_only: Annotated[bool, typer.Option("--read-only", help="Accept no notes and verdicts.")] = False,
    bundle: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--bundle",
            help="Write the pages to this folder, for any web server, and serve nothing.",
            metavar="FOLDER",
            show_default=False,
        ),
    ] = None,
    limit_samples: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            "--limit-samples",
            help="The most samples of a task in the bundle; default: 2000.",
            min=1,
            show_default=False,
        ),
    ] = None,
    has_media: Annotated[bool, typer.Option("--media/--no-media", help="Whether the bundle has media.")] = True,
    has_notes: Annotated[bool, typer.Option("--notes/--no-notes", help="Whether the bundle has notes.")] = True,
    is_opened: Annotated[bool, typer.Option("--open/--no-open", help="Whether to open a browser.")] = True,
    debug: Debug = False,
) -> int:
    """Look at runs in a browser: numbers, every sample, live progress, comparisons, notes.

    The server listens on this machine alone, reads only inside the folders that it is given, and writes only notes and
    verdicts.
    It ends with Ctrl-C. With --bundle, the pages are written to a folder instead.
    """
    if bundle is not None:
        _refuse("--bundle writes files and serves nothing", {"--port": port, "--token": token, "--name": name})
        return _write_bundle(runs or [RUNS], bundle, limit_samples, has_media, has_notes, journal_dir or [])
    told = {"--limit-samples": limit_samples, "--no-media": not has_media, "--no-notes": not has_notes}
    _refuse("it is an option of --bundle", told)
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
        is_read_only=is_read_only,
        when_ready=tell,
    )
    return 0


def _refuse(why: str, told: Mapping[str, object]) -> None:
    """Refuse options that would have no effect.

    Raises:
        PlanError: if one of them has a value.
    """
    from polymeter.core.errors import PlanError

    for option, value in told.items():
        if value:
            raise PlanError(f"{option} has no effect here: {why}.", where=option)


def _write_bundle(
    runs: Sequence[Path],
    folder: Path,
    limit_samples: int | None,
    has_media: bool,
    has_notes: bool,
    journal_dirs: Sequence[Path],
) -> int:
    import shlex

    from polymeter.api.viewing import bundle
    from polymeter.cli.printing import say
    from polymeter.core.machine.places import from_here
    from polymeter.report.formatting import count, data_size

    found = bundle(
        runs,
        folder,
        limit_samples=limit_samples,
        has_media=has_media,
        has_notes=has_notes,
        journal_dirs=journal_dirs,
    )
    place = from_here(found.folder)
    what = f"{count(found.n_runs, 'run')}, {count(found.n_files, 'file')}, {data_size(found.n_bytes)}"
    say(f"The bundle is in {place} ({what}).")
    if found.n_left_out:
        say(f"{count(found.n_left_out, 'sample')} are left out: raise --limit-samples to include them.")
    say(f"Open {place}/index.html, or serve it: python -m http.server -d {shlex.quote(place)}")
    return 0
