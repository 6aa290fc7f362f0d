"""The samples of a pilot: a random draw of each task, which depends on the seed of the run alone."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from polymeter.core.identity import seed_for
from polymeter.run.plan.plan import Plan
from polymeter.run.schedule.work_list import WorkList
from polymeter.store.folder import RunFolder

_PURPOSE = "pilot"


@dataclass(frozen=True, slots=True)
class EndedPilot:
    """A pilot whose samples have ended.

    Attributes:
        plan: The plan of the run.
        folder: Its folder, which has the answers.
        drawn: The positions of the samples that were drawn, by task.
        seconds: The time from its first request to its last answer.
    """

    plan: Plan
    folder: RunFolder
    drawn: Mapping[str, Sequence[int]]
    seconds: float


AfterPilot = Callable[[EndedPilot], str]
"""Returns the reason to stop after a pilot; empty: the run continues."""


def draw(task: str, selected: range, n: int, seed: int) -> list[int]:
    """Draw samples of a task at random. A larger draw contains every smaller one.

    Args:
        task: The name of the task.
        selected: The positions of its samples that the run measures.
        n: The number to draw; all of them if there are fewer.
        seed: The seed of the run.
    """
    return sorted(heapq.nsmallest(n, selected, key=lambda index: seed_for(seed, _PURPOSE, task, index)))


def work_of_pilot(work: WorkList, drawn: Sequence[int]) -> WorkList:
    """Return the part of a work list that a pilot runs: the drawn samples that are not completed yet."""
    completed = bytearray(b"\x01") * len(work.completed)
    for index in drawn:
        completed[index] = work.completed[index]
    return WorkList(work.task, completed, work.answered)
