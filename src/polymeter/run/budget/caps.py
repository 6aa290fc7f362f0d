"""Caps as the user gives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polymeter.core.options import RunOptions
from polymeter.run.budget.amounts import PER_DOLLAR, Amount, in_dollars, in_units

MAX_COST, MAX_TOKENS, MAX_TIME = "--max-cost", "--max-tokens", "--max-time"


@dataclass(frozen=True, slots=True)
class Caps:
    """The caps of a run; ``None``: there is no such cap.

    Attributes:
        cost: Picodollars.
        tokens: Tokens of prompts and answers.
        time_s: Seconds of all parts of the run.
    """

    cost: int | None = None
    tokens: int | None = None
    time_s: float | None = None

    @classmethod
    def of(cls, options: RunOptions) -> Caps | None:
        """The caps among the options of a run; ``None`` if there is none."""
        if options.max_cost is None and options.max_tokens is None and options.max_time_s is None:
            return None
        # Rounded down: a cap is not passed by a fraction either.
        cost = None if options.max_cost is None else int(round(options.max_cost * PER_DOLLAR, 3))
        return cls(cost, options.max_tokens, options.max_time_s)

    @property
    def counts_requests(self) -> bool:
        """True if requests are counted, and not only time."""
        return self.cost is not None or self.tokens is not None

    def exceeded_by(self, amount: Amount, seconds: float = 0.0) -> str:
        """Return the flag of the first cap that an amount exceeds; empty: none."""
        if self.cost is not None and amount.cost > self.cost:
            return MAX_COST
        if self.tokens is not None and amount.tokens > self.tokens:
            return MAX_TOKENS
        return MAX_TIME if self.time_s is not None and seconds >= self.time_s else ""

    def in_words(self, flag: str) -> str:
        """A cap in words."""
        if flag == MAX_COST:
            return in_dollars(self.cost or 0)
        return in_units(self.time_s or 0.0) if flag == MAX_TIME else f"{self.tokens or 0:,} tokens"

    def document(self) -> dict[str, Any]:
        """The caps as plain data, in dollars, tokens and seconds."""
        cost = None if self.cost is None else self.cost / PER_DOLLAR
        found = {"cost": cost, "tokens": self.tokens, "seconds": self.time_s}
        return {name: value for name, value in found.items() if value is not None}


def amount_in_words(flag: str, amount: Amount, seconds: float = 0.0) -> str:
    """Return the part of an amount that a cap counts, in words."""
    if flag == MAX_COST:
        return in_dollars(amount.cost)
    return in_units(seconds) if flag == MAX_TIME else f"{amount.tokens:,} tokens"
