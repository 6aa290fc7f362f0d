"""Run folders below the folders that a user names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from polymeter.core.errors import PlanError, no_folder
from polymeter.core.machine.places import stored_at
from polymeter.store.folder import RunFolder

_DEPTH = 4
"""The depth to which runs are searched below a named folder, as in the viewer: ``runs/track/out/400`` lies at 3."""


def find_runs(paths: Sequence[Path]) -> list[Path]:
    """Return the run folders among some folders, and those up to four levels below the others.

    Raises:
        PlanError: if a folder is missing, or contains no run.
        StorageError: if one cannot be read.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        with stored_at(path, "Looking for runs"):
            if not path.is_dir():
                raise PlanError(no_folder(path), hint="Name run folders, or a folder that contains them.")
            inside = [*_runs_below(path, _DEPTH)]
        if not inside:
            raise PlanError(
                f"The folder {path} contains no run.",
                where=str(path),
                hint=f"A run folder has a run.json. Run folders are searched up to {_DEPTH} levels deep.",
            )
        for run in inside:
            found.setdefault(run.resolve(), run)
    return list(found.values())


def _runs_below(path: Path, depth: int) -> Iterator[Path]:
    if RunFolder(path).manifest.exists():
        yield path
    elif depth:
        for inside in sorted(path.iterdir()):
            if inside.is_dir() and not inside.name.startswith("."):
                yield from _runs_below(inside, depth - 1)
