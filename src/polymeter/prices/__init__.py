"""Prices: what a request to a model costs, found before and after it is sent.

``rates_for`` of a ``PriceBook`` gives the ``Rates`` of a model; ``Rates.cost_of`` gives the cost of counted tokens.
Unknown prices are ``None``, never 0.
"""

from __future__ import annotations

from polymeter.core.records.rates import Rates, RateStep
from polymeter.core.records.usage import Cost
from polymeter.prices.book import PriceBook
from polymeter.prices.priced_model import PricedModel, priced_model

__all__ = ["Cost", "PriceBook", "PricedModel", "RateStep", "Rates", "priced_model"]
