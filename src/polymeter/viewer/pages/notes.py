"""Adds and deletes the notes on samples, and leads back to the page of the form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.viewer.notes import leave_note, tags_in, take_back
from polymeter.viewer.shelf import RunInShort
from polymeter.viewer.site import NotFoundError, PageRequest, Viewer, ViewerPage, see

if TYPE_CHECKING:
    from starlette.responses import Response


def post(viewer: Viewer, asked: PageRequest) -> Response:
    """Add a note, or delete one."""
    run = viewer.run(asked)
    viewer.shelf.check(run.path)
    by = asked.posted("by")
    if asked.posted("take_back"):
        take_back(run.path, asked.posted("take_back"), by)
    else:
        task = asked.posted("task")
        if task not in run.tasks:
            raise NotFoundError(f"The run {run.name} has no task {task!r}.")
        leave_note(run.path, task, asked.posted("sample"), asked.posted("text"), tags_in(asked.posted("tags")), by)
    return see(way_back(asked, run))


def way_back(asked: PageRequest, run: RunInShort) -> str:
    """Return the address of the page that a form was on: only a page of this site, else that of the run."""
    back = asked.posted("back")
    # "//" and "/\" begin an address elsewhere.
    is_own = back.startswith("/run/") and "\\" not in back and back.isprintable()
    return back if is_own else f"/run/{run.key}"


PAGES = (ViewerPage("/run/{run}/notes", post, method="POST"),)
