"""The plan of a bundle: its runs, their samples and the compared runs, known before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from polymeter.core.errors import PlanError, PolymeterError
from polymeter.report.formatting import listing, one_line
from polymeter.report.table import title_of
from polymeter.viewer.bundle.places import BundlePage
from polymeter.viewer.choosing import shared_tasks
from polymeter.viewer.shelf import RunInShort
from polymeter.viewer.site import PAIRED_BY, Viewer

MOST_PAIRS, MOST_TRIPLES = 20, 5
"""The pairs and the triples of runs that are compared: each has a page for every shared task, and for each sample that
it shows.
"""
MOST_COMPARED = 100
"""The samples of a comparison: those that differ most."""
_MOST_PAGES = 250_000
"""More files than this are no longer copied, packed or deleted in reasonable time."""


@dataclass(frozen=True, slots=True)
class PlannedSamples:
    """The samples of a task of a run.

    Attributes:
        title: The name under which the task is shown.
        indices: The indices of those that are written, in order.
        n_all: The number of all.
    """

    title: str
    indices: Mapping[int, None]
    n_all: int


@dataclass(slots=True)
class BundlePlan:
    """The pages of a bundle.

    Attributes:
        viewer: The viewer that makes them.
        samples: The samples by run and task.
        comparisons: The pairs and triples of runs that are compared, the oldest run of each first, with the tasks that
            they share.
        refused: Those that cannot be compared: their names and the reason.
        n_more: The number of pairs and of triples that are left out.
    """

    viewer: Viewer
    samples: dict[tuple[str, str], PlannedSamples] = field(default_factory=dict)
    comparisons: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    refused: list[tuple[str, str]] = field(default_factory=list)
    n_more: dict[int, int] = field(default_factory=lambda: {2: 0, 3: 0})

    @property
    def runs(self) -> list[RunInShort]:
        """The runs that can be read, the newest first."""
        return [run for run in self.viewer.shelf.runs() if not run.trouble]

    @property
    def n_left_out(self) -> int:
        """The number of samples that are left out."""
        return sum(one.n_all - len(one.indices) for one in self.samples.values())

    def tasks(self, runs: tuple[str, ...]) -> list[str]:
        """The tasks of a run, or those that runs are compared in."""
        if runs in self.comparisons:
            return self.comparisons[runs]
        return [task for run, task in self.samples if (run,) == runs]

    def first_pages(self) -> Iterator[BundlePage]:
        """The pages to write first. Those on which a list continues are found by the links to them."""
        yield from (BundlePage("runs"), BundlePage("leaderboard"), BundlePage("comparisons"))
        for run in self.runs:
            yield from (BundlePage("run", (run.key,)), BundlePage("manifest", (run.key,)))
        for (run_key, task), own in self.samples.items():
            yield from (BundlePage("samples", (run_key,), task), BundlePage("plots", (run_key,), task))
            yield from (BundlePage("sample", (run_key,), task, index) for index in own.indices)
        for keys, tasks in self.comparisons.items():
            yield from (BundlePage("comparison", keys, task) for task in tasks)

    def has(self, place: BundlePage) -> bool:
        """Return whether the bundle has a page. The viewer's links decide how many pages a list has."""
        if place.kind in ("runs", "leaderboard", "comparisons"):
            return True
        if place.kind in ("comparison", "compared sample"):
            return place.task in self.comparisons.get(place.runs, ())
        if place.kind in ("run", "manifest"):
            return any((run.key,) == place.runs for run in self.runs)
        own = self.samples.get((place.runs[0], place.task))
        return own is not None and (place.kind != "sample" or place.number in own.indices)


def make_plan(viewer: Viewer, most_samples: int) -> BundlePlan:
    """Return the plan of a bundle of all runs of a viewer.

    Args:
        viewer: The viewer.
        most_samples: The most samples of a task.

    Raises:
        PlanError: if there would be too many pages.
    """
    plan = BundlePlan(viewer)
    for run in plan.runs:
        for task in run.tasks:
            plan.samples[run.key, task] = _samples(viewer, run, task, most_samples)
    n_pages = sum(len(one.indices) for one in plan.samples.values())
    if n_pages > _MOST_PAGES:
        raise PlanError(
            f"The bundle would have {n_pages:,} pages of samples; at most {_MOST_PAGES:,} are written.",
            where="--limit-samples",
            hint="Choose fewer runs, or lower --limit-samples.",
        )
    _add_pairs(plan)
    _add_triples(plan)
    return plan


def _samples(viewer: Viewer, run: RunInShort, task: str, most: int) -> PlannedSamples:
    try:
        folder = viewer.shelf.open(run)
        title = title_of(viewer.results(run, folder), "task", task)
        index = viewer.indexes.find(folder, task).index
    except PolymeterError:  # the page of the samples reports what is wrong
        return PlannedSamples(one_line(task), {}, 0)
    if index is None:
        return PlannedSamples(title, {}, 0)
    return PlannedSamples(title, dict.fromkeys(int(number) for number in index.column("index")[:most]), index.n)


def _add_pairs(plan: BundlePlan) -> None:
    """Add the pairs of runs that share a task and can be compared: those of the newest runs, each with each, first."""
    places = {run.key: place for place, run in enumerate(plan.runs)}
    pairs = [pair for pair in combinations(plan.runs, 2) if _shared(plan, pair)]
    _add(plan, sorted(pairs, key=lambda pair: [places[run.key] for run in reversed(pair)]), MOST_PAIRS)


def _add_triples(plan: BundlePlan) -> None:
    """Add the triples of runs that share a task and are compared in pairs, those of the newest runs first."""
    compared = {frozenset(keys) for keys in plan.comparisons}
    runs = [run for run in plan.runs if any(run.key in keys for keys in compared)]
    places = {run.key: place for place, run in enumerate(runs)}
    triples = [
        triple
        for triple in combinations(runs, 3)
        if all(frozenset(run.key for run in pair) in compared for pair in combinations(triple, 2))
        and _shared(plan, triple)
    ]
    _add(plan, sorted(triples, key=lambda triple: [places[run.key] for run in reversed(triple)]), MOST_TRIPLES)


def _add(plan: BundlePlan, several: Sequence[tuple[RunInShort, ...]], most: int) -> None:
    """Add runs that are compared with each other, as far as they can be, the oldest run of each first."""
    n = 0
    for place, runs in enumerate(several):
        if n == most:
            plan.n_more[len(runs)] = len(several) - place
            return
        ordered = sorted(runs, key=lambda run: run.started)
        try:
            plan.viewer.services.compare([run.path for run in ordered], (), PAIRED_BY[0])
        except PolymeterError as error:
            plan.refused.append((listing([run.name for run in ordered]), error.what))
        else:
            plan.comparisons[tuple(run.key for run in ordered)] = _shared(plan, ordered)
            n += 1


def _shared(plan: BundlePlan, runs: Sequence[RunInShort]) -> list[str]:
    """Return the tasks that runs share, as far as samples of them are written."""
    oldest, *others = sorted(runs, key=lambda run: run.started)
    return [task for task in shared_tasks(oldest, *others) if plan.samples[oldest.key, task].indices]
