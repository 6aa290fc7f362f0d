"""Costs of runs: by role, as a server counts tokens and states prices; unknown where it does neither."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import PlanError
from polymeter.core.records.usage import Cost
from polymeter.models.mock import MockBatch, MockEndpoint
from polymeter.report.run.usage_table import cost_summary, usage_table
from polymeter.store.folder import RunFolder
from tests.helpers.judged import N_ROWS, TASK, judged_folder
from tests.helpers.openai_stub import OpenAIStub, Received, chat, failure

Usage = Callable[[str, int], dict[str, Any]]
PRICES = {"openai:big": "2/8", "openai:small": "0.25/1"}


class Counting:
    """Answers as the model or the judge, and states a usage that differs from request to request.

    Args:
        usage: The usage by model and number of the request; further entries go beside it.
        fails: The numbers of requests that fail at first.
    """

    def __init__(self, usage: Usage, fails: frozenset[int] = frozenset()) -> None:
        self.usage = usage
        self.fails = fails
        self.stated: list[tuple[str, dict[str, Any]]] = []
        self._n = 0
        self._lock = threading.Lock()

    def __call__(self, received: Received) -> Any:
        if not received.raw:
            return {"data": [{"id": "big"}, {"id": "small"}]}
        name = received.body["model"]
        with self._lock:
            self._n += 1
            if self._n in self.fails:
                return failure("Slow down", 500)
            usage = self.usage(name, self._n)
            if b"question" in received.raw:  # not the small requests before the run
                self.stated.append((name, usage))
        return {**chat("A" if name == "small" else "an answer"), "usage": usage, **usage.pop("beside", {})}


def evaluate(tmp_path: Path, stub: OpenAIStub, output: str = "run", **options: Any) -> polymeter.RunResult:
    address = {"base_url": stub.base_url}
    return polymeter.evaluate(
        "openai:big",
        TASK,
        include_paths=[judged_folder(tmp_path / "tasks")],
        model_args=address,
        roles={"judge": polymeter.ModelSpec("openai", "small", address)},
        output=tmp_path / output,
        cache_dir=tmp_path / "cache",
        max_wait_s=0.01,
        **options,
    )


def cached(name: str, n: int) -> dict[str, Any]:
    details = {"cached_tokens": 7 * n, "cache_write_tokens": n}
    return {"prompt_tokens": 1000 + 11 * n, "completion_tokens": 100 + n, "prompt_tokens_details": details}


@pytest.mark.parametrize("fails", [frozenset(), frozenset({3, 7, 8, 15})])
def test_two_roles_with_their_own_prices_cost_what_is_summed_by_hand(tmp_path: Path, fails: frozenset[int]) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("big: {input: 2000, input_cache_read: 500, input_cache_write: 2500, output: 8000}\n")
    with OpenAIStub(server := Counting(cached, fails)) as stub:
        found = evaluate(tmp_path, stub, prices=[file], price={"*:small": "250/1000"})
    by_hand = {"big": 0.0, "small": 0.0}
    for name, usage in server.stated:
        details = usage["prompt_tokens_details"]
        read, written = details["cached_tokens"], details["cache_write_tokens"]
        fresh, answered = usage["prompt_tokens"] - read - written, usage["completion_tokens"]
        prices = (2000, 500, 2500, 8000) if name == "big" else (250, 250, 250, 1000)
        counts = zip((fresh, read, written, answered), prices, strict=True)
        by_hand[name] += sum(count * price for count, price in counts) / 1e6
    assert len(server.stated) == 2 * N_ROWS
    costs = {model: usage.cost for (_, model), usage in found.usage.items()}
    for name, amount in by_hand.items():
        assert costs[f"openai:{name}"] == Cost(pytest.approx(amount, abs=1e-9), pytest.approx(amount, abs=1e-9))
    manifest = found.folder.read_manifest()
    assert manifest["usage_by_role"] == found.results["usage_by_role"]
    rates = manifest["sessions"][0]["rates"]
    assert {role: entry["name"] for role, entry in rates.items()} == {"model": "openai:big", "judge": "openai:small"}
    assert rates["model"]["tiers"]["*"]["source"] == str(file)
    total = f"${sum(by_hand.values()):.2f}"
    assert cost_summary(manifest, found.results) == (
        f"{total}: model openai:big ${by_hand['big']:.2f}, judge openai:small ${by_hand['small']:.2f}"
    )


def test_a_cost_that_the_provider_states_wins(tmp_path: Path) -> None:
    def usage(name: str, n: int) -> dict[str, Any]:
        counts = {"prompt_tokens": 1000, "completion_tokens": 10}
        return {**counts, "cost": 0.5} if name == "big" else counts

    with OpenAIStub(Counting(usage)) as stub:
        found = evaluate(tmp_path, stub, price=PRICES)
    by_role = {role: own for (role, _), own in found.usage.items()}
    assert (by_role["model"].cost, by_role["model"].stated) == (Cost(0.5 * N_ROWS, 0.5 * N_ROWS), N_ROWS)
    assert by_role["judge"].cost.high == pytest.approx(N_ROWS * (1000 * 0.25 + 10) / 1e6)
    table = usage_table(found.folder.read_manifest(), found.results)
    assert table is not None
    assert table.rates == (
        "openai:big: as the provider states it.",
        "openai:small: $0.25 for a million tokens of prompts, $1 of answers (--price).",
    )


def test_a_service_tier_has_its_own_price(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    entry = {"input_cost_per_token": 2e-06, "output_cost_per_token": 8e-06, "input_cost_per_token_flex": 1e-06}
    file.write_text(json.dumps({"big": entry, "small": {"input_cost_per_token": 0, "output_cost_per_token": 0}}))

    def usage(name: str, n: int) -> dict[str, Any]:
        tier = {"service_tier": "flex" if n % 2 and name == "big" else "default"}
        return {"prompt_tokens": 1_000_000, "completion_tokens": 0, "beside": tier}

    tiers: list[str] = []

    def answer(received: Received) -> Any:
        given = server(received)
        if isinstance(given, dict) and "usage" in given and len(server.stated) > len(tiers):
            tiers.append(given["service_tier"])
        return given

    server = Counting(usage)
    with OpenAIStub(answer) as stub:
        found = evaluate(tmp_path, stub, prices=[file])
    by_hand = sum(
        1.0 if tier == "flex" else 2.0 for (name, _), tier in zip(server.stated, tiers, strict=True) if name == "big"
    )
    assert found.usage["model", "openai:big"].cost == Cost(by_hand, by_hand)
    assert found.usage["judge", "openai:small"].cost == Cost(0.0, 0.0)


def test_unknown_prices_and_counts_stay_unknown(tmp_path: Path) -> None:
    def usage(name: str, n: int) -> dict[str, Any]:
        return {} if name == "small" else {"prompt_tokens": 5, "completion_tokens": 5}

    with OpenAIStub(Counting(usage)) as stub:
        found = evaluate(tmp_path, stub, price={"openai:small": "1/1"})
    assert {own.cost for own in found.usage.values()} == {Cost(None, None)}
    assert "cost" not in found.results["usage_by_role"]["model"]["openai:big"]
    summary = cost_summary(found.folder.read_manifest(), found.results)
    assert summary == "unknown: model openai:big unknown, judge openai:small unknown"


def test_a_part_keeps_the_rates_of_its_time(tmp_path: Path) -> None:
    is_down = True

    def usage(name: str, n: int) -> dict[str, Any]:
        return {"prompt_tokens": 1_000_000, "completion_tokens": 0}

    server = Counting(usage)

    def answer(received: Received) -> Any:
        big = received.raw and received.body["model"] == "big"
        is_last = big and f"question {N_ROWS - 1}" in received.raw.decode()
        return failure("No", 400) if is_down and is_last else server(received)

    with OpenAIStub(answer) as stub:
        first = evaluate(tmp_path, stub, price=PRICES)
        assert first.n_failed == 1
        is_down = False
        found = evaluate(tmp_path, stub, price={**PRICES, "openai:big": "3/8"})
    assert found.n_failed == 0
    by_hand = 2.0 * (N_ROWS - 1) + 3.0
    assert found.usage["model", "openai:big"].cost == Cost(by_hand, by_hand)


def test_a_run_without_prices_is_priced_when_it_is_scored_again(tmp_path: Path) -> None:
    def usage(name: str, n: int) -> dict[str, Any]:
        return {"prompt_tokens": 1_000_000, "completion_tokens": 0}

    with OpenAIStub(Counting(usage)) as stub:
        found = evaluate(tmp_path, stub)
        assert found.usage["model", "openai:big"].cost == Cost(None, None)
        again = polymeter.score(found.folder.path, output=tmp_path / "again", price=PRICES)
    assert again.usage["model", "openai:big"].cost == Cost(2.0 * N_ROWS, 2.0 * N_ROWS)
    assert again.usage["judge", "openai:small"].cost == Cost(0.25 * N_ROWS, 0.25 * N_ROWS)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"price": {"openai:big": "2000000/8"}}, "far from the price of any model"),
        ({"price": {"openai:big": "2"}}, "is not a price"),
        ({"prices": ["missing.yaml"]}, "Cannot read the price file"),
        ({"gpu_price": -1}, "at least 0"),
        ({"gpu_price": float("nan")}, "finite number"),
    ],
)
def test_a_mistaken_price_is_refused_before_anything_is_sent(
    tmp_path: Path, options: dict[str, Any], what: str
) -> None:
    with OpenAIStub() as stub, pytest.raises(PlanError, match=what):
        evaluate(tmp_path, stub, **options)
    assert stub.received == []
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("make", [MockBatch, MockEndpoint])
def test_a_model_on_this_machine_costs_the_time_of_the_machine(
    tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
    found = polymeter.evaluate(
        make(lambda request: "A", identity={"m": 1}),
        TASK,
        include_paths=[judged_folder(tmp_path / "tasks")],
        roles={"judge": MockEndpoint(lambda request: "A", identity={"j": 1})},
        output=tmp_path / "run",
        gpu_price=3600.0,
    )
    manifest = found.folder.read_manifest()
    seconds = manifest["sessions"][0]["seconds"]
    cost = next(own.cost for (role, _), own in found.usage.items() if role == "model")
    assert cost.low == cost.high
    assert 0 < cost.high <= 3 * seconds
    table = usage_table(manifest, found.results)
    assert table is not None
    assert "3 GPUs, at $3600 an hour each" in table.rates[0]


def test_old_runs_have_no_costs(tmp_path: Path) -> None:
    with OpenAIStub() as stub:
        found = evaluate(tmp_path, stub)
    manifest = found.folder.read_manifest()
    for session in manifest["sessions"]:
        session.pop("rates", None)
        session["endpoints"] = {}
    for models in manifest["usage_by_role"].values():
        for counts in models.values():
            counts.pop("cost", None)
    RunFolder(found.folder.path).write_manifest(manifest)
    assert cost_summary(manifest, {"usage_by_role": manifest["usage_by_role"]}) == ""
