"""The state of the runs that a bundle shows: read once, so that all of its pages agree while a run continues."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from polymeter.core.errors import PolymeterError
from polymeter.store.folder import RunFolder
from polymeter.viewer.bundle.private import Private
from polymeter.viewer.indexes import Found, Indexes
from polymeter.viewer.shelf import RunInShort, Shelf
from polymeter.viewer.site import Services

_POLL_S = 0.1
_AHEAD = 50
"""Samples that are read together when their pages are written one after the other."""
_KEPT = 400
"""Samples of the last lists that are kept for their own pages."""


@dataclass(frozen=True)
class CopiedFolder(RunFolder):
    """A run's folder whose manifest holds nothing private. Both documents are read once."""

    private: Private = None  # type: ignore[assignment]  # the fields before it have defaults

    def read_manifest(self, *, is_whole: bool = False) -> dict[str, Any]:
        """The manifest, without the machine that it was written on."""
        return self._manifest

    def read_results(self) -> dict[str, Any]:
        """The results; errors as for a run's own folder."""
        return self._results

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        return self.private.manifest(RunFolder(self.path).read_manifest())

    @cached_property
    def _results(self) -> dict[str, Any]:
        return RunFolder(self.path).read_results()


class CopiedShelf(Shelf):
    """The runs as they were at the first look."""

    def __init__(self, folders: Sequence[Path], journal_dirs: Sequence[Path] = ()) -> None:
        super().__init__(folders, journal_dirs)
        self._all = super().runs()
        self._by_key = {run.key: run for run in self._all}
        self._opened: dict[str, CopiedFolder] = {}
        self._ahead: dict[int, dict[str, Any]] = {}
        self._ahead_of: tuple[Path, str] | None = None
        self._last = -1
        self._kept: dict[tuple[Path, str, int], dict[str, Any]] = {}
        manifests = [RunFolder(run.path).read_manifest() for run in self._all if not run.trouble]
        self.private = Private([*self.folders, *folders, *journal_dirs], manifests)

    def runs(self) -> list[RunInShort]:
        """All runs, the newest first."""
        return self._all

    def run(self, key: str) -> RunInShort:
        """The run with this key; ``LookupError`` as for a shelf."""
        return self._by_key[key]

    def open(self, run: RunInShort) -> RunFolder:
        """Return a run's folder; errors as for a shelf."""
        if run.key not in self._opened:
            found = super().open(run)
            self._opened[run.key] = CopiedFolder(found.path, found.journal_dir, self.private)
        return self._opened[run.key]

    def read_some(
        self, folder: RunFolder, task: str, indices: Sequence[int], offsets: Sequence[int] = ()
    ) -> list[dict[str, Any]]:
        """Read samples as a shelf does. Those of a list are kept for a while, and a row of single samples is read
        ahead: opening the journal takes longest.
        """
        if len(indices) != 1 or not folder.journal.exists():
            listed = super().read_some(folder, task, indices, offsets)
            self._kept |= {(folder.path, task, int(sample["index"])): sample for sample in listed}
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
            return listed
        (index,), of = indices, (folder.path, task)
        if (kept := self._kept.pop((*of, index), None)) is not None:
            return [kept]
        if self._ahead_of == of and index in self._ahead:
            return [self._ahead.pop(index)]
        is_next = self._ahead_of == of and 0 < index - self._last <= _AHEAD
        self._ahead_of, self._last = of, index
        wanted = range(index, index + _AHEAD) if is_next else [index]
        read = super().read_some(folder, task, wanted, ())
        self._ahead = {int(sample["index"]): sample for sample in read}
        return [self._ahead.pop(index)] if index in self._ahead else []

    def journal_is_elsewhere(self, run: RunInShort) -> str:
        """Empty: the advice to start the viewer with another folder is of no use to a bundle's readers."""
        return ""

    def _name(self, root: Path, path: Path) -> str:
        """The name of a run. Where two viewed folders share a name, a number distinguishes them and not their path."""
        if len(self.folders) == 1 or sum(folder.name == root.name for folder in self.folders) == 1:
            return super()._name(root, path)
        label = f"{root.name}-{[folder for folder in self.folders if folder.name == root.name].index(root) + 1}"
        return label if path == root else f"{label}/{path.relative_to(root)}"


class CopiedIndexes(Indexes):
    """The indexes of a snapshot: each is waited for, and kept."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._kept: dict[tuple[Path, str], Found] = {}

    def find(self, run: RunFolder, task: str) -> Found:
        """The index of a task; errors as for all indexes."""
        key = (run.path, task)
        if key not in self._kept:
            while (found := super().find(run, task)).index is None:
                time.sleep(_POLL_S)
            self._kept[key] = Found(found.index)
        return self._kept[key]


def made_once(services: Services) -> Services:
    """Return services that make each result once: many pages of a bundle show the same one."""
    made: dict[tuple[Any, ...], Any] = {}

    def once(key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if key not in made:
            try:
                made[key] = make()
            except PolymeterError as error:
                made[key] = error
        if isinstance(made[key], PolymeterError):
            raise made[key]
        return made[key]

    def partial(folder: RunFolder) -> Mapping[str, Any]:
        found: Mapping[str, Any] = once(
            ("partial", folder.path), lambda: services.partial(RunFolder(folder.path, folder.journal_dir))
        )
        return found

    def compare(runs: Sequence[Path], allow: Sequence[str], pair_by: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = once(
            ("compare", *runs, *allow, pair_by), lambda: services.compare(runs, allow, pair_by)
        )
        return found

    return Services(partial, compare, services.paired_names, services.leaderboard)
