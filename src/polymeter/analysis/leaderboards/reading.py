"""The runs of a leaderboard: which folders hold them, and what their two small files say. No journal is opened."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, PolymeterError
from polymeter.core.machine.places import stored_at
from polymeter.report.formatting import one_line
from polymeter.store.folder import RunFolder

_DEPTH = 2
"""How many folders below one that was named runs are looked for."""


@dataclass(frozen=True)
class BoardRun:
    """A run with results.

    Attributes:
        path: Its folder, as it was reached.
        manifest: The content of ``run.json``.
        results: The content of ``results.json``.
    """

    path: Path
    manifest: Mapping[str, Any] = field(repr=False)
    results: Mapping[str, Any] = field(repr=False)

    @property
    def name(self) -> str:
        """The name of its folder."""
        return one_line(self.path.resolve().name)

    @property
    def model(self) -> str:
        """The name of its model."""
        return one_line(str(self.results.get("model") or self.manifest.get("model", {}).get("name") or ""))

    @cached_property
    def model_key(self) -> str:
        """What is equal for two runs of the same model."""
        identity = self.manifest.get("identity", {}).get("model") or self.manifest.get("model", {}).get("identity")
        return json.dumps([self.model, identity], sort_keys=True, default=str)

    @property
    def ended(self) -> str:
        """When it ended, or began if it has not."""
        return str(self.manifest.get("ended") or self.manifest.get("started") or "")

    @property
    def is_complete(self) -> bool:
        """Whether it has ended."""
        return self.manifest.get("status") == "complete"

    @cached_property
    def tasks(self) -> dict[str, Mapping[str, Any]]:
        """What the manifest says of each task, by name."""
        return {task["name"]: task for task in self.manifest.get("tasks", ())}

    @property
    def folder(self) -> RunFolder:
        """Its folder, with the journal where the manifest says."""
        elsewhere = self.manifest.get("journal_dir")
        return RunFolder(self.path, Path(elsewhere) if elsewhere else None)


def find_runs(paths: Sequence[Path]) -> list[Path]:
    """The run folders among some folders, and in those that are none, one or two levels deep.

    Raises:
        PlanError: if a folder is not there, or holds no run.
        StorageError: if one cannot be read.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        with stored_at(path, "Looking for runs"):
            if not path.is_dir():
                raise PlanError(f"There is no folder {path}.", hint="Name run folders, or a folder that holds them.")
            inside = [*_runs_below(path, _DEPTH)]
        if not inside:
            raise PlanError(
                f"The folder {path} holds no run.",
                where=str(path),
                hint=f"A run folder has a run.json. They are looked for up to {_DEPTH} levels deep.",
            )
        for run in inside:
            found.setdefault(run.resolve(), run)
    return list(found.values())


def read_board_runs(paths: Sequence[Path]) -> tuple[list[BoardRun], list[tuple[Path, str]]]:
    """The runs in some run folders, and those that cannot be read, with the reason.

    Raises:
        PlanError: if none can be read.
    """
    runs: list[BoardRun] = []
    left_out: list[tuple[Path, str]] = []
    for path in paths:
        folder = RunFolder(path)
        try:
            manifest = folder.read_manifest()
            if not folder.results.exists():
                status = one_line(str(manifest.get("status")))
                hint = f"'polymeter report {path}' writes those that there are."
                left_out.append((path, f"it has no results yet (status {status}). {hint}"))
                continue
            runs.append(BoardRun(path, manifest, folder.read_results()))
        except PolymeterError as error:  # one damaged run must not hide the others
            left_out.append((path, one_line(error.what)))
    if not runs:
        told = "\n".join(f"  - {path}: {why}" for path, why in left_out)
        raise PlanError(f"None of the runs has results:\n{told}")
    return runs, left_out


def _runs_below(path: Path, depth: int) -> Iterator[Path]:
    if RunFolder(path).manifest.exists():
        yield path
    elif depth:
        for inside in sorted(path.iterdir()):
            if inside.is_dir() and not inside.name.startswith("."):
                yield from _runs_below(inside, depth - 1)
