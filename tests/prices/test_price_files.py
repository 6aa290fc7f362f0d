"""Price files: what they give, and thirty mistakes in them, each refused with what is wrong, where, and what to do."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.prices.files import read_price_file
from polymeter.prices.lists import pattern_prices
from polymeter.prices.priced_model import PricedModel

DAY = date(2026, 12, 1)
GPT = PricedModel("openai", "gpt-4o", "https://api.openai.com/v1")
OWN = PricedModel("openai", "own", "http://127.0.0.1:8000/v1")


def tiers(tmp_path: Path, text: Any, model: PricedModel = GPT, *, at: date = DAY, name: str = "p.yaml") -> Any:
    file = tmp_path / name
    file.write_text(text if isinstance(text, str) else json.dumps(text), "utf-8")
    return read_price_file(file).tiers(model, at)


FOUR = """
openai/gpt-4o: {input: 2.5, output: 10, input_cache_read: 1.25, input_cache_write: 2.5}
own: {input: 0, output: 0}
"""
GENAI = """
- id: openai
  api_pattern: 'https://api\\.openai\\.com'
  models:
    - id: gpt-4o
      match: {or: [{equals: gpt-4o}, {starts_with: gpt-4o-2024}]}
      prices:
        - prices: {input_mtok: 5, output_mtok: 15}
        - constraint: {start_date: 2026-06-01}
          prices:
            input_mtok: {base: 2.5, tiers: [{start: 128000, price: 5}]}
            cache_read_mtok: 1.25
            output_mtok: 10
            requests_kcount: 2
            web_searches_kcount: 10
      price_variants:
        - when: {service_tier: flex}
          prices: {input_mtok: 1.25, output_mtok: 5}
"""
LITELLM = {
    "sample_spec": {"input_cost_per_token": "of a token", "mode": "one of chat"},
    "gpt-4o": {
        "litellm_provider": "openai",
        "input_cost_per_token": 2.5e-06,
        "input_cost_per_token_above_128k_tokens": 5e-06,
        "output_cost_per_token": 1e-05,
        "cache_read_input_token_cost": 1.25e-06,
        "input_cost_per_token_flex": 1.25e-06,
        "input_cost_per_image": 0.001,
        "search_context_cost_per_query": {"search_context_size_low": 0.03},
        "max_tokens": 16384,
    },
    "groq/gpt-4o": {"litellm_provider": "groq", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06},
    "gemini/gemini-2.5-pro": {"litellm_provider": "gemini", "input_cost_per_token": 1.25e-06},
    "together_ai/Qwen/Qwen3": {"litellm_provider": "together_ai", "input_cost_per_token": 3e-06},
}


def test_a_file_of_four_prices(tmp_path: Path) -> None:
    rates = tiers(tmp_path, FOUR)["*"]
    assert (rates.input, rates.cached_read, rates.cached_write, rates.output) == (2.5, 1.25, 2.5, 10)
    assert rates.source == str(tmp_path / "p.yaml")
    assert rates.version.startswith("sha256:")
    assert tiers(tmp_path, FOUR, OWN)["*"].input == 0
    assert tiers(tmp_path, FOUR, PricedModel("openai", "other")) == {}


def test_a_file_in_the_format_of_genai_prices(tmp_path: Path) -> None:
    found = tiers(tmp_path, GENAI)
    assert (found[""].input, found[""].output, found[""].request) == (2.5, 10, 0.002)
    assert [(step.above, step.input, step.output) for step in found[""].steps] == [(128000, 5, None)]
    flex = found["flex"]  # the tier's own price has no step, and its cached tokens have the list price
    assert (flex.input, flex.cached_read, flex.output, flex.steps[0].input) == (1.25, 1.25, 5, None)
    before = tiers(tmp_path, GENAI, at=date(2026, 5, 31))
    assert before[""].input == 5
    assert tiers(tmp_path, GENAI, PricedModel("openai", "GPT-4o-2024-11-20", GPT.base_url))[""].input == 2.5
    assert tiers(tmp_path, GENAI, PricedModel("openai", "gpt-4o", "https://openrouter.ai/api/v1")) == {}
    assert tiers(tmp_path, GENAI.replace("  api_pattern: 'https://api\\.openai\\.com'\n", ""))[""].input == 2.5


def test_a_price_that_begins_later_is_unknown_before(tmp_path: Path) -> None:
    later = GENAI.replace("        - prices: {input_mtok: 5, output_mtok: 15}\n", "")
    assert tiers(tmp_path, later, at=date(2026, 5, 31)) == {}


def test_prices_of_an_hour_are_a_range(tmp_path: Path) -> None:
    hourly = """
id: openai
models:
  - id: gpt-4o
    prices:
      - prices: {input_mtok: 2, output_mtok: 8}
      - constraint: {start_time: '16:30:00', end_time: '00:30:00'}
        prices: {input_mtok: 1, output_mtok: 2}
"""
    rates = tiers(tmp_path, hourly)[""]
    assert (rates.input, rates.output, rates.least) == (2, 8, 0.25)


def test_a_file_of_litellm(tmp_path: Path) -> None:
    found = tiers(tmp_path, LITELLM, name="m.json")
    rates = found[""]
    assert (rates.input, rates.output, rates.cached_read) == pytest.approx((2.5, 10, 1.25))
    assert (rates.image_sent, rates.steps[0].above, rates.steps[0].input) == pytest.approx((0.001, 128000, 5))
    assert (found["flex"].input, found["flex"].output) == pytest.approx((1.25, 10))
    for backend, name, address, price in (
        ("openai", "gpt-4o", "https://api.groq.com/openai/v1", 1),
        ("gemini", "gemini-2.5-pro", "https://generativelanguage.googleapis.com", 1.25),
        ("openai", "Qwen/Qwen3", "https://api.together.xyz/v1", 3),
    ):
        assert tiers(tmp_path, LITELLM, PricedModel(backend, name, address))[""].input == pytest.approx(price)
    assert tiers(tmp_path, LITELLM, PricedModel("openai", "gpt-4o", "https://gateway.example/v1")) == {}


def test_the_own_file_of_litellm_has_prices_that_no_run_counts(tmp_path: Path) -> None:
    odd = {"input_cost_per_tokn": 1, "computer_use_input_cost_per_1k_tokens": 3, "input_cost_per_page": 0.1}
    dear = {"litellm_provider": "openai", "input_cost_per_token": 5.0}
    found = tiers(tmp_path, {**LITELLM, "odd": odd, "dear": dear}, name="m.json")
    assert found[""].input == pytest.approx(2.5)
    with pytest.raises(PlanError, match="'input_cost_per_token' of 'dear' is 5 for one token"):
        tiers(tmp_path, {**LITELLM, "dear": dear}, PricedModel("openai", "dear", GPT.base_url), name="m.json")
    without_description = {name: entry for name, entry in LITELLM.items() if name != "sample_spec"}
    with pytest.raises(PlanError, match="is of an unknown unit"):
        tiers(tmp_path, {**without_description, "odd": odd}, name="m.json")


def provider(prices: Any = "{input_mtok: 1, output_mtok: 2}", match: str = "{equals: m}", more: str = "") -> str:
    return f"id: openai\nmodels:\n  - id: m\n    match: {match}\n    prices: {prices}\n{more}"


MISTAKES = {
    "empty": ("", "The price file is empty", "genai-prices"),
    "an empty list": ("[]", "The price file is empty", "litellm"),
    "a text": ("gpt-4o", "This is not a price file", "Known are"),
    "a list of texts": ("- gpt-4o", "A provider needs 'id' and a list 'models'", "'prices'"),
    "damaged JSON": ('{"gpt-4o": {"input_cost_per_token": 1e-6,}}', "not valid JSON", ""),
    "damaged YAML": ("gpt-4o: {input: 1", "not valid YAML", ""),
    "binary": (b"\xff\xfe\x00", "not UTF-8", "Save it as UTF-8"),
    "deep": ("[" * 100_000, "not valid JSON", ""),
    "twice in YAML": ("m: {input: 1, output: 2}\nm: {input: 3, output: 4}", "'m' stands twice", "Keep one"),
    "twice in JSON": ('{"m": {"input_cost_per_token": 1e-6}, "m": {}}', "'m' stands twice", "Keep one"),
    "a price twice": ("m: {input: 1, output: 2, input: 3}", "'input' stands twice", "Keep one"),
    "a model twice": (
        provider(more="  - id: m\n    prices: {input_mtok: 3}\n"),
        "'m' of 'openai' is listed twice",
        "Keep",
    ),
    "a provider twice": ("- {id: a, models: []}\n- {id: a, models: []}", "'a' is listed twice", "Keep"),
    "negative": ("m: {input: -1, output: 2}", "'input' of 'm' is negative: -1", "Write 0"),
    "NaN": ("m: {input: .nan, output: 2}", "'input' of 'm' is nan", "plain number"),
    "infinite": ('{"m": {"input_cost_per_token": Infinity}}', "'input_cost_per_token' of 'm' is inf", "plain number"),
    "a sign": ("m: {input: $2.50, output: 2}", "'input' of 'm' is '$2.50'", "without a sign"),
    "a text as a number": ("m: {input: '2.5', output: 2}", "is '2.5', not a price", "plain number"),
    "true": ("m: {input: true, output: 2}", "is True, not a price", "plain number"),
    "nothing": ("m: {input: null, output: 2}", "is None, not a price", "plain number"),
    "of one token": ("m: {input: 2.5e-06, output: 2}", "'input' of 'm' is 2.5e-06 for a million", "write 2.5."),
    "of one token in genai's": (provider("{input_mtok: 0.0000025}"), "'input_mtok' of 'm' is 2.5e-06", "write 2.5."),
    "of a million in litellm's": (
        '{"m": {"input_cost_per_token": 2.5}}',
        "'input_cost_per_token' of 'm' is 2.5 for one token",
        "If it is the price of a million tokens, write 2.5e-06",
    ),
    "times a million": ("m: {input: 2500000, output: 2}", "'input' of 'm' is 2.5e+06", "Did you mean 2.5"),
    "an unknown unit": ("m: {input_ktok: 1, output: 2}", "'input_ktok' of 'm' is of an unknown unit", "'input'"),
    "a typo": ("m: {input: 1, outpt: 2}", "'outpt' of 'm' is of an unknown unit", "'output'"),
    "a typo in genai's": (provider("{input_mtk: 1}"), "'input_mtk' of 'm' is of an unknown unit", "'input_mtok'"),
    "a typo in litellm's": ('{"m": {"input_cost_per_tokn": 1e-6}}', "is of an unknown unit", "'input_cost_per_token'"),
    "millions in litellm's": ('{"m": {"input_cost_per_million_tokens": 2}}', "is of an unknown unit", "for one token"),
    "half of the prices": ("m: {input: 1}", "The price 'output' of 'm' is missing", "Write 0"),
    "no mapping in litellm's": (
        '{"m": 3, "n": {"input_cost_per_token": 1e-6}}',
        "The entry of 'm' is not a mapping",
        "",
    ),
    "an unknown rule": (provider(match="{like: m}"), "The rule 'match' of 'm' is not one of", ""),
    "a bad pattern": (provider(match="{regex: '['}"), "'[' of 'm' is not a regular expression", ""),
    "a bad date": (
        provider("[{constraint: {start_date: soon}, prices: {input_mtok: 1}}]"),
        "The date 'soon' of 'm' is not of the form YYYY-MM-DD",
        "",
    ),
    "an unknown constraint": (
        provider("[{constraint: {weekday: 1}, prices: {input_mtok: 1}}]"),
        "A constraint of 'm' is neither",
        "",
    ),
    "a bad tier": (provider("{input_mtok: {base: 1, tiers: [{start: -1, price: 2}]}}"), "A tier of 'input_mtok'", ""),
    "prices that are a number": (provider("3"), "The prices of 'm' are not", ""),
    "tiers that are a number": (provider("{input_mtok: {base: 1, tiers: 3}}"), "not of the format of genai-prices", ""),
    "a rule of no list": (provider(match="{or: 3}"), "not of the format of genai-prices", ""),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistaken_price_file_is_refused(tmp_path: Path, name: str) -> None:
    content, what, hint = MISTAKES[name]
    file = tmp_path / "prices.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(PlanError, match=re.escape(what)) as caught:
        read_price_file(file)
    assert caught.value.where.startswith(str(file))
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("given", "what", "hint"),
    [
        ({"m": "2.5"}, "'m=2.5' is not a price", "MODEL=IN/OUT"),
        ({"": "2.5/10"}, "'=2.5/10' is not a price", "MODEL=IN/OUT"),
        ({"m": "a/b"}, "'m=a/b' is not a price", "MODEL=IN/OUT"),
        ({"m": "1/2/3"}, "'m=1/2/3' is not a price", "MODEL=IN/OUT"),
        ({"m": 3}, "'m=3' is not a price", "MODEL=IN/OUT"),
        ({"m": "nan/1"}, "is nan, not a price", "plain number"),
        ({"m": "-1/1"}, "is negative: -1.0", "Write 0"),
        ({"m": "0.0000025/0.00001"}, "The price of prompts of 'm' is 2.5e-06", "write 2.5."),
        ({"m": (1, "x")}, "is not a price", "MODEL=IN/OUT"),
        ({"m": (1, None)}, "The price of answers of 'm' is None", "plain number"),
    ],
)
def test_a_mistaken_price_is_refused(given: dict[str, Any], what: str, hint: str) -> None:
    with pytest.raises(PlanError, match=re.escape(what)) as caught:
        pattern_prices(given)
    assert caught.value.where == "--price"
    assert hint in caught.value.hint


def test_a_price_by_pattern() -> None:
    prices = pattern_prices({"openai:gpt-*": "2.50/10", "own": (0, 0)})
    assert prices.tiers(GPT, DAY)["*"].output == 10
    assert prices.tiers(OWN, DAY)["*"].output == 0
    assert prices.tiers(PricedModel("openai", "o1"), DAY) == {}
