"""The expense of a model's runs: tokens, money and time, per sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Literal

from polymeter.analysis.leaderboards.reading import BoardRun
from polymeter.core.records.rates import Rates, at_tier
from polymeter.core.records.usage import (
    MODEL_ROLE,
    UNKNOWN_COST,
    USAGE_BY_ROLE,
    Cost,
    ModelUsage,
    UsageByRole,
    usage_document,
    usage_of_document,
)
from polymeter.prices.lists import PatternPrices
from polymeter.prices.priced_model import model_named
from polymeter.report.formatting import as_float, count, listing, money
from polymeter.report.run.usage_table import role_summary

What = Literal["tokens", "cost", "time"]
EXPENSES: Mapping[What, str] = {
    "tokens": "tokens per sample",
    "time": "seconds per sample",
    "cost": "cost per sample",
}
"""The possible quantities on the horizontal axis of the plot, with their units."""


@dataclass(frozen=True, slots=True)
class Expense:
    """The total expense of some runs. A value is ``None`` if a run, or one of its answers, does not report it. Tokens
    and cost are those of the measured model, without judges.

    Attributes:
        n: The number of samples that ended.
        input_tokens: Tokens of prompts, including those from a provider's cache.
        output_tokens: Tokens of answers, including those of reasoning.
        seconds: The elapsed time of the runs, on any machine.
        cost: The cost in US dollars, or as imported runs report it.
        usage: The counts of all roles, by role and name of the model.
    """

    n: int
    input_tokens: int | None
    output_tokens: int | None
    seconds: float | None
    cost: Cost
    usage: UsageByRole = field(default_factory=dict)

    def per_sample(self, what: What) -> float | None:
        """Return the tokens, cost or seconds of one sample, or ``None`` if unknown."""
        if not self.n:
            return None
        if what == "tokens":
            if self.input_tokens is None or self.output_tokens is None:
                return None
            return (self.input_tokens + self.output_tokens) / self.n
        whole = self.middle_cost if what == "cost" else self.seconds
        return None if whole is None else whole / self.n

    @property
    def middle_cost(self) -> float | None:
        """The cost, or the middle of the range that holds it; ``None`` if it is unknown."""
        if self.cost.low is None or self.cost.high is None:
            return None
        return (self.cost.low + self.cost.high) / 2

    def document(self) -> dict[str, Any]:
        """Return the expense as plain data."""
        return {
            "n": self.n,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "seconds": self.seconds,
            "cost": self.middle_cost,
            "usage": usage_document(self.usage),
        }


def expense_of(runs: Sequence[BoardRun], prices: PatternPrices) -> Expense:
    """Compute the expense of some runs of one model.

    Args:
        runs: The runs.
        prices: Prices of models, instead of the rates that their runs kept.
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
    rates = at_tier(prices.tiers(model_named(runs[0].model), datetime.now(timezone.utc).date()), "") if runs else None
    costs = [_cost(run, tokens, rates) for run, tokens in zip(runs, tokens, strict=True)]
    cost = sum(costs[1:], costs[0]) if costs else UNKNOWN_COST
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


def _cost(run: BoardRun, tokens: tuple[int, int] | None, rates: Rates | None) -> Cost:
    """Return the cost of a run's measured model: at given rates, as an imported run states it, or as the run kept."""
    if rates is not None:
        return UNKNOWN_COST if tokens is None else rates.cost_of(ModelUsage(tokens[0], 0, 0, tokens[1], requests=1))
    stated = as_float((run.manifest.get("usage") or {}).get("cost"))
    if stated is not None:
        return Cost(stated, stated)
    return sum((own for (role, _), own in _usage(run).items() if role == MODEL_ROLE), ModelUsage()).cost


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
    low, high = expense.cost.low, expense.cost.high
    if low is not None and high is not None and low < high:
        yield f"The cost of {name} is known as a range alone: {money(expense.cost)}. The middle is shown."
    n_reused = sum(own.reused for (role, _), own in expense.usage.items() if role == MODEL_ROLE)
    if n_reused:
        yield f"Not included in the expenses of {name}: {count(n_reused, 'answer')} taken from other runs (--reuse)."
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
