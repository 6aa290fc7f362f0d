"""Costs of counts at rates: exact where the counts decide, a range where they do not, unknown and never 0 otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from polymeter.core.records.rates import ANY_TIER, at_tier
from polymeter.core.records.usage import ModelUsage
from polymeter.prices import Cost, Rates, RateStep

PLAIN = Rates(input=2.0, output=8.0)
CACHED = Rates(input=2.0, cached_read=0.5, cached_write=2.5, output=8.0)
LONG = Rates(input=2.0, output=8.0, steps=(RateStep(1000, input=4.0), RateStep(2000, input=6.0, output=16.0)))
SPLIT = Rates(input=1.0, audio=3.0, image=2.0, output=4.0, image_output=30.0, reasoning=8.0)


def usage(**counts: Any) -> ModelUsage:
    return ModelUsage(**{"requests": 1, "images_sent": 0, "images_made": 0, "audio_s": 0.0, **counts})


@pytest.mark.parametrize(
    ("rates", "counts", "low", "high"),
    [
        (PLAIN, {"input": 1_000_000, "output": 500_000}, 6.0, 6.0),
        (PLAIN, {"input": 0, "output": 0}, 0.0, 0.0),
        # Without prices of their own, cached tokens cost as much as others.
        (PLAIN, {"input": 500_000, "cached_read": 400_000, "cached_write": 100_000, "output": 0}, 2.0, 2.0),
        (CACHED, {"input": 500_000, "cached_read": 400_000, "cached_write": 100_000, "output": 0}, 1.45, 1.45),
        # Unknown counts and prices.
        (PLAIN, {"input": None, "output": None}, None, None),
        (PLAIN, {"input": 1_000_000, "output": None}, 2.0, None),
        (PLAIN, {"input": 1_000_000, "output": 500_000, "requests": 2, "unknown": {"output": 1}}, 6.0, None),
        (Rates(input=2.0), {"input": 1_000_000, "output": 5}, 2.0, None),
        (Rates(), {"input": 5, "output": 5}, None, None),
        (Rates(input=0.0, output=0.0), {"input": 5, "output": 5}, 0.0, 0.0),
        # Long prompts: a sum of several requests may have had none.
        (LONG, {"input": 1000, "output": 100}, 0.0028, 0.0028),
        (LONG, {"input": 1001, "output": 0}, 0.004004, 0.004004),
        (LONG, {"input": 2001, "cached_read": 1000, "output": 100}, 0.019606, 0.019606),
        (LONG, {"input": 1500, "output": 0, "requests": 2}, 0.003, 0.006),
        # Media.
        (SPLIT, {"input": 1_000_000, "audio": 0, "output": 0}, 1.0, 1.0),
        (SPLIT, {"input": 1_000_000, "audio": 500_000, "output": 0}, 2.0, 2.0),
        (SPLIT, {"input": 1_000_000, "output": 0}, 1.0, 3.0),
        (SPLIT, {"input": 1_000_000, "audio": 0, "images_sent": 1, "output": 0}, 1.0, 2.0),
        (SPLIT, {"input": 1_000_000, "audio": 0, "images_sent": 1, "image": 250_000, "output": 0}, 1.25, 1.25),
        (SPLIT, {"input": 0, "audio": 0, "output": 1_000_000, "reasoning": 500_000}, 6.0, 6.0),
        (SPLIT, {"input": 0, "output": 1_000_000, "reasoning": 0, "images_made": 1, "image_output": 100_000}, 6.6, 6.6),
        (Rates(image_made=0.04, input=0.0, output=0.0), {"input": 9, "output": 9, "images_made": 3}, 0.12, 0.12),
        (Rates(image_made=0.04, input=0.0, output=0.0), {"input": 9, "output": 9, "images_made": None}, None, None),
        (Rates(audio_second=0.0001, request=0.01), {"input": 0, "output": 0, "audio_s": 30.0}, 0.013, 0.013),
        # At some hours half.
        (Rates(input=2.0, output=8.0, least=0.5), {"input": 1_000_000, "output": 0}, 1.0, 2.0),
    ],
)
def test_the_cost_of_counts(rates: Rates, counts: dict[str, Any], low: float | None, high: float | None) -> None:
    found = rates.cost_of(usage(**counts))
    assert found.low == (None if low is None else pytest.approx(low, abs=1e-12))
    assert found.high == (None if high is None else pytest.approx(high, abs=1e-12))


def test_sums_of_costs_keep_what_is_unknown() -> None:
    known, unknown = Cost(1.0, 2.0), Cost(None, None)
    assert known + known == Cost(2.0, 4.0)
    assert known + unknown == Cost(1.0, None)
    assert unknown + unknown == unknown
    one = ModelUsage(requests=2, cost=known)
    assert (ModelUsage() + one).cost == (one + ModelUsage()).cost == known
    assert (one + ModelUsage(requests=1)).cost == Cost(1.0, None)


@pytest.mark.parametrize("rates", [PLAIN, CACHED, LONG, SPLIT, Rates(least=0.5, request=0.1, source="a", version="1")])
def test_rates_are_read_as_they_were_written(rates: Rates) -> None:
    document = rates.document()
    assert Rates.of_document({**document, "of_a_later_version": 1}) == rates
    assert None not in document.values()


def test_counts_are_read_as_they_were_written() -> None:
    old = {"input": 3, "output": 4, "requests": 1, "unknown": {}}
    assert ModelUsage.of_document(old) == ModelUsage(input=3, output=4, requests=1)
    full = ModelUsage(input=3, audio=1, image=0, image_output=0, requests=2, cost=Cost(0.5, None), stated=1)
    assert ModelUsage.of_document(full.document()) == full
    assert not {"cost", "stated", "audio"} & {*ModelUsage(input=3, requests=1).document()}


@pytest.mark.parametrize(
    ("tiers", "tier", "found"),
    [
        ({"": PLAIN, "flex": CACHED}, "flex", CACHED),
        ({"": PLAIN, "flex": CACHED}, "Flex", CACHED),
        ({"": PLAIN, "flex": CACHED}, "default", PLAIN),
        ({"": PLAIN, "flex": CACHED}, "priority", None),
        ({ANY_TIER: PLAIN}, "priority", PLAIN),
        ({}, "", None),
    ],
)
def test_rates_of_a_tier(tiers: dict[str, Rates], tier: str, found: Rates | None) -> None:
    assert at_tier(tiers, tier) == found
