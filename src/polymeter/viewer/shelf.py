"""The runs below the folders of the viewer, each in short.

A run's files are read again only when they have changed. Nothing outside the given folders is ever read, not even
through a symbolic link: a run with a file that leads out is listed as unreadable. The one exception is a journal that
its user put elsewhere (``--journal-dir``), and only in folders named for it.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, PolymeterError
from polymeter.core.media.sources import digest
from polymeter.report.formatting import as_float, one_line
from polymeter.report.run.provenance import headline
from polymeter.store.exports.export import read_some
from polymeter.store.exports.imported import imported_from
from polymeter.store.folder import RunFolder
from polymeter.viewer.overview.in_short import ScoreInShort, UsageInShort, scores_in_short, usage_in_short

_DEEPEST = 4
_TRACK = "track.json"
"""The record that ``polymeter track`` writes beside the run folders of one training run."""
_UNSAFE = re.compile(r"[^\w.@+=,-]", re.ASCII)
_OF_RUN = (
    "run.json",
    "results.json",
    "journal.db",
    "journal.db-wal",
    "journal.db-shm",
    "media",
    "samples",
    "notes.jsonl",
    "verdicts.jsonl",
    "ablation.json",
)


_Stamp = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class RunInShort:
    """A run as the list shows it.

    Attributes:
        key: Its name in addresses.
        name: Its path below the given folder.
        path: Its folder.
        model: The model.
        status: ``complete``, ``running``, ``interrupted``, ``stopped``, ``failed``, ``partial`` or ``unreadable``.
        reason: The reason why it was stopped, or failed; else empty.
        started: ISO 8601; empty if unknown.
        n_planned: Samples planned.
        n_scored: Samples with a score; of a run without results, 0.
        n_failed: Samples that ended without one.
        tasks: The names of its tasks.
        scores: The first metric of each task and group, those at the top of its table first.
        seconds: Its duration; ``None`` if unknown.
        usage: Its tokens and cost.
        step: The step of the checkpoint that it measured, if it is one of a training run; else ``None``.
        imported: The tool that it was imported from, or empty.
        facts: The head of its report: pairs of label and value.
        trouble: The reason why it cannot be read; empty if it can.
    """

    key: str
    name: str
    path: Path
    model: str = ""
    status: str = ""
    reason: str = ""
    started: str = ""
    n_planned: int = 0
    n_scored: int = 0
    n_failed: int = 0
    tasks: tuple[str, ...] = ()
    scores: tuple[ScoreInShort, ...] = ()
    seconds: float | None = None
    usage: UsageInShort = field(default_factory=UsageInShort)
    step: int | None = None
    imported: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    trouble: str = ""

    @property
    def is_live(self) -> bool:
        """True if more may come: by its manifest it has not ended."""
        return self.status == "running"

    @property
    def place(self) -> str:
        """The folder that it lies in, as part of its name; empty for one at the top."""
        return self.name.rpartition("/")[0]


class Shelf:
    """The runs below some folders. Thread-safe.

    Args:
        folders: The folders, or run folders themselves.
        journal_dirs: Folders outside these in which journals may lie.
    """

    def __init__(self, folders: Sequence[Path], journal_dirs: Sequence[Path] = ()) -> None:
        self.folders = tuple(dict.fromkeys(folder.resolve() for folder in folders))
        self._journal_dirs = tuple(folder.resolve() for folder in journal_dirs)
        self._known: dict[Path, tuple[tuple[Any, ...], RunInShort]] = {}
        self._tracks: dict[Path, tuple[_Stamp, Mapping[str, int]]] = {}
        self._keys: dict[str, Path] = {}
        self._lock = threading.Lock()

    def runs(self) -> list[RunInShort]:
        """All runs, the newest first."""
        with self._lock:
            found = [self._in_short(root, path) for root, path in self._paths()]
            self._keys = {run.key: run.path for run in found}
            alive = set(self._keys.values())
            self._known = {path: known for path, known in self._known.items() if path in alive}
        return sorted(sorted(found, key=lambda run: run.name), key=lambda run: run.started, reverse=True)

    def run(self, key: str) -> RunInShort:
        """The run with this key.

        Raises:
            LookupError: if there is none.
        """
        path = self._keys.get(key)
        if path is None or not (path / "run.json").exists():
            self.runs()
            path = self._keys[key]
        with self._lock:
            return self._in_short(self._root_of(path), path)

    def read_some(
        self, folder: RunFolder, task: str, indices: Sequence[int], offsets: Sequence[int] = ()
    ) -> list[dict[str, Any]]:
        """Read samples of a run; arguments and errors as for ``store.exports.export.read_some``."""
        return read_some(folder, task, indices, offsets)

    def open(self, run: RunInShort) -> RunFolder:
        """Return a run's folder, for reading, with its journal if that may be read.

        Raises:
            PlanError: if a file of the run leads out of the folders, or its manifest is damaged.
        """
        self.check(run.path)
        folder = RunFolder(run.path)
        elsewhere = folder.read_manifest().get("journal_dir")
        if elsewhere and Path(elsewhere).resolve() in (*self._journal_dirs, *self.folders):
            return RunFolder(run.path, Path(elsewhere).resolve())
        return folder

    def journal_is_elsewhere(self, run: RunInShort) -> str:
        """The folder of a run's journal that the viewer may not read; empty if there is no such folder."""
        elsewhere = RunFolder(run.path).read_manifest().get("journal_dir")
        return str(elsewhere) if elsewhere and self.open(run).journal_dir is None else ""

    def check(self, path: Path, names: Sequence[str] = _OF_RUN) -> None:
        """Check that a run's files lie inside the given folders.

        Raises:
            PlanError: if one leads out.
        """
        for place in (path, *(path / name for name in names)):
            if not self.is_inside(place):
                raise PlanError(
                    f"{place.name} is a link that leads out of the viewed folder.",
                    where=str(place),
                    hint="Start 'polymeter view' with the folder that it leads to.",
                )

    def is_inside(self, path: Path) -> bool:
        """Return whether a path, with all links followed, lies in one of the given folders."""
        real = Path(os.path.realpath(path))
        return any(real == folder or real.is_relative_to(folder) for folder in self.folders)

    def _paths(self) -> Iterator[tuple[Path, Path]]:
        for root in self.folders:
            yield from ((root, path) for path in _below(root, _DEEPEST))

    def _root_of(self, path: Path) -> Path:
        return next(root for root in self.folders if path == root or path.is_relative_to(root))

    def _in_short(self, root: Path, path: Path) -> RunInShort:
        stamp = (_stamp(path / "run.json"), _stamp(path / "results.json"), _stamp(path.parent / _TRACK))
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            name = self._name(root, path)
            step = self._steps(path.parent, stamp[2]).get(path.name)
            known = stamp, self._read(RunInShort(_key(name), one_line(name), path, step=step))
            self._known[path] = known
        return known[1]

    def _steps(self, folder: Path, stamp: _Stamp) -> Mapping[str, int]:
        """The steps of the checkpoints whose runs lie in a folder, by the names of their folders."""
        if stamp is None or not self.is_inside(folder / _TRACK):
            return {}
        known = self._tracks.get(folder)
        if known is None or known[0] != stamp:
            known = self._tracks[folder] = stamp, _steps_in(folder / _TRACK)
        return known[1]

    def _name(self, root: Path, path: Path) -> str:
        """The path of a run below its folder; with several folders, the name of this one stands before it."""
        inside = "" if path == root else str(path.relative_to(root))
        if len(self.folders) == 1:
            return inside or path.name
        is_unique = sum(folder.name == root.name for folder in self.folders) == 1
        label = root.name if is_unique else str(root).strip("/")
        return f"{label}/{inside}" if inside else label

    def _read(self, run: RunInShort) -> RunInShort:
        try:
            self.check(run.path)
            folder = RunFolder(run.path)
            manifest = folder.read_manifest()
            results = folder.read_results() if folder.results.exists() else {}
            return _of_files(run, manifest, results)
        except PolymeterError as error:
            return replace(run, status="unreadable", trouble=error.what)


def _below(path: Path, depth: int) -> Iterator[Path]:
    """The run folders at or below a path. Links to folders are not followed."""
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError:
        return
    if any(entry.name == "run.json" for entry in entries):
        yield path
        return
    if depth:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                yield from _below(Path(entry.path), depth - 1)


def _steps_in(file: Path) -> dict[str, int]:
    """The steps in a record of ``polymeter track``; none if it is damaged: its runs are then listed one by one."""
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))["checkpoints"]
        return {str(entry["run"]): int(entry["step"]) for entry in entries if entry.get("run")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _stamp(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _key(name: str) -> str:
    """A run's name as one part of an address."""
    key = _UNSAFE.sub("_", name.replace("/", "~").replace("~", "-"))
    return (
        key
        if key == name and not key.startswith(".")
        else f"{key.lstrip('.')}-{digest(name.encode('utf-8', 'replace'))[:6]}"
    )


def _of_files(run: RunInShort, manifest: Mapping[str, Any], results: Mapping[str, Any]) -> RunInShort:
    tasks = results.get("tasks", {})
    planned = sum(int(task.get("n_samples") or 0) for task in manifest.get("tasks", ()))
    statuses = [(status, int(n)) for task in tasks.values() for status, n in (task.get("statuses") or {}).items()]
    head = headline(manifest, results)
    return replace(
        run,
        model=head.model,
        status=one_line(str(manifest.get("status") or "")),
        reason=one_line(str((manifest.get("sessions") or [{}])[-1].get("reason") or "")),
        started=str(manifest.get("started") or ""),
        n_planned=planned or sum(int(task.get("n_samples") or 0) for task in tasks.values()),
        n_scored=sum(int(task.get("n_scored") or 0) for task in tasks.values()),
        n_failed=sum(n for status, n in statuses if status != "ok"),
        tasks=tuple(str(task.get("name")) for task in manifest.get("tasks", ())),
        scores=tuple(scores_in_short(results)),
        seconds=as_float(manifest.get("seconds")),
        usage=usage_in_short(manifest, results),
        imported=imported_from(manifest),
        facts=head.facts,
    )
