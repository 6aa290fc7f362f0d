"""One run: its numbers with intervals, its subsets, its failures, its usage, and its progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from polymeter.core.errors import PolymeterError
from polymeter.report.columns import page_columns
from polymeter.report.formatting import one_line
from polymeter.report.run.provenance import headline
from polymeter.report.run.usage_table import usage_table
from polymeter.report.scales import Bar, bars
from polymeter.report.table import Line, footnotes, table_lines, title_of
from polymeter.store.folder import RunFolder
from polymeter.store.reading.failures import FailureKind, failures_of_run
from polymeter.viewer.notes import read_notes, tag_counts
from polymeter.viewer.sample_index import SampleIndex
from polymeter.viewer.shelf import RunInShort
from polymeter.viewer.site import PageRequest, Viewer, ViewerPage, address

if TYPE_CHECKING:
    from starlette.responses import Response

PATH = "/run/{run}"
_MOST_SUBSETS = 400
_MOST_MADE = 6
"""The most tasks whose indexes are made to show their usage."""


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """The page."""
    run = viewer.run(asked)
    folder = viewer.shelf.open(run)
    results = viewer.results(run, folder)
    lines = table_lines(results)
    drawn = [*zip(lines, bars(lines), strict=True)]
    manifest = folder.read_manifest()
    return viewer.run_html(
        "run.html",
        run,
        PATH,
        head=headline(manifest, results),
        usage=usage_table(manifest, results),
        rows=[row for row in drawn if not row[0].subset],
        columns=page_columns(lines),
        subsets=[*_subsets(results, drawn)],
        footnotes=footnotes(results),
        failures=[*_failures(run, folder, results)],
        costs=[*_costs(viewer, run, folder, results)],
        notes=tag_counts(read_notes(run.path)),
        n_notes=len(read_notes(run.path)),
        elsewhere=viewer.shelf.journal_is_elsewhere(run),
        results=results,
    )


def _subsets(results: Mapping[str, Any], drawn: list[tuple[Line, Bar | None]]) -> Iterator[dict[str, Any]]:
    """The numbers of each task's subsets, with a link to the samples of each."""
    for name in results.get("tasks", {}):
        rows, label = [], ""
        for line, bar in drawn:
            if line.name == name and line.kind == "task" and line.subset:
                label = "/".join(line.subset)
                rows.append({"line": line, "bar": bar, "label": label})
        if rows:
            title = title_of(results, "task", name)
            yield {"task": name, "title": title, "rows": rows[:_MOST_SUBSETS], "n": len(rows)}


def _failures(run: RunInShort, folder: RunFolder, results: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the reasons of samples without a score: each kind once, with its count and links to the samples."""
    if results.get("status") == "partial":
        kinds = failures_of_run(folder)
    else:
        kinds = {
            name: [FailureKind(**{"status": "error", **kind}) for kind in task["failures"]]
            for name, task in results.get("tasks", {}).items()
            if task.get("failures")
        }
    for task, found in kinds.items():
        for kind in found:
            samples = address(f"/run/{run.key}/samples", (("task", task), ("status", kind.status)))
            first = address(f"/run/{run.key}/sample", (("task", task), ("id", kind.sample), ("status", kind.status)))
            yield {
                "task": title_of(results, "task", task),
                "n": kind.n,
                "message": one_line(kind.message),
                "status": kind.status,
                "samples": samples,
                "sample": one_line(kind.sample),
                "first": first,
            }


def _costs(viewer: Viewer, run: RunInShort, folder: RunFolder, results: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the usage of the samples of each task that has an index. Indexes of many tasks are not made for it."""
    is_made = len(run.tasks) <= _MOST_MADE
    for task in run.tasks:
        try:
            index = viewer.indexes.find(folder, task).index if is_made else viewer.indexes.known(folder, task)
        except PolymeterError:  # this page shows the rest; the page of samples reports what is wrong
            continue
        if index is not None and index.n and any((cost := _cost(index)).values()):
            yield {"title": title_of(results, "task", task), "n": index.n, **cost}


def _cost(index: SampleIndex) -> dict[str, Any]:
    waits = index.column("latency_ms")
    waits = waits[~np.isnan(waits)]
    quantiles = [float(value) / 1000 for value in np.quantile(waits, [0.5, 0.95, 1])] if len(waits) else []
    sums = {}
    for name in ("input_tokens", "output_tokens", "answer_chars"):
        column = index.column(name)
        known = column[column >= 0].astype(np.int64)
        sums[name] = (int(known.sum()), float(known.mean())) if len(known) and known.any() else None
    return {"seconds": quantiles, **sums}


PAGES = (ViewerPage(PATH, show, tab="Summary", order=10),)
