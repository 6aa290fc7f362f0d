"""Serves the viewer or writes its pages, with what a run folder alone does not say: live results, comparisons,
leaderboards.

The viewer filters an index and reads one page: what can be filtered stands in Arrow files in the user's cache, made
from the journal once for each state of a run. A page asks the journal for the rows that it shows. Nothing in the
engine knows of the viewer.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.api.partial import partial_results
from polymeter.core.children.child import Child
from polymeter.core.errors import PlanError
from polymeter.core.machine.places import naming_places
from polymeter.store.folder import RunFolder

if TYPE_CHECKING:
    from polymeter.viewer.bundle.writing import Bundle
    from polymeter.viewer.site import Services

_LARGE_BYTES = 100_000_000
"""Journals that are compared by a process of their own are larger than this together."""
_SAID_BYTES = 64_000


@naming_places()
def serve(
    folders: Sequence[Path],
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | None = None,
    names: Sequence[str] = (),
    journal_dirs: Sequence[Path] = (),
    is_read_only: bool = False,
    when_ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve the runs below some folders to browsers until the process is interrupted.

    Args:
        folders: Folders that hold runs, or run folders.
        host: The address to listen at.
        port: The port; default: one that is free.
        token: The token that a browser must send; default: one is made unless only this machine can reach the address.
        names: Further names under which browsers ask for this machine.
        journal_dirs: Folders outside ``folders`` in which journals may lie.
        is_read_only: Whether nothing can be written.
        when_ready: Called with the address once the server listens.

    Raises:
        PlanError: if a package is missing, there is no run, or the address is not available.
    """
    from polymeter.viewer.server import ListenAddress
    from polymeter.viewer.server import serve as serve_viewer

    address = ListenAddress(host, port, token, tuple(names))
    serve_viewer(
        folders, services(), address, journal_dirs=journal_dirs, is_read_only=is_read_only, when_ready=when_ready
    )


@naming_places()
def bundle(
    folders: Sequence[Path],
    target: Path,
    *,
    limit_samples: int | None = None,
    has_media: bool = True,
    has_notes: bool = True,
    journal_dirs: Sequence[Path] = (),
) -> Bundle:
    """Write the pages of the runs below some folders to a folder that any web server, or none, can serve.

    Args:
        folders: Folders that hold runs, or run folders.
        target: The folder to write. An earlier bundle is replaced once the new one is whole.
        limit_samples: The most samples of a task; default: 2,000.
        has_media: Whether images, video and audio are copied.
        has_notes: Whether the notes on samples are included.
        journal_dirs: Folders outside ``folders`` in which journals may lie.

    Raises:
        PlanError: if a package is missing, there is no run, there would be too many files, or ``target`` holds others.
        StorageError: if a file cannot be read or written.
    """
    from polymeter.viewer.bundle.writing import MOST_SAMPLES, BundleOptions, write_bundle

    options = BundleOptions(MOST_SAMPLES if limit_samples is None else limit_samples, has_media, has_notes)
    return write_bundle(folders, services(), target, options, journal_dirs=journal_dirs)


def services() -> Services:
    """Return the arguments of the viewer."""
    from polymeter.viewer.site import Services

    return Services(partial_results, _compare, _paired_names, _leaderboard)


def _compare(runs: Sequence[Path], allow: Sequence[str], pair_by: str) -> Mapping[str, Any]:
    """A comparison; that of large runs by a process of its own, which gives its memory back."""
    if sum(_journal_bytes(run) for run in runs) > _LARGE_BYTES:
        return _compare_apart(runs, allow, pair_by)
    from polymeter.analysis.comparison.comparing import compare

    return compare(*runs, allow=allow, pair_by=pair_by).document()


def _journal_bytes(run: Path) -> int:
    """The size of a run's journal; 0 if it is not in its folder."""
    journal = RunFolder(run).journal
    return journal.stat().st_size if journal.exists() else 0


def _compare_apart(runs: Sequence[Path], allow: Sequence[str], pair_by: str) -> Mapping[str, Any]:
    words = ["compare", *(str(run.absolute()) for run in runs), "--json", "--pair-by", pair_by]
    if allow:
        words += ["--allow", ",".join(allow)]
    child = Child([sys.executable, "-m", "polymeter", *words], stdout=subprocess.PIPE)
    try:
        text = child.stdout.read()
        if child.wait() != 0:
            told = [line.strip() for line in child.said(_SAID_BYTES).splitlines() if line.strip()]
            raise PlanError(" ".join(told).removeprefix("Error: ") or f"It ended with {child.status}.")
    finally:
        child.kill()
    document: dict[str, Any] = json.loads(text)
    return document


def _paired_names(runs: Sequence[Path], task: str, pair_by: str) -> Sequence[Mapping[str, str]]:
    from polymeter.analysis.comparison.pairing import paired_names

    return paired_names(runs, task, pair_by)


def _leaderboard(runs: Sequence[Path], allow: Sequence[str]) -> Mapping[str, Any]:
    from polymeter.analysis.leaderboards.board import leaderboard

    return leaderboard(*runs, allow=allow).document()
