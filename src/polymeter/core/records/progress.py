"""Reports of a run's progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class LiveScore:
    """The mean of a task's first metric over the samples that have ended in this part of a run.

    Attributes:
        task: The task.
        metric: The metric.
        mean: The mean of its samples' values, even if its aggregation differs at the end.
        n: How many samples that are.
    """

    task: str
    metric: str
    mean: float
    n: int


class Progress(Protocol):
    """Receives the progress of a run. Called on the scheduler's thread; must return at once."""

    def stage(self, text: str) -> None:
        """A stage begins ("opening datasets")."""
        ...

    def begin(self, total: int, done: int) -> None:
        """The first samples start: how many there are in all, and how many ended in an earlier session."""
        ...

    def advance(self, ended: int, failed: int, tokens: int) -> None:
        """Samples ended since the last call, how many of them have no score, and how many tokens the model wrote for
        them.
        """
        ...

    def watch(self, scores: Callable[[], list[LiveScore]]) -> None:
        """Receive a function that returns the scores so far. Called once, before the first sample."""
        ...

    def watch_replicas(self, state: Callable[[], str]) -> None:
        """Receive a function that returns the state of the model's replicas, in a few words. Called before the first
        sample, and only if there are replicas.
        """
        ...

    def watch_spending(self, state: Callable[[], str]) -> None:
        """Receive a function that returns what was spent of each cap, in a few words. Called before the first sample,
        and only if the run has caps.
        """
        ...

    def note(self, text: str) -> None:
        """Something that the user should know."""
        ...

    def warning(self, text: str) -> None:
        """Something before the first request that probably has to be fixed."""
        ...

    def waiting(self, text: str) -> None:
        """Receive the reason why the run waits, and how long. Empty: it continues."""
        ...

    def end(self) -> None:
        """The samples are done."""
        ...


class Silence:
    """Reports nothing."""

    def stage(self, text: str) -> None:
        """Ignore."""

    def begin(self, total: int, done: int) -> None:
        """Ignore."""

    def advance(self, ended: int, failed: int, tokens: int) -> None:
        """Ignore."""

    def watch(self, scores: Callable[[], list[LiveScore]]) -> None:
        """Ignore."""

    def watch_replicas(self, state: Callable[[], str]) -> None:
        """Ignore."""

    def watch_spending(self, state: Callable[[], str]) -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Ignore."""

    def warning(self, text: str) -> None:
        """Ignore."""

    def waiting(self, text: str) -> None:
        """Ignore."""

    def end(self) -> None:
        """Ignore."""
