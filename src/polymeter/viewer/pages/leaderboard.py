"""The models of the selected runs, or of all complete runs, ranked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polymeter.core.errors import PolymeterError
from polymeter.report.leaderboard.page import leaderboard_values
from polymeter.viewer.site import ALLOWED, PageRequest, Viewer, ViewerPage, address

if TYPE_CHECKING:
    from starlette.responses import Response

_PATH = "/leaderboard"


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """The page."""
    keys = asked.all("run")
    allow = [what for what in ALLOWED if what in asked.all("allow")]
    runs = [viewer.run_named(key) for key in keys] or [run for run in viewer.shelf.runs() if run.status == "complete"]
    sort, order = asked.get("sort"), asked.get("order")
    told: dict[str, Any] = {
        "chosen": [run for run in runs if run.key in keys],
        "allow": allow,
        "allowed": ALLOWED,
        "sort": sort,
    }
    for run in runs:
        viewer.shelf.check(run.path)
    if not runs:
        return viewer.html("leaderboard_page.html", trouble="No run is complete yet.", hint="", **told)
    paths = [run.path for run in runs]
    states = tuple((run.path / "results.json").stat().st_mtime_ns if run.scores else 0 for run in runs)
    try:
        document = viewer.remember((_PATH, *paths, states, *allow), lambda: viewer.services.leaderboard(paths, allow))
    except PolymeterError as error:
        return viewer.html("leaderboard_page.html", trouble=error.what, hint=error.hint or "", **told)
    kept = [*(("run", key) for key in keys), *(("allow", what) for what in allow)]

    def link(key: str, direction: str) -> str:
        return address(_PATH, [*kept, ("sort", key), ("order", direction)])

    values = leaderboard_values(document, sort, order, link)
    return viewer.html("leaderboard_page.html", trouble="", hint="", **told, **values)


PAGES = (ViewerPage(_PATH, show, menu="Leaderboard", order=20),)
