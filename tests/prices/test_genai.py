"""The snapshot of genai-prices: what it finds, and costs that equal those of the package."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pytest

from polymeter.core.records.usage import ModelUsage
from polymeter.prices import PricedModel
from polymeter.prices.genai import snapshot

genai_prices = pytest.importorskip("genai_prices")
DAY = date(2026, 12, 1)
ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "google": "https://generativelanguage.googleapis.com",
    "openrouter": "https://openrouter.ai/api/v1",
    "deepseek": "https://api.deepseek.com",
    "groq": "https://api.groq.com/openai/v1",
    "x-ai": "https://api.x.ai/v1",
    "mistral": "https://api.mistral.ai/v1",
}
SIZES = [(1000, 0, 0, 100), (300_000, 100_000, 5_000, 2_000), (900_000, 0, 0, 0)]


def providers() -> list[Any]:
    from genai_prices.data import providers as listed

    return [one for one in listed if one.id in ADDRESSES]


@pytest.mark.parametrize("at", [date(2024, 6, 1), date(2025, 9, 1), DAY])
@pytest.mark.parametrize("provider", providers(), ids=lambda one: one.id)
def test_costs_equal_those_of_the_package(provider: Any, at: date) -> None:
    """Every model of a provider at three dates, in each of its service tiers, for short, cached and long prompts."""
    from genai_prices import Usage

    book = snapshot()
    assert book is not None
    n = 0
    for model in provider.models[:150]:
        if provider.find_model(model.id) is not model:
            continue  # another model of the list has this name too
        tiers = book.tiers(PricedModel("openai", model.id, ADDRESSES[provider.id]), at)
        for tier, rates in tiers.items():
            noon = datetime(at.year, at.month, at.day, 12, tzinfo=timezone.utc)
            prices = model.get_prices(noon, {"service_tier": tier} if tier else None)
            for size in SIZES if rates.output is not None else ():
                sent, read, written, answered = size
                counts = {"input_tokens": sent, "cache_read_tokens": read, "cache_write_tokens": written}
                theirs = float(prices.calc_price(Usage(**counts, output_tokens=answered))["total_price"])
                ours = rates.cost_of(
                    ModelUsage(
                        sent - read - written,
                        read,
                        written,
                        answered,
                        0,
                        0,
                        0,
                        0.0,
                        1,
                        audio=0,
                        image=0,
                        image_output=0,
                    )
                )
                assert ours.low is not None
                assert ours.low - 1e-9 <= theirs, model.id
                assert ours.high == pytest.approx(theirs, abs=1e-9) or rates.least < 1, model.id
                n += 1
    assert n > 10


@pytest.mark.parametrize(
    ("model", "is_known", "why"),
    [
        (PricedModel("openai", "gpt-4o", ADDRESSES["openai"]), True, "its provider's address"),
        (PricedModel("anthropic", "claude-sonnet-4-5", ADDRESSES["anthropic"]), True, "its provider's address"),
        (PricedModel("gemini", "gemini-2.5-flash", ADDRESSES["google"]), True, "its provider's address"),
        (PricedModel("openai", "gpt-4o", "http://127.0.0.1:8000/v1"), False, "somebody else serves it"),
        (PricedModel("openai", "gpt-4o", "https://gateway.example/v1"), False, "somebody else serves it"),
        (PricedModel("openai", "gpt-4o"), False, "its address is unknown"),
        (PricedModel("vllm", "gpt-4o", ADDRESSES["openai"], is_local=True), False, "the run serves it"),
        (PricedModel("openai", "no-such-model", ADDRESSES["openai"]), False, "the list has no such model"),
    ],
)
def test_a_price_is_found_by_the_address_and_the_name(model: PricedModel, is_known: bool, why: str) -> None:
    book = snapshot()
    assert book is not None
    found = book.tiers(model, DAY)
    assert bool(found) is is_known, why
    assert all((rates.source, bool(rates.version)) == ("genai-prices", True) for rates in found.values())
