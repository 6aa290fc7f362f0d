"""What the runs of a model took: tokens, money and time, per sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

from polymeter.api.leaderboards.reading import BoardRun
from polymeter.core.records import dataclass
from polymeter.report.formatting import as_float

What = Literal["tokens", "cost", "time"]
EXPENSES: Mapping[What, str] = {
    "tokens": "tokens per sample",
    "time": "seconds per sample",
    "cost": "cost per sample",
}
"""What a score is plotted against, and in which unit."""
_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Expense:
    """What some runs took altogether, judges included; ``None``: a run does not say.

    Attributes:
        n: The number of samples that ended.
        input_tokens: Tokens that were sent.
        output_tokens: Tokens that were answered.
        seconds: How long the runs took by the clock, on whatever machine.
        cost: In the currency of the prices, or as the runs say.
    """

    n: int
    input_tokens: int | None
    output_tokens: int | None
    seconds: float | None
    cost: float | None

    def per_sample(self, what: What) -> float | None:
        """The tokens, cost or seconds of one sample; ``None``: not known."""
        if not self.n:
            return None
        if what == "tokens":
            if self.input_tokens is None or self.output_tokens is None:
                return None
            return (self.input_tokens + self.output_tokens) / self.n
        whole = self.cost if what == "cost" else self.seconds
        return None if whole is None else whole / self.n

    def document(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "n": self.n,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "seconds": self.seconds,
            "cost": self.cost,
        }


def expense_of(runs: Sequence[BoardRun], prices: Mapping[str, tuple[float, float]]) -> Expense:
    """What some runs of one model took.

    Args:
        runs: The runs.
        prices: By pattern of the model's name: the price of a million tokens of input, and of output.
    """
    n = sum(int(number) for run in runs for task in run.results["tasks"].values() for number in _ended(task))
    tokens = [_tokens(run) for run in runs]
    both = None if not tokens or None in tokens else [own for own in tokens if own is not None]
    sent, answered = (None, None) if both is None else (sum(own[0] for own in both), sum(own[1] for own in both))
    seconds = [as_float(run.manifest.get("seconds")) for run in runs]
    known = [own for own in seconds if own]
    cost: float | None = None
    stated = [as_float((run.manifest.get("usage") or {}).get("cost")) for run in runs]
    if stated and None not in stated:
        cost = sum(own for own in stated if own is not None)
    price = next((own for name, own in prices.items() if runs and fnmatchcase(runs[0].model, name)), None)
    if price is not None and sent is not None and answered is not None:
        cost = (sent * price[0] + answered * price[1]) / _MILLION
    return Expense(n, sent, answered, sum(known) if len(known) == len(runs) and known else None, cost)


def pareto_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Which points no other one beats: none takes as little and scores as much, and less or more in one of them.

    Args:
        points: Of each model what it takes, and its score; more is better.
    """
    front = [False] * len(points)
    best = float("-inf")
    for place in sorted(range(len(points)), key=lambda place: (points[place][0], -points[place][1])):
        is_equal = any(front[other] and points[other] == points[place] for other in range(len(points)))
        if points[place][1] > best or is_equal:
            front[place] = True
            best = points[place][1]
    return front


def _ended(task: Mapping[str, Any]) -> list[Any]:
    return [*(task.get("statuses") or {}).values()]


def _tokens(run: BoardRun) -> tuple[int, int] | None:
    """Tokens sent and answered; ``None`` if the run has not counted them."""
    usage = run.manifest.get("usage") or {}
    sent, answered = usage.get("input_tokens"), usage.get("output_tokens")
    if not sent and not answered:
        return None
    return int(sent or 0), int(answered or 0)
