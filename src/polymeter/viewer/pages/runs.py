"""The list of all runs: search, order, groups, their first scores, and check boxes to compare or rank them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from polymeter.viewer.choosing import MOST_RUNS
from polymeter.viewer.overview.listing import (
    COLUMNS,
    DEFAULT_SORT,
    GROUPS,
    RunRow,
    SeriesRow,
    column_of,
    gathered,
    groups_of,
    in_order,
    next_sort,
    rows_of,
)
from polymeter.viewer.shelf import RunInShort
from polymeter.viewer.site import PageRequest, Viewer, ViewerPage, address, see

if TYPE_CHECKING:
    from starlette.responses import Response

_AT_ONCE = 100
_STATUSES = ("complete", "running", "interrupted", "stopped", "failed", "unreadable")
_KEPT = ("q", "status", "task", "sort", "group")
"""The parameters that a link to the list keeps."""


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """The page; or, if runs were selected for it, the page that compares or ranks them."""
    every = viewer.shelf.runs()
    chosen = asked.all("run")
    refused = _refusal(asked.get("do"), chosen, every)
    if asked.get("do") and not refused:
        return see(
            address("/compare" if asked.get("do") == "compare" else "/leaderboard", [("run", r) for r in chosen])
        )
    words, status, task = asked.get("q"), asked.get("status"), asked.get("task")
    found = [
        run for run in every if status in ("", run.status) and _has(run, words) and (not task or task in _names(run))
    ]
    sort, group = asked.get("sort") or DEFAULT_SORT, asked.get("group")
    rows = gathered(in_order(rows_of(found, task), sort), group)
    n_pages = max(1, -(-len(rows) // _AT_ONCE))
    page = min(max(asked.number("page", 1), 1), n_pages)

    def at(**more: str) -> str:
        kept = {name: asked.get(name) for name in _KEPT}
        return address("/", [*{**kept, **more}.items()])

    shown = rows[(page - 1) * _AT_ONCE : page * _AT_ONCE]
    return viewer.html(
        "runs.html",
        groups=[*groups_of(shown, group)],
        headings=[_heading(column, sort, at) for column in COLUMNS],
        opened={asked.get("open")} - {""},
        numbers=_task_numbers(shown),
        at=at,
        n_found=len(found),
        n_all=len(every),
        folders=[str(folder) for folder in viewer.shelf.folders],
        words=words,
        status=status,
        statuses=[(name, n) for name in _STATUSES if (n := sum(run.status == name for run in every))],
        task=task,
        tasks=_tasks(every),
        sort=sort,
        group=group,
        kinds_of_groups=GROUPS,
        has_cost=any(run.usage.cost is not None for run in found),
        chosen={*chosen},
        refused=refused,
        page=page,
        n_pages=n_pages,
        before=at(page=str(page - 1)) if page > 1 else "",
        after=at(page=str(page + 1)) if page < n_pages else "",
    )


def _heading(column: Any, sort: str, at: Any) -> dict[str, Any]:
    """A heading: its title, the link that sorts by it, and the present direction for ``aria-sort``."""
    is_own = column_of(sort) is column
    direction = ("descending" if sort.startswith("-") else "ascending") if is_own else ""
    return {"name": column.name, "title": column.title, "link": at(sort=next_sort(column, sort)), "order": direction}


def _refusal(do: str, chosen: Sequence[str], every: Sequence[RunInShort]) -> str:
    """The reason why the selected runs cannot be compared or ranked; empty if they can."""
    if not do:
        return ""
    runs = [run for run in every if run.key in chosen]
    if do == "compare" and not 2 <= len(runs) <= MOST_RUNS:
        return f"Select two or three runs to compare them. Selected: {len(runs)}."
    if do == "compare" and not set.intersection(*({*run.tasks} for run in runs)):
        return f"{', '.join(run.name for run in runs)} have no task in common, so they cannot be compared."
    if do != "compare" and chosen and not any(run.scores for run in runs):
        return "None of the selected runs has a score yet, so they cannot be ranked."
    return ""


def _has(run: RunInShort, words: str) -> bool:
    """Return whether each word occurs in the list's texts on a run."""
    said = " ".join((run.name, run.model, run.status, run.imported, *run.tasks)).lower()
    return all(word in said for word in words.lower().split())


def _names(run: RunInShort) -> set[str]:
    return {*run.tasks, *(score.name for score in run.scores)}


def _tasks(runs: Sequence[RunInShort]) -> list[tuple[str, str]]:
    """All tasks and groups: name and title."""
    titles = {name: name for run in runs for name in run.tasks}
    titles |= {score.name: score.title for run in runs for score in run.scores}
    return sorted(titles.items(), key=lambda pair: pair[1].casefold())


def _task_numbers(rows: Sequence[RunRow | SeriesRow]) -> dict[str, int]:
    """A number for each task on the page, by which the script sees whether runs have one in common."""
    runs = [one.run for row in rows for one in (row.rows if isinstance(row, SeriesRow) else (row,))]
    return {name: number for number, name in enumerate(dict.fromkeys(task for run in runs for task in run.tasks))}


PAGES = (ViewerPage("/", show, menu="Runs", order=10),)
