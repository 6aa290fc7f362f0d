"""The outcome of an estimate: for each task and in total, what a run needs, as ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Span:
    """A quantity that is not known exactly; ``None`` is unknown. Two can be added.

    Attributes:
        expected: The likely value.
        low: The lower end of the range.
        high: The upper end.
    """

    expected: float | None = None
    low: float | None = None
    high: float | None = None

    def __add__(self, other: Span) -> Span:
        lows = [low for low in (self.low, other.low) if low is not None]  # an unknown part is nothing or more
        return Span(_added(self.expected, other.expected), sum(lows) if lows else None, _added(self.high, other.high))

    def widened(self, factor: float) -> Span:
        """The same, with both ends moved by a factor."""
        low, high = self.low, self.high
        return Span(self.expected, None if low is None else low / factor, None if high is None else high * factor)

    def scaled(self, factor: float) -> Span:
        """The same, multiplied."""
        return Span(*(None if value is None else value * factor for value in (self.expected, self.low, self.high)))

    def document(self) -> dict[str, float | None]:
        """The span as plain data."""
        return {name: None if value is None else round(value, 6) for name, value in asdict(self).items()}

    @classmethod
    def exactly(cls, value: float | None) -> Span:
        """A value that is known."""
        return cls(value, value, value)


NOTHING = Span(0.0, 0.0, 0.0)
UNKNOWN = Span()
OF_JUDGES = ("judge_requests", "judge_tokens", "judge_cost")
"""The quantities of all further roles."""
QUANTITIES = ("requests", "input_tokens", "output_tokens", "cost", *OF_JUDGES, "total_cost")
"""The quantities of a task. The first four are those of the measured model; ``total_cost`` is that of all roles."""


@dataclass(frozen=True, slots=True)
class TaskNeeds:
    """The needs of one task of a run.

    Attributes:
        task: Its name.
        n_samples: The number of samples that the run measures.
        n_asked: How many of them are asked already.
        needs: By name in ``QUANTITIES``: the whole need, with what is used already.
        seconds: The time that is left; rough.
        basis: The origin of what is not known from the prompts, as a sentence without its stop.
        notes: What a reader should know.
    """

    task: str
    n_samples: int
    n_asked: int
    needs: Mapping[str, Span]
    seconds: Span = UNKNOWN
    basis: str = ""
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """The needs as plain data."""
        return {
            "n_samples": self.n_samples,
            "n_asked": self.n_asked,
            **{name: self.needs[name].document() for name in QUANTITIES},
            "seconds": self.seconds.document(),
            "basis": self.basis,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """The needs of a run.

    Attributes:
        model: The name of the measured model.
        tasks: Its tasks, in order.
        total: By name in ``QUANTITIES``: the need of all tasks together.
        spent: What the answers that exist already have cost; ``None``: unknown.
        seconds: The time that is left.
        currency: The currency of costs.
        prices: By role: the prices in words; empty: unknown.
        notes: What a reader should know.
        folder: The run folder of the pilot; empty: nothing was sent.
    """

    model: str
    tasks: tuple[TaskNeeds, ...]
    total: Mapping[str, Span]
    spent: float | None = 0.0
    seconds: Span = UNKNOWN
    currency: str = "USD"
    prices: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    folder: str = ""

    def document(self) -> dict[str, Any]:
        """The estimate as plain data."""
        return {
            "model": self.model,
            "tasks": {task.task: task.document() for task in self.tasks},
            "total": {
                **{name: self.total[name].document() for name in QUANTITIES},
                "seconds": self.seconds.document(),
            },
            "spent": self.spent,
            "currency": self.currency,
            "prices": dict(self.prices),
            "notes": list(self.notes),
            "run": self.folder,
        }


def _added(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
