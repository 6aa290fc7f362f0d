"""The progress of a run, and its scores so far: counts, scores and times all come from the same results."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from polymeter.report.table import title_of
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from polymeter.viewer.overview.in_short import ScoreInShort, scores_in_short
from polymeter.viewer.shelf import RunInShort
from polymeter.viewer.site import Viewer

_QUIET_S = 60
"""The number of seconds after which a run with the status ``running`` that writes nothing may have been killed."""


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """The progress of a task: its title, its counts, and its first score so far."""

    title: str
    planned: int
    ended: int
    failed: int
    score: ScoreInShort | None


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The progress of a run.

    Attributes:
        tasks: That of each task.
        quiet_s: Seconds since something was written.
        is_quiet: True if that is so long that the run may have been killed.
        elapsed_s: Seconds from the start of its last part to the last write; ``None`` if unknown.
        left_s: Seconds that the rest needs at the present speed; ``None`` if unknown.
    """

    tasks: tuple[TaskProgress, ...]
    quiet_s: float
    is_quiet: bool
    elapsed_s: float | None
    left_s: float | None

    @property
    def planned(self) -> int:
        """The samples of all tasks."""
        return sum(task.planned for task in self.tasks)

    @property
    def ended(self) -> int:
        """Those that have ended."""
        return sum(task.ended for task in self.tasks)

    @property
    def failed(self) -> int:
        """Those that have ended without a score."""
        return sum(task.failed for task in self.tasks)

    @property
    def percent(self) -> int:
        """The share of samples that have ended; 100 only at the end."""
        return 100 * self.ended // self.planned if self.planned else 0


def progress_of(viewer: Viewer, run: RunInShort, folder: RunFolder, results: Mapping[str, Any]) -> RunProgress:
    """Return the progress of a run.

    Args:
        viewer: The viewer.
        run: The run.
        folder: Its folder.
        results: Its results so far, of which counts and scores are those of one moment.
    """
    manifest = folder.read_manifest()
    scores = {score.name: score for score in scores_in_short(results)}
    tasks = tuple(_of_task(folder, results, task, scores) for task in manifest["tasks"])
    quiet = quiet_s(run, folder)
    is_quiet = run.is_live and quiet > _QUIET_S
    elapsed = _elapsed_s(manifest, quiet) if run.is_live else run.seconds
    ended, planned = sum(task.ended for task in tasks), sum(task.planned for task in tasks)
    left = None
    if run.is_live and not is_quiet and elapsed is not None:
        left = _left_s(viewer, run, manifest, elapsed, ended, planned)
    return RunProgress(tasks, quiet, is_quiet, elapsed, left)


def n_ended(run: RunInShort, folder: RunFolder) -> int:
    """Return the number of samples of a run that have ended."""
    return sum(sum(_statuses(folder, task).values()) for task in run.tasks)


def quiet_s(run: RunInShort, folder: RunFolder) -> float:
    """Return the number of seconds since something was written to a run's journal."""
    journal = folder.journal
    times = [path.stat().st_mtime for path in (journal, journal.with_name(f"{journal.name}-wal")) if path.exists()]
    return max(0.0, time.time() - max(times, default=(run.path / "run.json").stat().st_mtime))


def may_be_killed(run: RunInShort, folder: RunFolder) -> bool:
    """Return whether a run with the status ``running`` has written nothing for long."""
    return run.is_live and quiet_s(run, folder) > _QUIET_S


def _of_task(
    folder: RunFolder, results: Mapping[str, Any], task: Mapping[str, Any], scores: Mapping[str, ScoreInShort]
) -> TaskProgress:
    name = str(task["name"])
    own = results.get("tasks", {}).get(name, {})
    # Results of a large run that are not there yet have no counts; the journal has them at once.
    statuses = own["statuses"] if "statuses" in own else _statuses(folder, name)
    ended = sum(map(int, statuses.values()))
    planned = int(task.get("n_samples") or 0)
    return TaskProgress(
        title_of(results, "task", name), planned, ended, ended - int(statuses.get("ok", 0)), scores.get(name)
    )


def _statuses(folder: RunFolder, task: str) -> dict[str, int]:
    if not folder.journal.exists():
        return {}
    with closing(Journal(folder.journal)) as journal:
        return journal.statuses(task)


def _began(manifest: Mapping[str, Any]) -> float | None:
    """The start of the last part of a run, in seconds since the epoch."""
    sessions = manifest.get("sessions") or [{}]
    stamp = str(sessions[-1].get("started") or manifest.get("started") or "")
    try:
        return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def _elapsed_s(manifest: Mapping[str, Any], quiet: float) -> float | None:
    began = _began(manifest)
    return None if began is None else max(time.time() - quiet - began, 0.0)


def _left_s(
    viewer: Viewer, run: RunInShort, manifest: Mapping[str, Any], elapsed: float, ended: int, planned: int
) -> float | None:
    """The time that the rest needs. Of a run with several parts, the samples of the last one are not known: there the
    speed is that since the viewer first looked at it.
    """
    done, seconds = ended, elapsed
    if len(manifest.get("sessions") or ()) > 1:
        key = ("progress", run.path, _began(manifest))
        first_s, first = viewer.remember(key, lambda: (elapsed, ended))
        done, seconds = ended - first, elapsed - first_s
    return (planned - ended) * seconds / done if done > 0 and seconds > 0 else None
