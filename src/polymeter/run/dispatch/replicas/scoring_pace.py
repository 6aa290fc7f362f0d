"""Measurement of whether scoring delays a run: pure code over a clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PaceLimits:
    """From when on the samples of a task are worth scoring in other processes.

    Attributes:
        n_samples: So many were scored by the run itself, so that it is known how long they take.
        sample_s: A sample takes so long on average: more than it costs to carry it there and to play it again.
        share: Scoring has taken this share of the time since it began, so it takes at least as long as all that happens
            between: the model does not wait for itself but for scoring.
        left_s: What is left to score would take so long: more than it takes to start processes.
    """

    n_samples: int = 4
    sample_s: float = 0.02
    share: float = 0.5
    left_s: float = 5.0


class ScoringPace:
    """The time that the samples of one task take to be scored.

    Args:
        limits: What counts as slow.
        clock: Gives seconds.
    """

    def __init__(self, limits: PaceLimits, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._clock = clock
        self._n_scored = 0
        self._scored_s = 0.0
        self._began: float | None = None

    def learn(self, took_s: float) -> None:
        """A sample was scored, in so many seconds."""
        if self._began is None:
            self._began = self._clock() - took_s
        self._n_scored += 1
        self._scored_s += took_s

    def is_slow(self, n_samples: int) -> bool:
        """Return whether scoring is what the run waits for, of a task that has so many samples to score."""
        if self._began is None or self._n_scored < self._limits.n_samples:
            return False
        mean_s = self._scored_s / self._n_scored
        return (
            mean_s >= self._limits.sample_s
            and self._scored_s >= self._limits.share * (self._clock() - self._began)
            and mean_s * (n_samples - self._n_scored) >= self._limits.left_s
        )
