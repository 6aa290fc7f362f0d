"""One run: its result in one look, its settings, its parts, its failures, its usage, and its progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from polymeter.core.errors import PolymeterError
from polymeter.report.columns import page_columns
from polymeter.report.formatting import count, one_line
from polymeter.report.run.provenance import headline
from polymeter.report.run.truncation_text import truncation_sentences
from polymeter.report.run.usage_table import usage_table
from polymeter.report.scales import bars
from polymeter.report.shown_text import shown_lines
from polymeter.report.table import footnotes, table_lines, title_of
from polymeter.store.ablations import blind_marks
from polymeter.store.folder import RunFolder
from polymeter.store.reading.failures import FailureKind, failures_of_run
from polymeter.store.verdicts import read_verdicts
from polymeter.viewer.notes import tag_counts
from polymeter.viewer.overview.breakdown import Breakdown, category_breakdowns, subset_breakdowns
from polymeter.viewer.overview.in_short import ScoreInShort, scores_in_short
from polymeter.viewer.overview.outcomes import outcomes
from polymeter.viewer.overview.progressing import progress_of
from polymeter.viewer.overview.refusal import refusal_of
from polymeter.viewer.overview.settings import settings_of
from polymeter.viewer.pages.verdicts import in_short
from polymeter.viewer.sample_index import SampleIndex
from polymeter.viewer.shelf import RunInShort
from polymeter.viewer.site import PageRequest, Viewer, ViewerPage, address

if TYPE_CHECKING:
    from starlette.responses import Response

PATH = "/run/{run}"
_MOST_SAMPLES = 200_000
"""The most samples of a task whose scores by category are computed for this page; the page Plots has them of more."""
_IN_HEADLINE = ("Scored", "Imported from")
_MOST_BLIND = 6
"""The most tasks whose samples that were answered blind are counted on the page."""
_MOST_MADE = 6
"""The most tasks whose indexes are made to show their usage."""


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """The page."""
    run = viewer.run(asked)
    folder = viewer.shelf.open(run)
    results = viewer.results(run, folder)
    lines = table_lines(results)
    drawn = [*zip(lines, bars(lines), strict=True)]
    manifest, noted = folder.read_manifest(), viewer.notes(run)
    head = headline(manifest, results)
    indexes = [*_indexes(viewer, run, folder)]
    top = [score for score in scores_in_short(results) if score.is_top]
    n_planned, n_scored, n_ended = _counts(run, results)
    return viewer.run_html(
        "run.html",
        run,
        PATH,
        is_part=asked.is_part,
        title=_title(run, results, top),
        top=top,
        why_none=next((line.no_interval for line in lines if line.number is not None), ""),
        n_planned=n_planned,
        n_scored=n_scored,
        n_failed=max(n_ended - n_scored, 0),
        facts=[pair for pair in head.facts if pair[0] not in (*_IN_HEADLINE, "Duration" if run.is_live else "")],
        settings=settings_of(manifest),
        progress=progress_of(viewer, run, folder, results) if run.is_live else None,
        refusal=refusal_of(run, results),
        listed=("error", "refused", "truncated", "unscored"),
        usage=usage_table(manifest, results),
        rows=[row for row in drawn if not row[0].subset],
        columns=page_columns(lines),
        breakdowns=[*subset_breakdowns(run.key, results, drawn), *_categories(run, results, indexes)],
        outcomes=[*outcomes(run, results, indexes)],
        footnotes=[*_footnotes(run, results)],
        shown=shown_lines(results),
        failures=[*_failures(run, folder, results)],
        costs=[*_costs(results, indexes)],
        notes=tag_counts(noted),
        n_notes=len(noted),
        verdicts=in_short(read_verdicts(run.path)),
        blind=[(task, len(marks)) for task, marks in blind_marks(folder).items() if task in run.tasks][:_MOST_BLIND],
        elsewhere=viewer.shelf.journal_is_elsewhere(run),
        results=results,
    )


def _title(run: RunInShort, results: Mapping[str, Any], top: list[ScoreInShort]) -> str:
    """The task or group that was measured, or the number of tasks."""
    if len(top) == 1:
        return top[0].title
    if len(run.tasks) == 1:
        return title_of(results, "task", run.tasks[0])
    return count(len(run.tasks), "task")


def _counts(run: RunInShort, results: Mapping[str, Any]) -> tuple[int, int, int]:
    """The number of samples planned, scored and ended."""
    tasks = results.get("tasks", {}).values()
    planned = sum(int(task.get("n_samples") or 0) for task in tasks) or run.n_planned
    scored = sum(int(task.get("n_scored") or 0) for task in tasks)
    ended = sum(int(n) for task in tasks for n in (task.get("statuses") or {}).values())
    return planned, scored, ended


def _categories(
    run: RunInShort, results: Mapping[str, Any], indexes: list[tuple[str, SampleIndex]]
) -> Iterator[Breakdown]:
    """The main scores by category, of a run with one task that is small enough to read them for this page."""
    has_subsets = any(
        one.get("subset") for task in results.get("tasks", {}).values() for one in task.get("results", ())
    )
    if len(indexes) == 1 and indexes[0][1].n <= _MOST_SAMPLES and not has_subsets:
        task, index = indexes[0]
        yield from category_breakdowns(run.key, task, index, index.main(results.get("tasks", {}).get(task, {})))


def _footnotes(run: RunInShort, results: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the notes below the table, each with the address of the samples that it counts, if any."""
    links = {
        sentence.text: address(f"/run/{run.key}/samples", (("task", name), ("cut", sentence.kind)))
        for name, task in results.get("tasks", {}).items()
        for sentence in truncation_sentences(title_of(results, "task", name), task)
    }
    for note in footnotes(results):
        yield note, links.get(note, "")


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


def _indexes(viewer: Viewer, run: RunInShort, folder: RunFolder) -> Iterator[tuple[str, SampleIndex]]:
    """The tasks that have an index of their samples. Indexes of many tasks are not made for this page."""
    is_made = len(run.tasks) <= _MOST_MADE
    for task in run.tasks:
        try:
            index = viewer.indexes.find(folder, task).index if is_made else viewer.indexes.known(folder, task)
        except PolymeterError:  # this page shows the rest; the page of samples reports what is wrong
            continue
        if index is not None and index.n:
            yield task, index


def _costs(results: Mapping[str, Any], indexes: list[tuple[str, SampleIndex]]) -> Iterator[dict[str, Any]]:
    """Return the usage of the samples of each task that has an index."""
    for task, index in indexes:
        if any((cost := _cost(index)).values()):
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
