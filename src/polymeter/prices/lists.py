"""Price lists: the prices of many models, by name, date and service tier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from typing import Any, Protocol

from polymeter.core.errors import PlanError
from polymeter.core.records.rates import ANY_TIER, Rates
from polymeter.prices.amounts import checked_price
from polymeter.prices.priced_model import PricedModel

PRICE = "--price"
_FORM = "Write MODEL=IN/OUT, such as 'gpt-*=2.50/10': the prices of a million tokens of prompts and of answers."


class PriceList(Protocol):
    """A list of prices."""

    def tiers(self, model: PricedModel, at: date) -> Mapping[str, Rates]:
        """Return the rates of a model at a date, by service tier; that of the list price is the empty name. Empty: the
        list does not have the model.
        """


@dataclass(frozen=True, slots=True)
class StatedPrices:
    """Prices that stand for all dates, by the name of the model."""

    by_name: Mapping[str, Mapping[str, Rates]]

    def tiers(self, model: PricedModel, at: date) -> Mapping[str, Rates]:
        """Return the rates of a model, by service tier."""
        found = [rates for name, rates in self.by_name.items() if model.is_called(name)]
        return found[0] if found else {}


@dataclass(frozen=True, slots=True)
class PatternPrices:
    """Prices given as ``MODEL=IN/OUT``, where ``MODEL`` may have wildcards; the first that fits is used."""

    by_pattern: Mapping[str, Rates] = field(default_factory=dict)

    def tiers(self, model: PricedModel, at: date) -> Mapping[str, Rates]:
        """Return the rates of a model, which apply to every service tier."""
        found = next((rates for pattern, rates in self.by_pattern.items() if is_named(model, pattern)), None)
        return {} if found is None else {ANY_TIER: found}


def pattern_prices(given: Mapping[str, Any]) -> PatternPrices:
    """Read prices that are given as ``MODEL=IN/OUT``, or in Python as ``{MODEL: (IN, OUT)}``.

    Raises:
        PlanError: if one is not a price.
    """
    return PatternPrices({name: pair_rates(name, value) for name, value in given.items()})


def is_named(model: PricedModel, pattern: str) -> bool:
    """Return whether a pattern fits the name of a model, with or without its backend."""
    return any(fnmatchcase(name, pattern) for name in (str(model), model.name) if name)


def pair_rates(name: str, value: Any) -> Rates:
    """Read the prices of prompts and of answers from ``IN/OUT`` or a pair of numbers.

    Raises:
        PlanError: if they are not prices.
    """
    parts = value.split("/") if isinstance(value, str) else value
    if not name or not isinstance(parts, (list, tuple)) or len(parts) != 2:
        raise PlanError(f"{_written(name, value)!r} is not a price.", where=PRICE, hint=_FORM)
    try:
        sent, answered = (float(part) if isinstance(part, str) else part for part in parts)
    except ValueError:
        raise PlanError(f"{_written(name, value)!r} is not a price.", where=PRICE, hint=_FORM) from None
    return Rates(
        input=checked_price(sent, f"The price of prompts of {name!r}", where=PRICE),
        output=checked_price(answered, f"The price of answers of {name!r}", where=PRICE),
        source=PRICE,
    )


def _written(name: str, value: Any) -> str:
    shown = (
        value if isinstance(value, str) else "/".join(map(str, value)) if isinstance(value, (list, tuple)) else value
    )
    return f"{name}={shown}"
