"""The samples that an address names: its run, its task, its filters, and the samples that pass them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from polymeter.report.table import title_of
from polymeter.store.ablations import blind_marks
from polymeter.store.exports.export import sample_file
from polymeter.store.folder import RunFolder
from polymeter.store.verdicts import Kind, VerdictFile, read_verdicts
from polymeter.viewer.filters import VERDICTS, FilteredSamples, Filters, OtherRun, select
from polymeter.viewer.indexes import Found
from polymeter.viewer.notes import Note, tag_counts
from polymeter.viewer.sample_index import Main, MetricAxis, SampleIndex
from polymeter.viewer.shelf import RunInShort
from polymeter.viewer.site import NotFoundError, NotReadyError, PageRequest, Query, Viewer, address

_ANY_NOTE = "*"


@dataclass(frozen=True)
class Browsed:
    """A task of a run as a page shows it.

    Attributes:
        viewer: The viewer.
        run: The run.
        folder: Its folder.
        results: Its results.
        task: The name of the task.
        filters: The filters.
        found: The index of its samples, as far as it exists.
    """

    viewer: Viewer
    run: RunInShort
    folder: RunFolder
    results: Mapping[str, Any]
    task: str
    filters: Filters
    found: Found

    @property
    def of_task(self) -> Mapping[str, Any]:
        """The task in the results; empty if they do not have it."""
        found: Mapping[str, Any] = self.results.get("tasks", {}).get(self.task, {})
        return found

    @property
    def title(self) -> str:
        """The name under which the task is shown."""
        return title_of(self.results, "task", self.task)

    @property
    def tasks(self) -> list[tuple[str, str]]:
        """All tasks of the run: name and title."""
        return [(name, title_of(self.results, "task", name)) for name in self.run.tasks]

    @cached_property
    def main(self) -> Main | None:
        """The metric by which its samples are right or wrong."""
        return None if self.found.index is None else self.found.index.main(self.of_task)

    @cached_property
    def axes(self) -> dict[str, MetricAxis]:
        """The axis of each of its metrics, by which values are coloured."""
        return {} if self.found.index is None else self.found.index.axes(self.of_task)

    @cached_property
    def notes(self) -> list[Note]:
        """The notes on its samples."""
        return [note for note in self.viewer.notes(self.run) if note.task == self.task]

    @cached_property
    def tags(self) -> dict[str, int]:
        """The tags of its samples, each with its number of samples."""
        return tag_counts(self.notes)

    @cached_property
    def verdicts(self) -> VerdictFile:
        """The verdicts of people on the run's samples."""
        return read_verdicts(self.run.path)

    @cached_property
    def judged(self) -> Mapping[str, set[Kind]]:
        """The kinds of the verdicts on each of its samples that has one."""
        return self.verdicts.samples(self.task)

    @cached_property
    def blind(self) -> Mapping[str, tuple[str, ...]]:
        """The samples that were answered right without their media, each with the ablations."""
        return blind_marks(self.folder).get(self.task, {})

    @property
    def query(self) -> Query:
        """The query that leads to these samples again."""
        return (("task", self.task), *self.filters.key)

    def notes_on(self, sample: str) -> list[Note]:
        """The notes on one sample."""
        return [note for note in self.notes if note.sample == sample]

    def selection(self) -> FilteredSamples:
        """The samples that pass the filters.

        Raises:
            NotReadyError: if the index does not exist yet.
            PlanError: if a filter needs something that the samples do not have.
        """
        index = self._index()
        other = self._other()
        noted = tuple(note.id for note in self.notes) if self.filters.tags else ()
        judged = tuple(one.id for one in self.verdicts.valid) if self.filters.verdicts else ()
        blind = tuple(self.blind) if self.filters.blind else ()
        key = (index.path, tuple(self.filters.selecting), noted, judged, blind, other and other.index.path)
        lower = [name for name, found in self.axes.items() if found.is_lower_better]

        def make() -> FilteredSamples:
            by_people = {"tagged": self._tagged, "judged": self._with_verdict}
            return select(index, self.filters, self.main, lower_is_better=lower, blind=blind, other=other, **by_people)

        found = self.viewer.indexes.select(key, make)
        return FilteredSamples(found.positions[: self.viewer.most_samples])

    def address(self, page: str, extra: Query = (), query: Query | None = None) -> str:
        """The address of a page of this run, with these samples or those of another query."""
        told = self.query if query is None else (("task", self.task), *query)
        return address(f"/run/{self.run.key}/{page}", (*told, *extra))

    def indices(self, positions: Sequence[int]) -> list[int]:
        """The indices of the samples at some places of the index."""
        return [int(number) for number in self._index().column("index")[np.asarray(positions, dtype=np.int64)]]

    def position(self, index: int) -> int | None:
        """The place of the sample with an index; ``None`` if it has none."""
        column = self._index().column("index")
        place = int(np.searchsorted(column, index))
        return place if place < len(column) and int(column[place]) == index else None

    def read(self, positions: Sequence[int]) -> list[dict[str, Any]]:
        """The samples at some places of the index, whole, in this order."""
        chosen = np.asarray(positions, dtype=np.int64)
        indices = self.indices(positions)
        offsets = [int(offset) for offset in self._index().column("offset")[chosen]]
        read = {
            int(sample["index"]): sample
            for sample in self.viewer.shelf.read_some(self.folder, self.task, indices, offsets)
        }
        return [read[index] for index in indices if index in read]

    def _index(self) -> SampleIndex:
        if self.found.index is None:
            raise NotReadyError(self.run.name)
        return self.found.index

    def _tagged(self, tag: str) -> set[str]:
        return {note.sample for note in self.notes if tag == _ANY_NOTE or tag in note.tags}

    def _with_verdict(self, verdict: str) -> set[str]:
        kind = VERDICTS.get(verdict)
        return {sample for sample, kinds in self.judged.items() if kind is None or kind in kinds}

    def _other(self) -> OtherRun | None:
        if not self.filters.flipped:
            return None
        other = browse(self.viewer, self.viewer.run_named(self.filters.flipped), self.task, ())
        if other.found.index is None:
            raise NotReadyError(other.run.name)
        return OtherRun(other.found.index, other.main)


def browse(viewer: Viewer, run: RunInShort, task: str, query: Query) -> Browsed:
    """Return a task of a run, with the filters of a query.

    Args:
        viewer: The viewer.
        run: The run.
        task: The task; empty: its first.
        query: The query.

    Raises:
        NotFoundError: if it has no such task.
        StorageError: if it cannot be read.
    """
    name = task or next(iter(run.tasks), "")
    if name not in run.tasks:
        raise NotFoundError(f"The run {run.name} has no task {name!r}.")
    folder = viewer.shelf.open(run)
    if not folder.journal.exists():
        viewer.shelf.check(sample_file(folder, name), ())
    results = viewer.results(run, folder)
    return Browsed(viewer, run, folder, results, name, Filters.of_query(query), viewer.indexes.find(folder, name))


def browsed(viewer: Viewer, asked: PageRequest) -> Browsed:
    """Return the samples that an address names; errors as for ``browse``."""
    return browse(viewer, viewer.run(asked), asked.get("task"), asked.query)


def other_runs(viewer: Viewer, run: RunInShort, task: str = "") -> Iterator[RunInShort]:
    """The other runs, or those that have a task, too."""
    for other in viewer.shelf.runs():
        if other.key != run.key and not other.trouble and (not task or task in other.tasks):
            yield other
