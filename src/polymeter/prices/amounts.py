"""Prices as users write them: plain numbers, in the range that prices have."""

from __future__ import annotations

import math
from typing import Any, Literal

from polymeter.core.errors import PlanError
from polymeter.core.records.rates import MILLION

Unit = Literal["million", "token", "other"]
"""The quantity that a price is for: a million tokens, one token, or one of something else."""
CHEAPEST, DEAREST = 0.001, 10_000.0
"""The range of prices of a million tokens, but for 0. Among the 2,400 models of genai-prices 0.2.3, prices lie between
0.0011 and 600; a price of one token that is read as one of a million lies below, and the reverse above.
"""
_NOT_A_NUMBER = "Write a plain number, in US dollars, without a sign for the currency or a unit."


def checked_price(value: Any, what: str, *, where: str, unit: Unit = "million") -> float:
    """Return a price as a number.

    Args:
        value: The value that was given.
        what: Its name, for messages.
        where: Where it was given.
        unit: What it is the price of.

    Raises:
        PlanError: if it is not a number, negative, not finite, or so far from what tokens cost that it must be for
            another number of tokens; the message gives the corrected figure.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PlanError(f"{what} is {value!r}, not a price.", where=where, hint=_NOT_A_NUMBER)
    price = float(value)
    if not math.isfinite(price):
        raise PlanError(f"{what} is {value}, not a price.", where=where, hint=_NOT_A_NUMBER)
    if price < 0:
        raise PlanError(f"{what} is negative: {value}.", where=where, hint="Write 0 for what is free.")
    if unit == "other" or price == 0:
        return price
    of_million = price if unit == "million" else price * MILLION
    if not CHEAPEST <= of_million <= DEAREST:
        raise _implausible(price, of_million, what, where, unit)
    return price


def _implausible(price: float, of_million: float, what: str, where: str, unit: Unit) -> PlanError:
    """Return the error of a price that is probably for another number of tokens."""
    own, other = ("a million tokens", "one token") if unit == "million" else ("one token", "a million tokens")
    corrected = price * MILLION if of_million < CHEAPEST else price / MILLION
    in_range = CHEAPEST <= (corrected if unit == "million" else corrected * MILLION) <= DEAREST
    is_swapped = in_range and (unit == "million") == (of_million < CHEAPEST)
    hint = f"Prices of a million tokens are between {CHEAPEST:g} and {DEAREST:,.0f}; 0 is free."
    if is_swapped:
        hint = f"If it is the price of {other}, write {corrected:.6g}."
    elif in_range:
        hint = f"Did you mean {corrected:.6g}? {hint}"
    return PlanError(f"{what} is {price:.6g} for {own}, far from the price of any model.", where=where, hint=hint)
