"""Samples whose answers two runs share, because a run took them from another one (``--reuse``, ``score``).

A copy of an answer is not a second draw. If all answers of a sample are the same ones and both runs score alike, its
difference is 0 by construction. That is true, but says nothing about the noise between runs. So such a sample counts in
the means, and not in tests, intervals and estimates of power.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polymeter.analysis.comparison.runs import ComparedRun
from polymeter.report.formatting import count
from polymeter.store.reading.reused import answers_of_samples, may_share

ALL_COPIES = "all answers are the same ones in both runs"
"""The reason why a difference has no interval."""


@dataclass(frozen=True, slots=True)
class Copies:
    """The samples of a task whose answers two runs share.

    Attributes:
        whole: The names of those that share all answers.
        partly: The names of those that share some.
        n: The number of samples that both runs have.
        is_scored_alike: Whether both runs score alike, so that samples of ``whole`` cannot differ.
    """

    whole: frozenset[str] = frozenset()
    partly: frozenset[str] = frozenset()
    n: int = 0
    is_scored_alike: bool = True

    @property
    def fixed(self) -> frozenset[str]:
        """The samples that cannot differ."""
        return self.whole if self.is_scored_alike else frozenset()


def copies_of(first: ComparedRun, other: ComparedRun, task: str) -> Copies:
    """Find the samples of a task whose answers two runs share; none if a journal is missing, which alone says so.

    Raises:
        StorageError: if a journal cannot be read.
    """
    if first.is_by_file or other.is_by_file or not may_share(first.manifest, other.manifest):
        return Copies()
    one, two = (
        {run.named_as(task, name): own for name, own in answers_of_samples(run.folder, task).items()}
        for run in (first, other)
    )
    both = [name for name in one if name in two]
    whole = frozenset(name for name in both if one[name] and one[name] == two[name])
    partly = frozenset(name for name in both if not one[name].isdisjoint(two[name])) - whole
    entries = [run.tasks.get(task, {}) for run in (first, other)]
    digests = [(entry.get("score_digest"), entry.get("source_hash")) for entry in entries]
    return Copies(whole, partly, len(both), digests[0] == digests[1])


def copy_notes(copies: Copies, task: str, *, is_unpaired: bool) -> Iterator[str]:
    """Yield the sentences on shared answers for the reader of a comparison."""
    n_shared = len(copies.whole) + len(copies.partly)
    if not n_shared:
        return
    told = f"{task}: the runs share the answers of {n_shared:,} of {count(copies.n, 'sample')}, copies of one draw"
    if is_unpaired:
        yield f"{told}. They are not independent, as --unpaired assumes: leave it out."
        return
    some = f" {count(len(copies.partly), 'sample')} of these share only some answers." if copies.partly else ""
    if copies.is_scored_alike and copies.whole:
        n = len(copies.whole)
        yield (
            f"{told}.{some} {count(n, 'sample')} cannot differ and {'is' if n == 1 else 'are'} left out of the test "
            "and the interval: copies say nothing about the noise between runs."
        )
    elif copies.is_scored_alike:
        yield f"{told}.{some}"
    else:
        where = "in the others" if copies.partly else "there"
        yield f"{told}.{some}{f' Only the scoring can differ {where}.' if copies.whole else ''}"
