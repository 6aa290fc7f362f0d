"""The axis of a drawing: the places of values in pixels, and the round numbers beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass

_FACTORS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Tick:
    """A round number: its place in pixels, and its text."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis.

    Attributes:
        low: The least value.
        high: The greatest value.
        start: The place of the least one, in pixels.
        end: That of the greatest one.
        is_logarithmic: Whether equal ratios are equally long.
        is_whole: Whether only whole numbers mean something.
    """

    low: float
    high: float
    start: float
    end: float
    is_logarithmic: bool = False
    is_whole: bool = False

    def place(self, value: float) -> float:
        """Return the place of a value; the middle if the axis has only one value."""
        if self.low == self.high:
            return (self.start + self.end) / 2
        low, high, at = self.low, self.high, value
        if self.is_logarithmic:
            low, high, at = math.log10(low), math.log10(high), math.log10(value)
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self, n: int) -> list[Tick]:
        """Round numbers along the axis, about so many."""
        if self.low == self.high:
            return [Tick(self.place(self.low), f"{self.low:,}")]
        if self.is_logarithmic:
            return [Tick(self.place(value), f"{value:.4g}") for value in self._powers()]
        step = self._step((self.high - self.low) / n)
        decimals = next((digits for digits in range(12) if math.isclose(step, round(step, digits))), 12)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        values = [number * step for number in range(first, last + 1)]
        return [Tick(self.place(value), f"{value:,.{decimals}f}") for value in values]

    def _step(self, least: float) -> float:
        power = 10.0 ** math.floor(math.log10(least))
        steps = (power * factor for factor in _FACTORS if power * factor >= least * 0.999)
        return next((step for step in steps if not self.is_whole or step.is_integer()), 1.0)

    def _powers(self) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        factors = (1, 2, 5) if len(powers) < 4 else (1,)
        values = [factor * 10.0**power for power in powers for factor in factors]
        return [value for value in values if self.low <= value <= self.high]
