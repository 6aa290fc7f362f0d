"""The list of all runs: search, status, their first numbers, and check boxes to compare or rank them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.viewer.shelf import RunInShort
from polymeter.viewer.site import PageRequest, Viewer, ViewerPage, address

if TYPE_CHECKING:
    from starlette.responses import Response

_AT_ONCE = 100
_STATUSES = ("complete", "running", "interrupted", "stopped", "failed", "unreadable")


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """The page."""
    every = viewer.shelf.runs()
    words, status = asked.get("q"), asked.get("status")
    found = [run for run in every if status in ("", run.status) and _has(run, words)]
    n_pages = max(1, -(-len(found) // _AT_ONCE))
    page = min(max(asked.number("page", 1), 1), n_pages)

    def at(number: int) -> str:
        return address("/", (("q", words), ("status", status), ("page", str(number))))

    return viewer.html(
        "runs.html",
        runs=found[(page - 1) * _AT_ONCE : page * _AT_ONCE],
        n_found=len(found),
        n_all=len(every),
        folders=[str(folder) for folder in viewer.shelf.folders],
        words=words,
        status=status,
        statuses=[(name, n) for name in _STATUSES if (n := sum(run.status == name for run in every))],
        page=page,
        n_pages=n_pages,
        before=at(page - 1) if page > 1 else "",
        after=at(page + 1) if page < n_pages else "",
    )


def _has(run: RunInShort, words: str) -> bool:
    """Return whether each word occurs in the list's texts on a run."""
    said = " ".join((run.name, run.model, run.status, run.imported, *run.tasks)).lower()
    return all(word in said for word in words.lower().split())


PAGES = (ViewerPage("/", show, menu="Runs", order=10),)
