"""The prices that a run knows: those that the user gives, and a snapshot of the providers' lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from polymeter.core.options import RunOptions
from polymeter.core.records.rates import Rates
from polymeter.prices.priced_model import PricedModel


@dataclass(frozen=True, slots=True)
class PriceBook:
    """The prices that a run knows. A price for one model wins over a file, and a file over the snapshot.

    Attributes:
        pairs: Prices given as ``MODEL=IN/OUT``.
        files: Price files.
    """

    pairs: Sequence[str] = ()
    files: Sequence[Path] = ()

    @classmethod
    def of_options(cls, options: RunOptions) -> PriceBook:
        """Read the prices that the options name.

        Raises:
            PlanError: if a price or a file cannot be read as one.
        """
        return cls()

    def rates_for(self, model: PricedModel, at: date, tier: str = "") -> Rates | None:
        """Return the rates of a model; ``None`` if they are unknown.

        Args:
            model: The model.
            at: The date of the requests.
            tier: The service tier, as the provider names it; empty: its standard tier.
        """
        return None
