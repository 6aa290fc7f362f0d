"""The progress of a running run: the number of ended samples by status. A script requests it again and again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from polymeter.report.table import title_of
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from polymeter.viewer.shelf import RunInShort
from polymeter.viewer.site import PageRequest, Viewer, ViewerPage

if TYPE_CHECKING:
    from starlette.responses import Response

_PATH = "/run/{run}/progress"
_QUIET_S = 60
"""The number of seconds after which a run with the status ``running`` that writes nothing may have been killed."""


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """Show the progress of each task; a page of its own without a script."""
    run = viewer.run(asked)
    folder = viewer.shelf.open(run)
    results = viewer.results(run, folder)
    tasks = [_of_task(folder, results, task) for task in folder.read_manifest()["tasks"]]
    told: dict[str, Any] = {"tasks": tasks, "quiet_s": quiet_s(run, folder), "is_quiet": _is_quiet(run, folder)}
    if asked.is_part:
        return viewer.html("progress_part.html", run=run, **told)
    return viewer.run_html("progress.html", run, "/run/{run}", **told)


def _of_task(folder: RunFolder, results: Mapping[str, Any], task: Mapping[str, Any]) -> dict[str, Any]:
    """The progress of a task."""
    name = str(task["name"])
    statuses = _statuses(folder, name)
    ended = sum(statuses.values())
    return {
        "title": title_of(results, "task", name),
        "planned": int(task.get("n_samples") or 0),
        "ended": ended,
        "failed": ended - statuses.get("ok", 0),
        "numbers": _numbers(results, name),
    }


def short(viewer: Viewer, asked: PageRequest) -> Response:
    """Show the progress of a run, in the list of runs."""
    run = viewer.run(asked)
    folder = viewer.shelf.open(run)
    ended = sum(sum(_statuses(folder, task).values()) for task in run.tasks)
    return viewer.html("progress_short.html", run=run, ended=ended, is_quiet=_is_quiet(run, folder))


def quiet_s(run: RunInShort, folder: RunFolder) -> float:
    """Return the number of seconds since something was written to a run's journal."""
    journal = folder.journal
    times = [path.stat().st_mtime for path in (journal, journal.with_name(f"{journal.name}-wal")) if path.exists()]
    return max(0.0, time.time() - max(times, default=(run.path / "run.json").stat().st_mtime))


def _is_quiet(run: RunInShort, folder: RunFolder) -> bool:
    return run.is_live and quiet_s(run, folder) > _QUIET_S


def _statuses(folder: RunFolder, task: str) -> dict[str, int]:
    if not folder.journal.exists():
        return {}
    with closing(Journal(folder.journal)) as journal:
        return journal.statuses(task)


def _numbers(results: Mapping[str, Any], task: str) -> list[tuple[str, Any]]:
    """The numbers of a task so far."""
    own = results.get("tasks", {}).get(task, {}).get("results", ())
    return [(str(one["metric"]), one["value"]) for one in own if not one.get("subset")][:3]


PAGES = (ViewerPage(_PATH, show), ViewerPage(f"{_PATH}/short", short))
