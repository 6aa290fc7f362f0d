"""The limits of time and memory for the scoring of one sample in a process of its own.

Neither can change a score: a sample that exceeds a limit has no score, and the reason names the limit.
"""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_TIMEOUT_S = 60.0
DEFAULT_MEMORY_MB = 2048


@dataclass(slots=True)
class ScoringLimits:
    """The limits of bounded steps, and what of them is used up.

    Attributes:
        timeout_s: The seconds that all bounded steps of one sample's scoring may take together; outside of a sample, in
            an aggregation, the seconds that each may take.
        memory_mb: The memory that the process of a bounded step may use, in MB.
        is_of_sample: Whether these are the limits of one sample.
        spent_s: The seconds that the bounded steps of this sample have taken.
    """

    timeout_s: float = DEFAULT_TIMEOUT_S
    memory_mb: int = DEFAULT_MEMORY_MB
    is_of_sample: bool = False
    spent_s: float = 0.0

    @property
    def left_s(self) -> float:
        """The seconds that are left."""
        return self.timeout_s - self.spent_s

    def spend(self, seconds: float) -> None:
        """Count what a step took."""
        if self.is_of_sample:
            self.spent_s += seconds

    def for_sample(self) -> ScoringLimits:
        """The same limits, unused, for one sample."""
        return ScoringLimits(self.timeout_s, self.memory_mb, is_of_sample=True)
