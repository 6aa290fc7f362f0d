"""The samples of a task in two or three runs, side by side: those that differ, and their distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polymeter.core.errors import PlanError, PolymeterError
from polymeter.viewer.browsing import Browsed, browse
from polymeter.viewer.choosing import MOST_RUNS, Chosen, chosen
from polymeter.viewer.filters import Filters, aligned, select
from polymeter.viewer.indexes import run_state
from polymeter.viewer.sample_index import NONE, SCORE
from polymeter.viewer.site import PAIRED_BY, NotFoundError, NotReadyError, PageRequest, Query, Viewer, address

_WON = "won:"


@dataclass(frozen=True)
class ComparedRuns:
    """A task of several runs.

    Attributes:
        sides: The task in each run, the first one first.
        choice: The choice of runs and of allowed differences.
        filters: The filters of the samples of the first.
        shown: The samples that are shown: empty for all, ``differ``, ``equal``, ``unscored`` for those without a score
            in one of the runs, or ``won:`` and the key of a run, for those in which it alone is best.
    """

    sides: tuple[Browsed, ...]
    choice: Chosen
    filters: Filters
    shown: str

    @property
    def labels(self) -> list[str]:
        """Names of the runs that can be read in a sentence."""
        return self.choice.labels

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
        allow = [("allow", what) for what in self.choice.allow]
        pair = [("pair", self.choice.pair_by)] if self.choice.pair_by != PAIRED_BY[0] else []
        return (*runs, *allow, *pair, ("task", self.task), ("show", self.shown), *self.filters.key)

    def address(self, page: str = "", extra: Query = (), shown: str | None = None) -> str:
        """The address of a page of this comparison, or of other samples of it."""
        query = self.query if shown is None else [pair for pair in self.query if pair[0] != "show"]
        return address(f"/compare{page}", (*query, *extra, *([("show", shown)] if shown else ())))

    @cached_property
    def places(self) -> tuple[npt.NDArray[np.int64], ...]:
        """For each run, the place of each sample of the first one in its index; ``NONE``: it has no such sample."""
        indexes = [side.found.index for side in self.sides]
        first = indexes[0]
        if first is None:
            raise NotReadyError(self.sides[0].run.name)
        names = ({}, *self._names())
        return tuple(aligned(first, index, own) for index, own in zip(indexes, names, strict=True) if index is not None)

    def _names(self) -> Sequence[Mapping[str, str]]:
        """For each run but the first, the names under which its samples are compared, by id."""
        rule, viewer = self.choice.pair_by, self.sides[0].viewer
        if rule == PAIRED_BY[0]:
            return [{}] * (len(self.sides) - 1)
        paths = [side.folder.path for side in self.sides]
        states = tuple(run_state(side.folder, self.task) for side in self.sides)
        try:
            names: Sequence[Mapping[str, str]] = viewer.remember(
                ("pairs", *paths, states, self.task, rule), lambda: viewer.services.paired_names(paths, self.task, rule)
            )
        except PolymeterError:  # the numbers show the reason, above the samples that their ids pair
            return [{}] * len(paths[1:])
        return names

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

    @cached_property
    def order(self) -> npt.NDArray[np.int64]:
        """The samples of the first run that are shown, as places in its index, those that differ most first."""
        index = self.sides[0].found.index
        if index is None:
            raise NotReadyError(self.sides[0].run.name)
        wanted = np.zeros(index.n, dtype=np.bool_)
        wanted[select(index, self.filters, self.sides[0].main).positions] = True
        wanted &= self._outcome(self.shown)
        viewer = self.sides[0].viewer
        if viewer.most_samples is not None:
            wanted &= np.logical_and.reduce([places < viewer.most_samples for places in self.places])
        positions = np.flatnonzero(wanted)
        gaps = self.gaps[positions]
        # A missing score is no difference: such samples stand between those that differ and those that are equal.
        gaps = np.where(np.isinf(gaps), np.finfo(np.float64).tiny, gaps)
        return positions[np.argsort(-gaps, kind="stable")][: viewer.most_compared]

    @cached_property
    def _is_in_all(self) -> npt.NDArray[np.bool_]:
        return np.asarray(np.logical_and.reduce([places != NONE for places in self.places]), dtype=np.bool_)

    def outcomes(self) -> list[tuple[str, str, int]]:
        """The outcomes by which samples can be chosen: the value of ``shown``, its words, and the number of samples."""
        keys, labels = [side.run.key for side in self.sides], self.labels
        better = [(_WON + key, f"better in {label}") for key, label in zip(keys, labels, strict=True)][::-1]
        if len(keys) == 2:  # as the verdict has it: the second run against the first
            better[1] = (better[1][0], f"worse in {labels[1]}")
        found = [
            ("", "all", self.n_in_all()),
            ("differ", "differ", self._n("differ")),
            *((key, words, self._n(key)) for key, words in better),
            ("equal", "equal", self._n("equal")),
            ("unscored", "without a score in one", self._n("unscored")),
        ]
        return [entry for entry in found if entry[2] or entry[0] not in ("unscored", "equal")]

    def n_in_all(self) -> int:
        """The number of samples that all runs have."""
        return self._n("")

    def best(self, position: int) -> list[bool]:
        """For each run, whether it alone has the best value of a sample."""
        values, main = self.values[:, position], self.sides[0].main
        if main is None or np.isnan(values).any():
            return [False] * len(self.sides)
        good = -values if main.is_lower_better else values
        return [bool((good[place] > np.delete(good, place)).all()) for place in range(len(good))]

    def _n(self, shown: str) -> int:
        return int(self._outcome(shown).sum())

    def _outcome(self, shown: str) -> npt.NDArray[np.bool_]:
        """The samples of an outcome, of those that all runs have. No score in one run makes no other run better."""
        is_scored = np.asarray(~np.isnan(self.values).any(axis=0), dtype=np.bool_)
        found: npt.NDArray[np.bool_]
        if shown == "differ":
            found = is_scored & (self.gaps > 0)
        elif shown == "equal":
            found = is_scored & (self.gaps == 0)
        elif shown == "unscored":
            found = ~is_scored
        elif shown.startswith(_WON):
            found = is_scored & self._won(shown.removeprefix(_WON))
        else:
            found = np.ones_like(is_scored, dtype=np.bool_)
        return np.asarray(found & self._is_in_all, dtype=np.bool_)

    def _won(self, key: str) -> npt.NDArray[np.bool_]:
        own = [place for place, side in enumerate(self.sides) if side.run.key == key]
        main = self.sides[0].main
        if not own or main is None:
            return np.zeros(self.values.shape[1], dtype=np.bool_)
        good = -self.values if main.is_lower_better else self.values
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
    if not viewer.is_static:
        return _compared(viewer, asked)
    # The runs of a bundle do not change while it is written, and each sample of a comparison asks for all of it.
    named = [(name, value) for name, value in asked.query if name not in ("page", "index")]
    found: ComparedRuns = viewer.remember(("compared runs", *named), lambda: _compared(viewer, asked))
    return found


def _compared(viewer: Viewer, asked: PageRequest) -> ComparedRuns:
    choice = chosen(viewer, asked)
    if not 2 <= len(choice.runs) <= MOST_RUNS:
        raise PlanError(
            f"A comparison needs two or three runs, not {len(choice.runs)}.",
            hint="Select them in the list of all runs.",
        )
    if choice.trouble:
        raise NotFoundError(choice.trouble)
    task = choice.task or choice.tasks[0]
    sides = tuple(browse(viewer, run, task, ()) for run in choice.runs)
    query = [(name, value) for name, value in asked.query if name in ("q", "in", "subset", "category", "state")]
    return ComparedRuns(sides, choice, Filters.of_query(query), asked.get("show"))
