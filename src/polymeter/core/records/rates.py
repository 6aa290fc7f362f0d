"""Rates: the prices of one model's requests, and the cost of counts at these prices.

``polymeter.prices`` finds the rates of a model. A run keeps them, so that its costs need no price list later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from polymeter.core.records.usage import Cost, ModelUsage

MILLION = 1_000_000
RATES = "rates"
"""The key of the rates in the record of a part of a run."""
SNAPSHOT = "genai-prices"
"""The source of rates that no user has given."""
ANY_TIER = "*"
"""The tier of prices that apply to every service tier."""
_STANDARD_TIERS = ("standard", "default", "auto", "on_demand")
"""The names of providers for the service tier of their list prices, which is the empty name here."""
_TOKEN_PRICES = ("input", "cached_read", "cached_write", "output")
_MEDIA_PRICES = {"image_sent": "images_sent", "image_made": "images_made", "audio_second": "audio_s"}
"""The prices of media, with the counts that they multiply."""


@dataclass(frozen=True, slots=True)
class RateStep:
    """Prices of tokens for requests with long prompts. They apply to all tokens of such a request.

    Attributes:
        above: The prompt has more tokens than this, cached ones included.
        input: As in ``Rates``; ``None``: the price of a short prompt.
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
    """The prices of a model. Those of tokens are for a million of them.

    Attributes:
        input: Tokens of prompts; ``None``: unknown.
        cached_read: Tokens of prompts read from a provider's cache; ``None``: as ``input``.
        cached_write: Tokens of prompts written to it; ``None``: as ``input``.
        output: Tokens of answers; ``None``: unknown.
        audio: Tokens of audio in prompts; ``None``: as ``input``.
        image: Tokens of images in prompts; ``None``: as ``input``.
        image_output: Tokens of images in answers; ``None``: as ``output``.
        reasoning: Tokens of reasoning in answers; ``None``: as ``output``.
        request: One request; ``None``: nothing. So are those that follow.
        image_sent: One image in a request.
        image_made: One image in an answer.
        audio_second: One second of a recording in a request.
        steps: Other prices for long prompts, by ascending length.
        least: The share of these prices that is charged at the cheapest hour of the day.
        currency: The currency, by its code.
        source: The origin of the prices, in words.
        version: The version of that source; empty if it has none.
    """

    input: float | None = None
    cached_read: float | None = None
    cached_write: float | None = None
    output: float | None = None
    audio: float | None = None
    image: float | None = None
    image_output: float | None = None
    reasoning: float | None = None
    request: float | None = None
    image_sent: float | None = None
    image_made: float | None = None
    audio_second: float | None = None
    steps: tuple[RateStep, ...] = ()
    least: float = 1.0
    currency: str = "USD"
    source: str = ""
    version: str = ""

    def cost_of(self, usage: ModelUsage) -> Cost:
        """Compute the cost of some counts at these prices. It is a range if the counts do not say which of several
        prices apply: those of media, of long prompts in a sum of requests, or of the hour.

        A cost that the provider stated is not looked at, and failed tries are not included.
        """
        costs = [rates._of_step(usage) for rates in self._possible(usage)]
        lows = [cost.low for cost in costs if cost.low is not None]
        highs = [cost.high for cost in costs if cost.high is not None]
        low = min(lows) * self.least if len(lows) == len(costs) else None
        return Cost(low, max(highs) if len(highs) == len(costs) else None)

    def document(self) -> dict[str, Any]:
        """Return the rates as plain data, without those that are not set."""
        return {
            name: value
            for name, value in asdict(self).items()
            if value not in (None, ()) and (name, value) != ("least", 1.0)
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Rates:
        """Read rates from plain data; unknown names are left out."""
        values = {name: document[name] for name in cls.__dataclass_fields__ if name in document}
        return cls(**{**values, "steps": tuple(RateStep(**step) for step in values.get("steps", ()))})

    def _possible(self, usage: ModelUsage) -> Iterator[Rates]:
        """Yield the rates that may apply to a request among those that were counted, by the length of its prompt."""
        prompt = usage.prompt
        reached = [step for step in self.steps if prompt is None or prompt > step.above]
        if usage.requests > 1 or prompt is None or not reached:
            yield self
        yield from map(self._stepped, reached if usage.requests > 1 or prompt is None else reached[-1:])

    def _stepped(self, step: RateStep) -> Rates:
        return replace(self, **{name: price for name in _TOKEN_PRICES if (price := getattr(step, name)) is not None})

    def _of_step(self, usage: ModelUsage) -> Cost:
        """Compute the cost of counts at the prices of short prompts."""
        # How many of the tokens of media were cached is unknown.
        is_cached = bool(usage.cached_read or usage.cached_write)
        audio = None if is_cached and usage.audio else usage.audio
        image = 0 if usage.images_sent == 0 else None if is_cached and usage.image else usage.image
        parts = [
            _tokens(usage, "input", self.input, [(audio, self.audio), (image, self.image)]),
            _tokens(usage, "cached_read", self.input if self.cached_read is None else self.cached_read),
            _tokens(usage, "cached_write", self.input if self.cached_write is None else self.cached_write),
            _tokens(
                usage,
                "output",
                self.output,
                [
                    (usage.reasoning, self.reasoning),
                    (0 if usage.images_made == 0 else usage.image_output, self.image_output),
                ],
            ),
            *(_flat(usage, counted, getattr(self, name)) for name, counted in _MEDIA_PRICES.items()),
            Cost(*[usage.requests * (self.request or 0.0)] * 2),
        ]
        known = [part.low for part in parts if part.low is not None]
        highs = [part.high for part in parts if part.high is not None]
        # A sum of which only nothings are known is unknown.
        is_known = len(known) == len(parts) or any(known)
        return Cost(sum(known) if is_known else None, sum(highs) if len(highs) == len(parts) else None)


def at_tier(tiers: Mapping[str, Rates], tier: str) -> Rates | None:
    """Return the rates of a service tier; ``None`` if they are unknown.

    Args:
        tiers: Rates by tier.
        tier: The tier, as the provider names it; empty: the answer names none.
    """
    tier = tier.lower()
    return tiers.get("" if tier in _STANDARD_TIERS else tier, tiers.get(ANY_TIER))


def _tokens(
    usage: ModelUsage, name: str, price: float | None, shares: Iterable[tuple[int | None, float | None]] = ()
) -> Cost:
    """Compute the cost of tokens, of which some may have prices of their own.

    Args:
        usage: The counts.
        name: The count.
        price: The price of a million of them.
        shares: The number of some of them, ``None`` if unknown, and their price, ``None`` if it is that of the others.
    """
    count, n_unknown = getattr(usage, name), usage.unknown.get(name, 0)
    if name.startswith("cached"):  # uncounted, they stand under ``input``, at the price of all
        count, n_unknown = count or 0, 0
    if price is None and count == 0 and not n_unknown:
        return Cost(0.0, 0.0)
    if count is None or price is None:
        return Cost(None, None)
    possible, exact = [price], 0.0
    for number, own in shares:
        if own is None:
            continue
        if number is None:
            possible.append(own)
        else:
            number = min(number, count)
            exact, count = exact + number * own, count - number
    low, high = ((exact + count * one) / MILLION for one in (min(possible), max(possible)))
    return Cost(low, None if n_unknown else high)


def _flat(usage: ModelUsage, name: str, price: float | None) -> Cost:
    """Compute the cost of images, or of seconds of audio."""
    if not price:
        return Cost(0.0, 0.0)
    count = getattr(usage, name)
    if count is None:
        return Cost(None, None)
    return Cost(count * price, None if usage.unknown.get(name) else count * price)
