"""Rates: the prices of one model's requests, and the cost of counts at these prices.

``polymeter.prices`` finds the rates of a model. The run stores them, so that its costs are known without the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from polymeter.core.records.usage import Cost, ModelUsage

MILLION = 1_000_000
RATES = "rates"
"""The key of the rates in the record of a part of a run."""
_TOKEN_PRICES = ("input", "cached_read", "cached_write", "output")
_MEDIA_PRICES = {"image_sent": "images_sent", "image_made": "images_made", "audio_second": "audio_s"}
"""The prices of media, with the counts that they multiply."""


@dataclass(frozen=True, slots=True)
class RateStep:
    """Prices of tokens for requests with long prompts; they apply to all tokens of the request.

    Attributes:
        above: The prompt has more tokens than this, cached ones included.
        input: As in ``Rates``; ``None``: unchanged.
        cached_read: As ``input``.
        cached_write: As ``input``.
        output: As ``input``.
    """

    above: int
    input: float | None = None
    cached_read: float | None = None
    cached_write: float | None = None
    output: float | None = None


@dataclass(frozen=True, slots=True)
class Rates:
    """The prices of a model. Those of tokens are for a million of them. ``None`` is unknown for tokens, and nothing for
    the others.

    Attributes:
        input: Tokens of prompts.
        cached_read: Tokens of prompts read from a provider's cache; ``None``: as ``input``.
        cached_write: Tokens of prompts written to it; ``None``: as ``input``.
        output: Tokens of answers, those of reasoning included.
        request: One request.
        image_sent: One image in a request.
        image_made: One image in an answer.
        audio_second: One second of a recording in a request.
        steps: Other prices for long prompts, by ascending length.
        currency: The currency, by its code.
        source: The origin of the prices, in words.
        version: The version of that source; empty if it has none.
    """

    input: float | None = None
    cached_read: float | None = None
    cached_write: float | None = None
    output: float | None = None
    request: float | None = None
    image_sent: float | None = None
    image_made: float | None = None
    audio_second: float | None = None
    steps: tuple[RateStep, ...] = ()
    currency: str = "USD"
    source: str = ""
    version: str = ""

    def cost_of(self, usage: ModelUsage) -> Cost:
        """Compute the cost of some counts. It is a range if they are sums of several requests, of which some may have
        had prompts so long that other prices apply.

        A cost that the provider stated is not looked at. Failed tries are not included.
        """
        costs = [self._at_step(usage, step) for step in self._possible_steps(usage)]
        lows = [cost.low for cost in costs if cost.low is not None]
        highs = [cost.high for cost in costs]
        return Cost(
            min(lows) if lows else None, None if None in highs else max(high for high in highs if high is not None)
        )

    def document(self) -> dict[str, Any]:
        """Return the rates as plain data, without those that are ``None``."""
        return {name: value for name, value in asdict(self).items() if value is not None and value != ()}

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Rates:
        """Read rates from plain data; unknown names are left out."""
        values = {name: document[name] for name in cls.__dataclass_fields__ if name in document}
        return cls(**{**values, "steps": tuple(RateStep(**step) for step in values.get("steps", ()))})

    def _possible_steps(self, usage: ModelUsage) -> Iterator[RateStep | None]:
        """Yield the steps that some request may have reached; ``None``: the prices of short prompts."""
        prompt = usage.prompt
        if prompt is None or not self.steps:
            yield from (None, *self.steps)
            return
        reached = [step for step in self.steps if prompt > step.above]
        if usage.requests == 1:
            yield reached[-1] if reached else None
        else:
            yield from (None, *reached)

    def _at_step(self, usage: ModelUsage, step: RateStep | None) -> Cost:
        stepped = {} if step is None else {name: getattr(step, name) for name in _TOKEN_PRICES}
        at = replace(self, **{name: price for name, price in stepped.items() if price is not None})
        prices = {
            "input": at.input,
            "cached_read": at.input if at.cached_read is None else at.cached_read,
            "cached_write": at.input if at.cached_write is None else at.cached_write,
            "output": at.output,
        }
        parts = [_part(usage, name, price, MILLION) for name, price in prices.items()]
        parts += [
            _part(usage, counted, price)
            for name, counted in _MEDIA_PRICES.items()
            if (price := getattr(self, name)) is not None
        ]
        lows = [part.low for part in parts if part.low is not None]
        requests = usage.requests * (self.request or 0.0)
        low = sum(lows) + requests if lows else None
        highs = [part.high for part in parts]
        return Cost(low, None if None in highs else sum(high for high in highs if high is not None) + requests)


def _part(usage: ModelUsage, name: str, price: float | None, per: int = 1) -> Cost:
    """Compute the cost of one count."""
    count, n_unknown = getattr(usage, name), usage.unknown.get(name, 0)
    if name.startswith("cached") and count is None:  # the tokens stand under ``input``, at the price of all
        return Cost(0.0, 0.0)
    if (count == 0 and not n_unknown) or price == 0:
        return Cost(0.0, 0.0)
    if count is None or price is None:
        return Cost(None, None)
    low = count * price / per
    return Cost(low, None if n_unknown and not name.startswith("cached") else low)
