"""The samples of a task: filters, and one page of them from the journal as rows, as a dense table or as images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from polymeter.report.formatting import one_line
from polymeter.viewer.browsing import Browsed, browsed, other_runs
from polymeter.viewer.filters import (
    BLIND,
    CUTS,
    PLACES,
    SORTS,
    STATES,
    VERDICTS,
    VIEWS,
    found_in,
    n_in_state,
    sorting_metric,
)
from polymeter.viewer.sample_index import SampleIndex
from polymeter.viewer.sample_rows import images_of_sample, sample_row
from polymeter.viewer.site import PageRequest, Viewer, ViewerPage

if TYPE_CHECKING:
    from starlette.responses import Response

__all__ = ["AT_ONCE", "PAGES", "images_of_sample", "show"]

PATH = "/run/{run}/samples"
AT_ONCE = 50
"""Samples on one page."""
_MOST_LISTED = 200
_MOST_SHOWN_FIELDS = 6
_MOST_COLUMNS = 6
"""Metrics of the dense table."""
_MOST_SORTED = 40
"""Metrics in the list of orders."""


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """The page."""
    own = browsed(viewer, asked)
    index = own.found.index
    if index is None:
        return viewer.run_html("waiting.html", own.run, PATH, own=own, here=own.address("samples"))
    selection = own.selection()
    n_pages = max(1, -(-len(selection) // AT_ONCE))
    page = min(max(asked.number("page", 1), 1), n_pages)
    start = (page - 1) * AT_ONCE
    positions = [int(position) for position in selection.positions[start : start + AT_ONCE]]
    sorted_by = sorting_metric(index, own.filters, own.main)
    return viewer.run_html(
        "samples.html",
        own.run,
        PATH,
        own=own,
        filters=own.filters,
        rows=[sample_row(own, sample, sorted_by) for sample in own.read(positions)],
        columns=[*_columns(own, index, sorted_by)],
        n_found=len(selection),
        start=start,
        page=page,
        n_pages=n_pages,
        before=own.address("samples", (("page", str(page - 1)),)) if page > 1 else "",
        after=own.address("samples", (("page", str(page + 1)),)) if page < n_pages else "",
        chips=[(said, own.address("samples", query=rest)) for said, rest in own.filters.chips()],
        views=[
            (said, own.address("samples", query=own.filters.query_with("view", view)), view == own.filters.view)
            for view, said in VIEWS.items()
        ],
        exports=[(kind, own.address(f"export.{kind}")) for kind in ("csv", "parquet", "jsonl")],
        here=own.address("samples"),
        **_choices(viewer, own, index, sorted_by),
    )


def _choices(viewer: Viewer, own: Browsed, index: SampleIndex, sorted_by: str) -> Mapping[str, Any]:
    """Return the values that the filters offer."""
    fields = sorted(index.fields.items(), key=lambda entry: len(entry[1]))[:_MOST_SHOWN_FIELDS]
    chosen = {name for name, _ in own.filters.categories}
    fields += [(name, values) for name, values in index.fields.items() if name in chosen and name not in dict(fields)]
    counts = {state: n_in_state(index, state, own.main) for state in STATES}
    always = ("right", "wrong") if own.main is not None else ()
    return {
        "states": [(state, n) for state, n in counts.items() if n or state in always or state in own.filters.states],
        "statuses": index.statuses,
        "cuts": [(kind, CUTS[kind], n) for kind, n in index.cuts.items()],
        "subsets": found_in(index.subsets, _MOST_LISTED),
        "fields": [(name, found_in(values, _MOST_LISTED)) for name, values in fields],
        "metrics": index.metrics,
        "places": [place for place in PLACES if place != "file" or index.has_files],
        "sorts": [*_sorts(own, index)],
        "sort": f"{own.filters.sort.partition(':')[0]}:{sorted_by}" if sorted_by else own.filters.sort,
        "verdicts": [*VERDICTS] if own.judged else [],
        "blind": [*BLIND.items()] if own.blind or own.filters.blind else [],
        "others": [*other_runs(viewer, own.run, own.task)] if own.main is not None else [],
    }


def _metrics(own: Browsed, index: SampleIndex) -> list[str]:
    """The metrics of the samples, those of the results first, in their order."""
    return [*own.axes, *(name for name in index.metrics if name not in own.axes)]


def _sorts(own: Browsed, index: SampleIndex) -> Iterator[tuple[str, str]]:
    """The orders to choose from: value and words."""
    yield "", SORTS[""]
    metrics = _metrics(own, index)[:_MOST_SORTED]
    for name in metrics:
        said = "" if len(metrics) == 1 else f" {one_line(name)}"
        yield f"worst:{name}", f"Worst{said} first"
        yield f"best:{name}", f"Best{said} first"
    yield "longest", SORTS["longest"]


def _columns(own: Browsed, index: SampleIndex, sorted_by: str) -> Iterator[dict[str, str]]:
    """The metrics of the dense table, each with the link that sorts by it, or turns the order."""
    metrics = _metrics(own, index)
    shown = metrics[:_MOST_COLUMNS]
    if sorted_by and sorted_by not in shown:
        shown[-1:] = [sorted_by]
    for name in shown:
        is_sorted = name == sorted_by
        is_worst_first = is_sorted and own.filters.sort.startswith("worst")
        query = own.filters.query_with("sort", f"{'best' if is_worst_first else 'worst'}:{name}")
        found = own.axes.get(name)
        is_rising = is_worst_first != (found is not None and found.is_lower_better is True)
        order = ("ascending" if is_rising else "descending") if is_sorted else ""
        yield {"name": one_line(name), "address": own.address("samples", query=query), "order": order}


PAGES = (ViewerPage(PATH, show, tab="Samples", order=20),)
