"""What the driver is given and what it gives back: samples to running, limits, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from polymeter.core.request import Error
from polymeter.engine.running_samples import RunningTask


@dataclass(frozen=True, slots=True)
class WorkList:
    """Which samples of a task are to be run: ``marks[i]`` is 0 for those that are. ``answered`` marks those with
    earlier answers.
    """

    task: RunningTask
    completed: bytearray
    answered: bytearray

    @property
    def n_completed(self) -> int:
        """How many of the samples to run are completed already."""
        return sum(self.completed[self.task.selected.start : self.task.selected.stop])

    def chunks(self) -> Iterator[range]:
        """Runs of neighbouring samples to running, at most a chunk long; the chunk is read anew each time."""
        index, last = self.task.selected.start, self.task.selected.stop
        while True:
            index = self.completed.find(0, index)
            if index < 0 or index >= last:
                return
            size = self.task.chunk
            stop = self.completed.find(1, index, index + size)
            end = min(stop if stop >= 0 else index + size, last)
            yield range(index, end)
            index = end


@dataclass(frozen=True, slots=True)
class Settings:
    """What the driver is told.

    Attributes:
        window: Most samples in progress; 0: what the model keeps busy with.
        media_budget_bytes: Most memory for media that has been decoded and not answered.
        max_failed: Stop when more samples than this have failed; ``None``: never.
        workers: Threads for hooks and scoring.
    """

    window: int
    media_budget_bytes: int
    max_failed: float | None
    workers: int


@dataclass(slots=True)
class Outcome:
    """How the driving ended. ``model_errors``: by task, the first error of the model that asking again cannot help.
    ``reason``: why it was stopped before all samples were run.
    """

    is_stopped: bool = False
    is_interrupted: bool = False
    reason: str = ""
    n_failed: int = 0
    n_known: int = 0
    model_errors: dict[str, Error] = field(default_factory=dict)
    usage: dict[str, int] = field(default_factory=lambda: {"input_tokens": 0, "output_tokens": 0})
    latency_ms: float = 0.0
