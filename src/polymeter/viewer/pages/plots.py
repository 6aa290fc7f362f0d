"""Plots of a task: scores by category, distributions, the model's confidence, its confusions, and its usage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.viewer.browsing import browsed
from polymeter.viewer.overview.breakdown import category_breakdowns
from polymeter.viewer.plots import columns_of_index, plots_of
from polymeter.viewer.site import PageRequest, Viewer, ViewerPage

if TYPE_CHECKING:
    from starlette.responses import Response

PATH = "/run/{run}/plots"


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """The page."""
    own = browsed(viewer, asked)
    index = own.found.index
    if index is None:
        return viewer.run_html("waiting.html", own.run, PATH, own=own, here=own.address("plots"))
    return viewer.run_html(
        "plots.html",
        own.run,
        PATH,
        own=own,
        breakdowns=[*category_breakdowns(own.run.key, own.task, index, own.main)],
        plots=plots_of(columns_of_index(index), own.of_task),
    )


PAGES = (ViewerPage(PATH, show, tab="Plots", order=30),)
