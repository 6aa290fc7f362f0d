"""The samples of a task in two or three runs, side by side: those that differ, and their distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polymeter.core.errors import PlanError
from polymeter.viewer.browsing import Browsed, browse
from polymeter.viewer.filters import Filters, aligned, select
from polymeter.viewer.sample_index import NONE, SCORE
from polymeter.viewer.site import NotFoundError, NotReadyError, PageRequest, Query, Viewer, address

MOST_RUNS = 3
SHOWN = {"": "All, those that differ first", "differ": "Only those that differ"}


@dataclass(frozen=True)
class ComparedRuns:
    """A task of several runs.

    Attributes:
        sides: The task in each run, the first one first.
        filters: The filters of the samples of the first.
        shown: A key of ``SHOWN``, or ``won:`` and the key of a run, for those in which it alone is best.
    """

    sides: tuple[Browsed, ...]
    filters: Filters
    shown: str

    @property
    def task(self) -> str:
        """The task."""
        return self.sides[0].task

    @property
    def is_ready(self) -> bool:
        """True if all indexes exist."""
        return all(side.found.index is not None for side in self.sides)

    @property
    def tasks(self) -> list[tuple[str, str]]:
        """The tasks that all runs have: name and title."""
        return [pair for pair in self.sides[0].tasks if all(pair[0] in side.run.tasks for side in self.sides)]

    @property
    def query(self) -> Query:
        """The query that leads to this comparison again."""
        runs = [("run", side.run.key) for side in self.sides]
        return (*runs, ("task", self.task), ("show", self.shown), *self.filters.key)

    def address(self, page: str = "", extra: Query = ()) -> str:
        """The address of a page of this comparison."""
        return address(f"/compare{page}", (*self.query, *extra))

    @cached_property
    def places(self) -> tuple[npt.NDArray[np.int64], ...]:
        """For each run, the place of each sample of the first one in its index; ``NONE``: it has no such sample."""
        indexes = [side.found.index for side in self.sides]
        first = indexes[0]
        if first is None:
            raise NotReadyError(self.sides[0].run.name)
        return tuple(aligned(first, index) for index in indexes if index is not None)

    @cached_property
    def values(self) -> npt.NDArray[np.float64]:
        """The main number of each sample of the first run, in each run: an array of runs and samples, NaN for none."""
        main = self.sides[0].main
        rows = []
        for side, places in zip(self.sides, self.places, strict=True):
            index = side.found.index
            has_metric = main is not None and index is not None and main.name in index.metrics
            if main is None or index is None or not has_metric or not index.n:
                rows.append(np.full(len(places), np.nan))
                continue
            rows.append(np.where(places == NONE, np.nan, index.column(SCORE + main.name)[places]))
        return np.stack(rows)

    @cached_property
    def gaps(self) -> npt.NDArray[np.float64]:
        """The distance between the numbers of each sample; infinite if some runs have none, 0 if no run has one."""
        has_value = ~np.isnan(self.values)
        highest = np.where(has_value, self.values, -np.inf).max(axis=0)
        lowest = np.where(has_value, self.values, np.inf).min(axis=0)
        gaps = np.where(has_value.all(axis=0), highest - lowest, np.inf)
        return np.where(has_value.any(axis=0), gaps, 0.0)

    def order(self) -> npt.NDArray[np.int64]:
        """The samples of the first run that are shown, as places in its index, those that differ most first."""
        index = self.sides[0].found.index
        if index is None:
            raise NotReadyError(self.sides[0].run.name)
        is_in_all = np.logical_and.reduce([places != NONE for places in self.places])
        wanted = np.zeros(index.n, dtype=np.bool_)
        wanted[select(index, self.filters, self.sides[0].main).positions] = True
        wanted &= is_in_all
        if self.shown == "differ":
            wanted &= self.gaps > 0
        elif self.shown.startswith("won:"):
            wanted &= self._won(self.shown.removeprefix("won:"))
        positions = np.flatnonzero(wanted)
        return positions[np.argsort(-self.gaps[positions], kind="stable")]

    def n_in_all(self) -> int:
        """The number of samples that all runs have."""
        return int(np.logical_and.reduce([places != NONE for places in self.places]).sum())

    def won(self) -> dict[str, int]:
        """For each run, how many samples it alone is best in."""
        return {side.run.key: int(self._won(side.run.key).sum()) for side in self.sides}

    def _won(self, key: str) -> npt.NDArray[np.bool_]:
        own = [place for place, side in enumerate(self.sides) if side.run.key == key]
        main = self.sides[0].main
        if not own or main is None:
            return np.zeros(self.values.shape[1], dtype=np.bool_)
        good = np.where(np.isnan(self.values), -np.inf, -self.values if main.is_lower_better else self.values)
        others = np.delete(good, own[0], axis=0).max(axis=0)
        return np.asarray(good[own[0]] > others, dtype=np.bool_)

    def read(self, positions: Sequence[int]) -> list[list[Mapping[str, Any]]]:
        """Some samples of the first run, each as it is in all of the runs."""
        rows: list[list[Mapping[str, Any]]] = [[] for _ in positions]
        for side, places in zip(self.sides, self.places, strict=True):
            for row, one in zip(rows, side.read([int(places[position]) for position in positions]), strict=True):
                row.append(one)
        return rows


def compared(viewer: Viewer, asked: PageRequest) -> ComparedRuns:
    """Return the comparison that an address names.

    Raises:
        PlanError: if it does not name two or three runs with a task in common.
    """
    keys = [*dict.fromkeys(asked.all("run"))]
    if not 2 <= len(keys) <= MOST_RUNS:
        raise PlanError(
            f"A comparison needs two or three runs, not {len(keys)}.", hint="Select them in the list of all runs."
        )
    runs = [viewer.run_named(key) for key in keys]
    shared = [task for task in runs[0].tasks if all(task in run.tasks for run in runs)]
    task = asked.get("task") or next(iter(shared), "")
    if task not in shared:
        why = f"Not all of them have the task {task!r}." if task else "They have no task in common."
        raise NotFoundError(f"{', '.join(run.name for run in runs)} cannot be compared. {why}")
    sides = tuple(browse(viewer, run, task, ()) for run in runs)
    query = [(name, value) for name, value in asked.query if name in ("q", "in", "subset", "category", "state")]
    return ComparedRuns(sides, Filters.of_query(query), asked.get("show"))
