"""Which price wins: one for a model, then a file, then the snapshot; and what is local."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.model import ModelSpec
from polymeter.core.options import RunOptions
from polymeter.models.mock import MockBatch
from polymeter.models.openai import OpenAIModel
from polymeter.prices import PriceBook, PricedModel, priced_model

DAY = date(2026, 12, 1)
GPT = PricedModel("openai", "gpt-4o", "https://api.openai.com/v1")


def test_a_price_wins_over_a_file_and_a_file_over_the_snapshot(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("gpt-4o: {input: 7, output: 8}\nmine: {input: 1, output: 1}\n")
    both = PriceBook.of_options(RunOptions(price={"gpt-*": "3/4"}, prices=(file,)))
    one = PriceBook.of_options(RunOptions(prices=(file,)))
    none = PriceBook.of_options(RunOptions())
    found = [book.rates_for(GPT, DAY) for book in (both, one, none)]
    assert [rates and (rates.input, rates.source) for rates in found] == [
        (3, "--price"),
        (7, str(file)),
        (2.5, "genai-prices"),
    ]
    assert one.rates_for(PricedModel("openai", "mine", "http://a/v1"), DAY, "priority") is not None
    assert none.rates_for(GPT, DAY, "no-such-tier") is None


def test_two_files_with_one_model_are_refused(tmp_path: Path) -> None:
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    for file in (first, second):
        file.write_text("gpt-4o: {input: 7, output: 8}\n")
    book = PriceBook.of_options(RunOptions(prices=(first, second)))
    with pytest.raises(PlanError, match=re.escape(f"Two price files have the model 'openai:gpt-4o': {first}")):
        book.tiers(GPT, DAY)
    with pytest.raises(PlanError, match="is given twice"):
        PriceBook.of_options(RunOptions(prices=(first, first)))
    with pytest.raises(PlanError, match="Cannot read the price file: No such file"):
        PriceBook.of_options(RunOptions(prices=(tmp_path / "none.yaml",)))


def test_without_the_package_prices_of_providers_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "genai_prices", None)
    monkeypatch.setattr("polymeter.prices.book.installed_version", lambda name: None)
    book = PriceBook()
    assert book.rates_for(GPT, DAY) is None
    assert "--price 'openai:gpt-4o=IN/OUT'" in book.hint(GPT)
    assert "[prices]" in book.hint(GPT)


def test_models_are_described_by_their_spec_and_address() -> None:
    model = OpenAIModel("gpt-4o", base_url="https://api.groq.com/openai/v1")
    spec = ModelSpec("openai", "gpt-4o")
    assert priced_model(model, spec) == PricedModel("openai", "gpt-4o", "https://api.groq.com/openai/v1", False)
    local = priced_model(MockBatch(str, identity={"m": 1}), ModelSpec("hf", "org/model"))
    assert (local.is_local, str(local)) == (True, "hf:org/model")
    assert priced_model(MockBatch(str, identity={"m": 1})).is_local
