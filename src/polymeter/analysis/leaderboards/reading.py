"""The runs of a leaderboard: their folders, and the content of their two small files. No journal is opened."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, PolymeterError
from polymeter.report.formatting import one_line
from polymeter.store.folder import RunFolder


@dataclass(frozen=True)
class BoardRun:
    """A run with results.

    Attributes:
        path: Its folder, by the path that was used.
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
        """A key that is equal for two runs of the same model."""
        identity = self.manifest.get("identity", {}).get("model") or self.manifest.get("model", {}).get("identity")
        return json.dumps([self.model, identity], sort_keys=True, default=str)

    @property
    def ablation(self) -> str:
        """The name of its ablation; empty: its prompts are whole."""
        return one_line(str((self.manifest.get("identity", {}).get("options") or {}).get("ablation") or ""))

    @property
    def ended(self) -> str:
        """The time when it ended, or began if it has not ended."""
        return str(self.manifest.get("ended") or self.manifest.get("started") or "")

    @property
    def is_complete(self) -> bool:
        """True if it has ended."""
        return self.manifest.get("status") == "complete"

    @cached_property
    def tasks(self) -> dict[str, Mapping[str, Any]]:
        """The entry of each task in the manifest, by name."""
        return {task["name"]: task for task in self.manifest.get("tasks", ())}

    @property
    def folder(self) -> RunFolder:
        """Its folder, with the journal at the place in the manifest."""
        elsewhere = self.manifest.get("journal_dir")
        return RunFolder(self.path, Path(elsewhere) if elsewhere else None)


def read_board_runs(paths: Sequence[Path]) -> tuple[list[BoardRun], list[tuple[Path, str]]]:
    """Read the runs in some run folders. Return the runs, and the folders that are left out, with the reason: they
    cannot be read, or they are ablations, which lie beside the runs that they were made of.

    Raises:
        PlanError: if no run can be read.
    """
    runs: list[BoardRun] = []
    left_out: list[tuple[Path, str]] = []
    for path in paths:
        folder = RunFolder(path)
        try:
            manifest = folder.read_manifest()
            if not folder.results.exists():
                status = one_line(str(manifest.get("status")))
                hint = f"'polymeter report {path}' writes partial results."
                left_out.append((path, f"it has no results yet (status {status}). {hint}"))
                continue
            runs.append(BoardRun(path, manifest, folder.read_results()))
        except PolymeterError as error:  # one damaged run must not hide the others
            left_out.append((path, one_line(error.what)))
    if not all(run.ablation for run in runs):
        left_out += [(run.path, f"it is an ablation ({run.ablation})") for run in runs if run.ablation]
        runs = [run for run in runs if not run.ablation]
    if not runs:
        told = "\n".join(f"  - {path}: {why}" for path, why in left_out)
        raise PlanError(f"None of the runs has results:\n{told}")
    return runs, left_out
