"""Amounts that caps count: tokens and money. Money is counted in whole picodollars, so that sums are exact: even the
cheapest tokens cost thousands of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

PER_DOLLAR = 10**12


@dataclass(frozen=True, slots=True)
class Amount:
    """Tokens and money. Amounts can be added and subtracted.

    Attributes:
        tokens: Tokens of prompts and answers.
        cost: Picodollars.
    """

    tokens: int = 0
    cost: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.tokens + other.tokens, self.cost + other.cost)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.tokens - other.tokens, self.cost - other.cost)

    def scaled(self, factor: float) -> Amount:
        """The amount, multiplied and rounded up."""
        if factor == 1:
            return self
        return Amount(math.ceil(self.tokens * factor), math.ceil(self.cost * factor))


def picodollars(dollars: float) -> int:
    """Money that is spent, rounded up, without the noise of a float."""
    return math.ceil(round(dollars * PER_DOLLAR, 3))


def in_dollars(cost: int) -> str:
    """Money in words, with as many digits as a small sum needs."""
    dollars = cost / PER_DOLLAR
    digits = 2 if dollars >= 1 or not dollars else max(2, math.ceil(-math.log10(dollars)) + 2)
    whole, point, parts = f"{dollars:,.{digits}f}".partition(".")
    return f"${whole}{point}{parts.rstrip('0').ljust(2, '0')}"


def in_units(seconds: float) -> str:
    """A time as ``--max-time`` takes it."""
    whole = round(seconds)
    for unit, size in (("h", 3600), ("m", 60)):
        if whole >= size and whole % size == 0:
            return f"{whole // size}{unit}"
    return f"{seconds:.2g}s" if seconds < 10 else f"{whole}s"
