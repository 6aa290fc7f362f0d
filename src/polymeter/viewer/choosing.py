"""The runs that can be compared: those that share a task with a chosen one, and pairs to begin with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polymeter.report.comparison.labels import run_labels
from polymeter.report.formatting import listing
from polymeter.viewer.overview.in_short import ScoreInShort
from polymeter.viewer.shelf import RunInShort
from polymeter.viewer.site import ALLOWED, PAIRED_BY, PageRequest, Viewer, address

MOST_RUNS = 3
_PLACES = ("First run", "Compared with it", "Third run")
_MOST_PAIRS, _PAIRS_OF_A_RUN = 12, 3
_MOST_SEARCHED = 200
"""The newest runs for which a partner is searched, so that thousands of runs without one take no time."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A list of runs to choose from.

    Attributes:
        label: Its name.
        key: The key of the chosen run; empty: none.
        offered: The runs that share a task with the first one.
        others: The runs that do not, which cannot be chosen.
    """

    label: str
    key: str
    offered: Sequence[RunInShort]
    others: Sequence[RunInShort]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The choice that an address names.

    Attributes:
        runs: The chosen runs, the first one first.
        every: All runs that can be read, the newest first.
        task: The chosen task; empty: the first that they share.
        allow: The allowed differences.
        pair_by: What compared samples have in common.
    """

    runs: tuple[RunInShort, ...]
    every: tuple[RunInShort, ...]
    task: str
    allow: tuple[str, ...]
    pair_by: str

    @property
    def labels(self) -> list[str]:
        """Names of the chosen runs that can be read in a sentence."""
        return labels_of(self.runs)

    @property
    def tasks(self) -> list[str]:
        """The tasks that all chosen runs have."""
        return shared_tasks(*self.runs) if self.runs else []

    @property
    def trouble(self) -> str:
        """The reason why they cannot be compared; empty if they can, or if not enough are chosen yet."""
        if len(self.runs) > MOST_RUNS:
            return f"A comparison needs two or three runs, not {len(self.runs)}."
        if len(self.runs) < 2:
            return ""
        names = listing(self.labels)
        if not self.tasks:
            return f"{names} cannot be compared: they have no task in common."
        if self.task and self.task not in self.tasks:
            return f"{names} cannot be compared on {self.task!r}: not all of them have this task."
        return ""

    @property
    def slots(self) -> list[Slot]:
        """The lists to choose runs from."""
        keys = [*(run.key for run in self.runs[:MOST_RUNS]), "", "", ""]
        first = self.runs[0] if self.runs else None
        sharing = [run for run in self.every if first is None or (run.key != first.key and shared_tasks(first, run))]
        known = {run.key for run in sharing} | ({first.key} if first is not None else set())
        rest = [run for run in self.every if run.key not in known]
        return [
            Slot(_PLACES[0], keys[0], self.every, ()),
            *(Slot(label, key, sharing, rest) for label, key in zip(_PLACES[1:], keys[1:], strict=False)),
        ]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs that share tasks: their names, what they share, their scores of the first task, and the address."""

    first: str
    second: str
    models: tuple[str, str]
    tasks: tuple[str, ...]
    scores: tuple[ScoreInShort, ScoreInShort] | None
    when: str
    address: str


def chosen(viewer: Viewer, asked: PageRequest) -> Chosen:
    """Return the choice that an address names.

    Raises:
        NotFoundError: if it names a run that does not exist.
    """
    keys = [*dict.fromkeys(asked.all("run"))]
    every = tuple(run for run in viewer.shelf.runs() if not run.trouble)
    allow = tuple(what for what in ALLOWED if what in asked.all("allow"))
    pair_by = next((rule for rule in PAIRED_BY if rule == asked.get("pair")), PAIRED_BY[0])
    return Chosen(tuple(viewer.run_named(key) for key in keys), every, asked.get("task"), allow, pair_by)


def pairs(runs: Sequence[RunInShort]) -> Iterator[Pair]:
    """Return pairs of runs that share tasks, those with the newest runs first; the older run of a pair is its first.

    Args:
        runs: The runs, the newest first.
    """
    n = 0
    for place, newer in enumerate(runs[:_MOST_SEARCHED]):
        n_own = 0
        for older in runs[place + 1 : place + 1 + _MOST_SEARCHED]:
            tasks = shared_tasks(newer, older)
            if not tasks:
                continue
            yield _pair(older, newer, tasks)
            n, n_own = n + 1, n_own + 1
            if n == _MOST_PAIRS:
                return
            if n_own == _PAIRS_OF_A_RUN:
                break


def shared_tasks(first: RunInShort, *others: RunInShort) -> list[str]:
    """Return the tasks of a run that all others have, too."""
    return [task for task in first.tasks if all(task in run.tasks for run in others)]


def labels_of(runs: Sequence[RunInShort]) -> list[str]:
    """Return names of runs that can be read in a sentence."""
    return run_labels([run.name for run in runs], [str(run.path) for run in runs], [run.model for run in runs])


def _pair(older: RunInShort, newer: RunInShort, tasks: Sequence[str]) -> Pair:
    first, second = labels_of((older, newer))
    scores = next(
        (
            (one, other)
            for one in older.scores
            for other in newer.scores
            if (one.title, one.metric) == (other.title, other.metric)
        ),
        None,
    )
    return Pair(
        first,
        second,
        (older.model, newer.model),
        tuple(tasks),
        scores,
        newer.started,
        address("/compare", (("run", older.key), ("run", newer.key))),
    )
