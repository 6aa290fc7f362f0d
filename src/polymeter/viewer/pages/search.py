"""The search over all runs: samples in which all words of a text occur, by run.

The indexes of samples are searched, one task of a run at a time, newest run first. A request ends after a while and
reports how many runs are left; the page asks for these by itself, and without scripts a link does. Runs whose index is
still being made are named, and asked for again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from polymeter.core.errors import PolymeterError
from polymeter.report.formatting import one_line
from polymeter.viewer.browsing import browse
from polymeter.viewer.filters import with_text
from polymeter.viewer.sample_index import Mask, SampleIndex
from polymeter.viewer.sample_rows import SampleInShort, sample_row
from polymeter.viewer.shelf import RunInShort
from polymeter.viewer.site import PageRequest, Query, Viewer, ViewerPage, address

if TYPE_CHECKING:
    from starlette.responses import Response

PATH = "/search"
_SEARCHED = ("id", "prompt", "answer", "target", "file")
_WORD = re.compile(r'"([^"]+)"|(\S+)')
_MOST_WORDS = 8
_BUDGET_S = 0.7
"""A request ends with the first task that is searched after this time."""
_SHOWN_PER_TASK = 5
_MOST_GROUPS = 30
"""Tasks with samples that one request shows: each opens a journal."""
_MOST_WAITING = 50
"""Runs that are asked for again in one address."""
_MOST_LISTED = 300


@dataclass(frozen=True, slots=True)
class FoundInTask:
    """The samples that were found in a task of a run.

    Attributes:
        run: The run.
        title: The task.
        n: Their number.
        address: All of them in the list of samples.
        rows: The first few.
        is_behind: Whether samples may have ended since the task was indexed.
    """

    run: RunInShort
    title: str
    n: int
    address: str
    rows: Sequence[SampleInShort]
    is_behind: bool


@dataclass(slots=True)
class SearchResult:
    """The result of one request.

    Attributes:
        groups: The tasks with samples that were found.
        waiting: The runs that are still being read, each with the share that is done, as far as it is known.
        unreadable: The runs that cannot be searched, each with the reason.
        n_searched: The number of tasks that were searched.
    """

    groups: list[FoundInTask] = field(default_factory=list)
    waiting: dict[str, tuple[RunInShort, str]] = field(default_factory=dict)
    unreadable: list[tuple[RunInShort, str]] = field(default_factory=list)
    n_searched: int = 0


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """The page, or for a script the next part of its results."""
    words, chosen = words_of(asked.get("q")), asked.all("run")
    every = viewer.shelf.runs()
    runs = [run for run in every if not chosen or run.key in chosen]
    tasks = [(run, task) for run in runs for task in run.tasks or ("",)]
    start = min(asked.number("from"), len(tasks))
    found = search(viewer, tasks[start:], words) if words else SearchResult()
    following = start + found.n_searched
    n_left = len({run.key for run, _ in tasks[following:]}) if words else 0
    told = (("q", asked.get("q")), *(("run", key) for key in chosen))
    values: dict[str, Any] = {
        "words": words,
        "found": found,
        "n_left": n_left,
        "start": start,
        "following": address(PATH, (*told, ("from", str(following)))) if n_left else "",
        "again": address(PATH, _waiting_query(asked, found)),
        "is_repeated": asked.is_part and bool(asked.get("again")),
    }
    if asked.is_part:
        return viewer.html("search_part.html", **values)
    listed = sorted(every[:_MOST_LISTED], key=lambda run: run.key not in chosen)
    return viewer.html("search.html", text=asked.get("q"), chosen=chosen, n_all=len(every), runs=listed, **values)


def words_of(text: str) -> list[str]:
    """The words of a text, each once; several words in quotation marks are one."""
    return [*dict.fromkeys((match[1] or match[2]).strip('"') or '"' for match in _WORD.finditer(text))][:_MOST_WORDS]


def search(
    viewer: Viewer,
    tasks: Sequence[tuple[RunInShort, str]],
    words: Sequence[str],
    *,
    clock: Callable[[], float] = time.monotonic,
) -> SearchResult:
    """Search tasks in their order until the time of a request is over; at least one.

    Args:
        viewer: The viewer.
        tasks: The tasks, each with its run.
        words: The words that must all occur in a sample, in any of its texts.
        clock: The time in seconds.
    """
    found, until = SearchResult(), clock() + _BUDGET_S
    for run, task in tasks:
        if found.n_searched and (clock() >= until or len(found.groups) >= _MOST_GROUPS):
            break
        found.n_searched += 1
        if run.trouble:
            found.unreadable.append((run, run.trouble))
            continue
        try:
            _search_task(viewer, run, task, words, found)
        except PolymeterError as error:  # one damaged run does not hide the others
            found.unreadable.append((run, error.what))
    return found


def matching(index: SampleIndex, words: Sequence[str]) -> Mask:
    """The samples in which each of some words occurs, in any of their texts."""
    mask: Mask | None = None
    for word in words:
        mask = with_text(index, word, _SEARCHED, mask)
    return np.zeros(index.n, dtype=np.bool_) if mask is None else mask


def _search_task(viewer: Viewer, run: RunInShort, task: str, words: Sequence[str], found: SearchResult) -> None:
    state = viewer.indexes.find(viewer.shelf.open(run), task) if task else None
    if state is None:
        return
    if state.index is None:
        found.waiting[run.key] = run, f"{state.n_read / state.n_all:.0%}" if state.n_all else ""
        return
    positions = np.flatnonzero(matching(state.index, words))
    if not len(positions):
        return
    own = browse(viewer, run, task, [("q", word) for word in words])
    rows = [sample_row(own, sample) for sample in own.read([int(place) for place in positions[:_SHOWN_PER_TASK]])]
    listed = own.address("samples")
    found.groups.append(FoundInTask(run, one_line(own.title), len(positions), listed, rows, state.is_behind))


def _waiting_query(asked: PageRequest, found: SearchResult) -> Query:
    keys = [*found.waiting][:_MOST_WAITING]
    return (("q", asked.get("q")), ("again", "1"), *(("run", key) for key in keys))


PAGES = (ViewerPage(PATH, show, menu="Search", order=15),)
