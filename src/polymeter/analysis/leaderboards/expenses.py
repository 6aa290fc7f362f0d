"""The expense of a model's runs: tokens, money and time, per sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from polymeter.analysis.leaderboards.reading import BoardRun
from polymeter.core.records.usage import (
    MODEL_ROLE,
    USAGE_BY_ROLE,
    ModelUsage,
    UsageByRole,
    usage_document,
    usage_of_document,
)
from polymeter.report.formatting import as_float, count, listing
from polymeter.report.run.usage_table import role_summary

What = Literal["tokens", "cost", "time"]
EXPENSES: Mapping[What, str] = {
    "tokens": "tokens per sample",
    "time": "seconds per sample",
    "cost": "cost per sample",
}
"""The possible quantities on the horizontal axis of the plot, with their units."""
_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Expense:
    """The total expense of some runs. A value is ``None`` if a run, or one of its answers, does not report it. Tokens
    and cost are those of the measured model, without judges.

    Attributes:
        n: The number of samples that ended.
        input_tokens: Tokens of prompts, including those from a provider's cache.
        output_tokens: Tokens of answers, including those of reasoning.
        seconds: The elapsed time of the runs, on any machine.
        cost: The cost, in the currency of the prices, or as the runs report it.
        usage: The counts of all roles, by role and name of the model.
    """

    n: int
    input_tokens: int | None
    output_tokens: int | None
    seconds: float | None
    cost: float | None
    usage: UsageByRole = field(default_factory=dict)

    def per_sample(self, what: What) -> float | None:
        """Return the tokens, cost or seconds of one sample, or ``None`` if unknown."""
        if not self.n:
            return None
        if what == "tokens":
            if self.input_tokens is None or self.output_tokens is None:
                return None
            return (self.input_tokens + self.output_tokens) / self.n
        whole = self.cost if what == "cost" else self.seconds
        return None if whole is None else whole / self.n

    def document(self) -> dict[str, Any]:
        """Return the expense as plain data."""
        return {
            "n": self.n,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "seconds": self.seconds,
            "cost": self.cost,
            "usage": usage_document(self.usage),
        }


def expense_of(runs: Sequence[BoardRun], prices: Mapping[str, tuple[float, float]]) -> Expense:
    """Compute the expense of some runs of one model.

    Args:
        runs: The runs.
        prices: By pattern of the model's name: the price of a million tokens of input, and of output.
    """
    n = sum(int(number) for run in runs for task in run.results["tasks"].values() for number in _ended(task))
    tokens = [_tokens(run) for run in runs]
    both = None if not tokens or None in tokens else [own for own in tokens if own is not None]
    sent, answered = (None, None) if both is None else (sum(own[0] for own in both), sum(own[1] for own in both))
    usage: dict[tuple[str, str], ModelUsage] = {}
    for key, own in (item for run in runs for item in _usage(run).items()):
        usage[key] = usage.get(key, ModelUsage()) + own
    seconds = [as_float(run.manifest.get("seconds")) for run in runs]
    known = [each for each in seconds if each]
    cost: float | None = None
    stated = [as_float((run.manifest.get("usage") or {}).get("cost")) for run in runs]
    if stated and None not in stated:
        cost = sum(own for own in stated if own is not None)
    price = next((own for name, own in prices.items() if runs and fnmatchcase(runs[0].model, name)), None)
    if price is not None and sent is not None and answered is not None:
        cost = (sent * price[0] + answered * price[1]) / _MILLION
    return Expense(n, sent, answered, sum(known) if len(known) == len(runs) and known else None, cost, usage)


def pareto_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Return whether each point is on the front: no other point is at least as good in both values and better in one.

    Args:
        points: The expense and the score of each model; a higher score is better.
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


def usage_notes(name: str, runs: Sequence[BoardRun], expense: Expense) -> Iterator[str]:
    """Yield notes on the usage of a model's runs: the usage of other roles, and unknown parts."""
    others = [role_summary(role, model, own) for (role, model), own in expense.usage.items() if role != MODEL_ROLE]
    if others:
        yield f"Not included in the tokens and cost of {name}: {'; '.join(others)}."
    old = [run.name for run in runs if not _usage(run) and run.manifest.get("roles") and _sums(run) is not None]
    if old:
        yield (
            f"{listing(old)} kept the tokens of {name} and of its judges as one sum, so its own are unknown. "
            "'polymeter score RUN' counts them apart."
        )
    n_silent = sum(
        max(own.unknown.get("input", 0), own.unknown.get("output", 0))
        for (role, _), own in expense.usage.items()
        if role == MODEL_ROLE and (own.input is not None or own.output is not None)
    )
    if n_silent:
        yield f"The tokens of {name} are unknown: {count(n_silent, 'answer')} did not report all of theirs."


def _usage(run: BoardRun) -> dict[tuple[str, str], ModelUsage]:
    return usage_of_document(run.manifest.get(USAGE_BY_ROLE))


def _tokens(run: BoardRun) -> tuple[int, int] | None:
    """Return the tokens of prompts and answers of the measured model, or ``None`` if not all are known."""
    usage = _usage(run)
    if not usage:  # a run of an earlier version, which summed all roles
        return None if run.manifest.get("roles") else _sums(run)
    own = sum((counts for (role, _), counts in usage.items() if role == MODEL_ROLE), ModelUsage())
    if own.prompt is None or own.output is None or "input" in own.unknown or "output" in own.unknown:
        return None
    return own.prompt, own.output


def _sums(run: BoardRun) -> tuple[int, int] | None:
    """Return the tokens of all roles together, or ``None`` if the run has not counted them."""
    usage = run.manifest.get("usage") or {}
    sent, answered = usage.get("input_tokens"), usage.get("output_tokens")
    if not sent and not answered:
        return None
    return int(sent or 0), int(answered or 0)
