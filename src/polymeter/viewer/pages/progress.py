"""The progress of a running run: what is done, how long the rest needs, and the scores so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.viewer.overview.progressing import may_be_killed, n_ended, progress_of
from polymeter.viewer.site import PageRequest, Viewer, ViewerPage

if TYPE_CHECKING:
    from starlette.responses import Response

_PATH = "/run/{run}/progress"


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """Show the progress of each task; a script requests it again and again."""
    run = viewer.run(asked)
    folder = viewer.shelf.open(run)
    progress = progress_of(viewer, run, folder, viewer.results(run, folder))
    if asked.is_part:
        return viewer.html("progress_part.html", run=run, progress=progress)
    return viewer.run_html("progress.html", run, "/run/{run}", progress=progress)


def short(viewer: Viewer, asked: PageRequest) -> Response:
    """Show the progress of a run, in the list of runs."""
    run = viewer.run(asked)
    folder = viewer.shelf.open(run)
    return viewer.html("progress_short.html", run=run, ended=n_ended(run, folder), is_quiet=may_be_killed(run, folder))


PAGES = (ViewerPage(_PATH, show), ViewerPage(f"{_PATH}/short", short))
