"""The prices that a run knows: those that the user gives, and the snapshot of genai-prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path

from polymeter.core.errors import PlanError
from polymeter.core.names.installing import installed_version, pip_install
from polymeter.core.options import RunOptions
from polymeter.core.records.rates import Rates, at_tier
from polymeter.prices.files import read_price_file
from polymeter.prices.genai import Snapshot, snapshot
from polymeter.prices.lists import PRICE, PatternPrices, PriceList, pattern_prices
from polymeter.prices.priced_model import PricedModel


@dataclass(frozen=True)
class PriceBook:
    """The prices that a run knows. A price for one model wins over a file, and a file over the snapshot.

    Attributes:
        pairs: Prices given as ``MODEL=IN/OUT``.
        files: Price files, by name.
        gpu_hour: The price of an hour of one GPU; ``None``: unknown.
    """

    pairs: PatternPrices = field(default_factory=PatternPrices)
    files: Mapping[str, PriceList] = field(default_factory=dict)
    gpu_hour: float | None = None

    @classmethod
    def of_options(cls, options: RunOptions) -> PriceBook:
        """Read the prices that the options name.

        Raises:
            PlanError: if a price or a file cannot be read as one.
        """
        return cls(pattern_prices(options.price), read_price_files(options.prices), options.gpu_price)

    @cached_property
    def _snapshot(self) -> Snapshot | None:
        return snapshot()

    def tiers(self, model: PricedModel, at: date) -> Mapping[str, Rates]:
        """Return the rates of a model by service tier, from the first list that has the model; empty if they are
        unknown.

        Args:
            model: The model.
            at: The date of the requests.

        Raises:
            PlanError: if two files have the model.
        """
        if found := self.pairs.tiers(model, at):
            return found
        of_files = {name: tiers for name, one in self.files.items() if (tiers := one.tiers(model, at))}
        if len(of_files) > 1:
            first, second, *_ = of_files
            what = f"Two price files have the model {str(model)!r}: {first} and {second}."
            raise PlanError(what, where="--prices", hint=f"Keep one of them, or use {PRICE} '{model}=IN/OUT'.")
        if of_files:
            return next(iter(of_files.values()))
        if model.is_local or not model.base_url or self._snapshot is None:
            return {}
        return self._snapshot.tiers(model, at)

    def rates_for(self, model: PricedModel, at: date, tier: str = "") -> Rates | None:
        """Return the rates of a model; ``None`` if they are unknown.

        Args:
            model: The model.
            at: The date of the requests.
            tier: The service tier, as the provider names it; empty: its standard tier.
        """
        return at_tier(self.tiers(model, at), tier)

    def hint(self, model: PricedModel) -> str:
        """Return what the user can do if the rates of a model are unknown."""
        given = f"Give them with {PRICE} '{model}=IN/OUT' or --prices FILE."
        if not model.is_local and installed_version("genai-prices") is None:
            return f"{given} Prices of providers come with: {pip_install(extra='prices')}"
        return given


def read_price_files(files: Sequence[Path]) -> dict[str, PriceList]:
    """Read price files.

    Raises:
        PlanError: if one cannot be read as one, or is named twice.
    """
    for number, file in enumerate(files):
        if file in files[:number]:
            raise PlanError(f"The price file {str(file)!r} is given twice.", where="--prices")
    return {str(file): read_price_file(file) for file in files}
