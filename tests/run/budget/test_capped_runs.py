"""Runs under caps, against a server that counts what it charges."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from polymeter import evaluate, resume, score
from polymeter.api.result import RunResult
from polymeter.core.errors import PlanError
from polymeter.core.model import ModelSpec
from polymeter.core.records.progress import Silence
from polymeter.core.request import Output, Response, Usage
from polymeter.models.mock import MockEndpoint
from polymeter.run.dispatch.endpoint import dispatcher as endpoint_lane
from tests.helpers.fault_server import FaultServer
from tests.helpers.fault_weather import Latency, Weather
from tests.helpers.judged import judged_folder

CALM = Weather(Latency("uniform", 0.002), keeps_bill=True)
ROWS = 12
PRICES = {"fault": (2, 10), "judge": (40, 160)}
PRICE = {name: f"{own[0]}/{own[1]}" for name, own in PRICES.items()}


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = endpoint_lane.backoff_s
    monkeypatch.setattr(endpoint_lane, "backoff_s", lambda n_tries, jitter: whole(n_tries, jitter) / 100)
    monkeypatch.setenv("OPENAI_API_KEY", "none")


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(CALM) as serving:
        yield serving


@pytest.fixture
def task(tmp_path: Path) -> Path:
    file = judged_folder(tmp_path / "task", n_rows=ROWS) / "facts.yaml"
    file.write_text(file.read_text() + "generation_kwargs: {max_new_tokens: 16}\n")
    return file


def ask(server: FaultServer, task: Path, folder: Path, **options: Any) -> RunResult:
    judge = ModelSpec("openai", "judge", {"base_url": server.base_url})
    return evaluate(
        "openai:fault", [str(task)], model_args={"base_url": server.base_url}, roles={"judge": judge}, output=folder,
        **{"concurrency": 4, **options},
    )  # fmt: skip


def charged_tokens(server: FaultServer) -> int:
    return sum(map(sum, server.stats.charged.values()))


def manifest(result: RunResult) -> dict[str, Any]:
    found: dict[str, Any] = result.folder.read_manifest()
    return found


def test_a_token_cap_stops_before_it_is_passed_and_the_run_continues(
    server: FaultServer, task: Path, tmp_path: Path
) -> None:
    stopped = ask(server, task, tmp_path / "run", max_tokens=6000)
    assert (stopped.status, stopped.exit_code) == ("stopped", 1)
    assert charged_tokens(server) <= 6000
    budget = manifest(stopped)["budget"]
    assert budget["caps"] == {"tokens": 6000}
    assert charged_tokens(server) <= budget["spent"]["tokens"] <= 6000
    reason = manifest(stopped)["sessions"][-1]["reason"]
    assert "the cap --max-tokens of 6,000 tokens has no room for more" in reason
    assert f"polymeter resume {tmp_path / 'run'} --max-tokens" in reason
    n_answered = len(server.stats.received)

    whole = resume(tmp_path / "run", max_tokens=60_000)
    assert whole.status == "complete"
    asked = [question for question in server.stats.received if "question" in question[1]]
    assert len(asked) == len(set(asked)) == 2 * ROWS, "no answer is asked for twice"
    assert len(server.stats.received) > n_answered
    assert charged_tokens(server) <= manifest(whole)["budget"]["spent"]["tokens"]
    assert manifest(whole)["options"]["runtime"]["max_tokens"] == 60_000, "the next part has the same cap"


def charged(server: FaultServer) -> Fraction:
    """What the server charges, in US dollars."""
    return sum(
        (Fraction(n_in) * PRICES[model][0] + Fraction(n_out) * PRICES[model][1]) / 1_000_000
        for model, (n_in, n_out) in server.stats.charged.items()
    )  # type: ignore[return-value]


def test_a_cost_cap_holds_over_models_of_different_prices(server: FaultServer, task: Path, tmp_path: Path) -> None:
    stopped = ask(server, task, tmp_path / "run", max_cost=0.25, price=PRICE)
    assert stopped.status == "stopped"
    spent = manifest(stopped)["budget"]["spent"]
    assert charged(server) <= Fraction(spent["cost"]) + Fraction(1, 10**9) <= Fraction(25, 100) + Fraction(1, 10**9)
    assert "the cap --max-cost of $0.25 has no room for more: spent $0." in manifest(stopped)["sessions"][-1]["reason"]
    whole = resume(tmp_path / "run", max_cost=5)
    assert whole.status == "complete"
    paid = manifest(whole)["budget"]["spent"]
    greetings = Fraction(paid["cost_unknown"])
    assert abs(Fraction(paid["cost"]) - greetings - charged(server)) < greetings, "all but the small requests is exact"


def test_an_unknown_price_is_refused_with_the_role_and_the_option(
    server: FaultServer, task: Path, tmp_path: Path
) -> None:
    with pytest.raises(PlanError) as caught:
        ask(server, task, tmp_path / "run", max_cost=1, price={"fault": "2/10"})
    assert "The price of openai:judge (the judge) is unknown, so --max-cost cannot hold" in str(caught.value)
    assert "--price" in caught.value.hint
    assert server.stats.requests == 0


def test_a_cap_below_what_is_spent_is_refused_and_nothing_is_sent(
    server: FaultServer, task: Path, tmp_path: Path
) -> None:
    ask(server, task, tmp_path / "run", max_tokens=6000)
    n_requests = server.stats.requests
    with pytest.raises(PlanError, match="cap --max-tokens of 500 tokens is not above what this run has spent already"):
        resume(tmp_path / "run", max_tokens=500)
    assert server.stats.requests == n_requests


def test_a_cap_on_tokens_follows_one_on_costs_without_counting_twice(
    server: FaultServer, task: Path, tmp_path: Path
) -> None:
    first = ask(server, task, tmp_path / "run", max_cost=0.4, price=PRICE)
    assert first.status == "stopped"
    whole = resume(tmp_path / "run", max_tokens=100_000, max_cost=10)
    assert whole.status == "complete"
    spent = manifest(whole)["budget"]["spent"]
    assert charged_tokens(server) <= spent["tokens"] <= charged_tokens(server) + 4 * 2 * 600, "with the small requests"


def test_a_restarted_run_begins_a_new_account(server: FaultServer, task: Path, tmp_path: Path) -> None:
    ask(server, task, tmp_path / "run", max_tokens=6000)
    server.forget()
    again = ask(server, task, tmp_path / "run", max_tokens=60_000, is_restart=True)
    assert again.status == "complete"
    spent = manifest(again)["budget"]["spent"]["tokens"]
    assert charged_tokens(server) <= spent <= charged_tokens(server) + 2 * 2 * 600
    with pytest.raises(PlanError, match=f"has spent already: {spent:,} tokens"):
        ask(server, task, tmp_path / "run", max_tokens=spent - 1)


def test_a_run_that_cannot_begin_leaves_no_folder(task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with FaultServer(CALM) as gone:
        address = gone.base_url
    judge = ModelSpec("mock", "", {"answer": "A"})
    with pytest.raises(PlanError, match="The endpoint cannot be reached"):
        evaluate("openai:fault", [str(task)], model_args={"base_url": address}, roles={"judge": judge}, max_tokens=9000)
    assert not (tmp_path / "runs").exists()


def test_a_cap_below_one_request_stops_with_a_reason_and_sends_nothing(
    server: FaultServer, task: Path, tmp_path: Path
) -> None:
    stopped = ask(server, task, tmp_path / "run", max_tokens=100)
    assert stopped.status == "stopped"
    assert "the next request may take up to" in manifest(stopped)["sessions"][-1]["reason"]
    assert server.stats.requests == 0


def test_a_run_that_began_without_a_cap_counts_the_answers_so_far(
    server: FaultServer, task: Path, tmp_path: Path
) -> None:
    server.weather = Weather(Latency("uniform", 0.002), {"internal": 0.6}, seed=3, keeps_bill=True)
    first = ask(server, task, tmp_path / "run", max_retries=0)
    assert first.n_failed
    assert "budget" not in manifest(first)
    usage = sum((own.prompt or 0) + (own.output or 0) for own in first.usage.values())
    assert usage
    with pytest.raises(PlanError, match=f"has spent already: {usage:,} tokens"):
        resume(tmp_path / "run", max_tokens=usage - 1)
    server.weather = CALM
    whole = resume(tmp_path / "run", max_tokens=usage + 100_000)
    assert whole.status == "complete"
    assert manifest(whole)["budget"]["spent"]["tokens"] > usage


def test_a_judge_of_answers_that_are_scored_again_is_capped(server: FaultServer, task: Path, tmp_path: Path) -> None:
    ask(server, task, tmp_path / "run")
    n_before = len(server.stats.received)
    judge = ModelSpec("openai", "second", {"base_url": server.base_url})
    target = tmp_path / "again"
    stopped = score(tmp_path / "run", roles={"judge": judge}, output=target, max_tokens=5000)
    assert stopped.status == "stopped"
    assert sum(server.stats.charged["second"]) <= 5000
    assert f"polymeter resume {target} --max-tokens N" in str(manifest(stopped)["sessions"][-1]["reason"])
    whole = resume(target, max_tokens=500_000)
    assert whole.status == "complete"
    asked = [question for question in server.stats.received[n_before:] if "question" in question[1]]
    assert len(asked) == len(set(asked)) == ROWS


def test_no_row_is_written_without_a_cap(server: FaultServer, task: Path, tmp_path: Path) -> None:
    result = ask(server, task, tmp_path / "run")
    import sqlite3

    with sqlite3.connect(result.folder.journal) as db:
        assert db.execute("SELECT count(*) FROM reservations").fetchone() == (0,)


def test_the_time_of_all_parts_counts(server: FaultServer, task: Path, tmp_path: Path) -> None:
    server.weather = Weather(Latency("constant", 0.3), keeps_bill=True)
    stopped = ask(server, task, tmp_path / "run", max_time_s=0.5, concurrency=1)
    assert stopped.status == "stopped"
    assert "the cap --max-time of 0.5s is reached" in manifest(stopped)["sessions"][-1]["reason"]
    rows = json.loads(json.dumps(manifest(stopped)["usage_by_role"]))
    assert rows["model"]["openai:fault"]["requests"] >= 1, "what was sent is awaited"
    with pytest.raises(PlanError, match=r"cap --max-time of 0\.5s is not above"):
        resume(tmp_path / "run", max_time_s=0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_cost": 0}, "Option 'max_cost' must be more than 0, not 0"),
        ({"max_cost": -1}, "Option 'max_cost' must be more than 0, not -1"),
        ({"max_cost": float("nan")}, "Option 'max_cost'"),
        ({"max_cost": float("inf")}, "Option 'max_cost'"),
        ({"max_cost": "5 USD"}, "Option 'max_cost': it is a number of US dollars without a unit, such as 5 or 0.50"),
        ({"max_tokens": 0}, "Option 'max_tokens' must be at least 1, not 0"),
        ({"max_tokens": "10M"}, "Option 'max_tokens': it is a whole number of tokens without a unit"),
        ({"max_tokens": 1.5}, "Option 'max_tokens'"),
        ({"max_time_s": "2 days"}, "it is a number of seconds, or a number with one unit: 90, 90s, 30m, 2h"),
        ({"max_time_s": "1h30m"}, "it is a number of seconds, or a number with one unit: 90, 90s, 30m, 2h"),
        ({"max_time_s": "-5"}, "Option 'max_time_s' must be more than 0, not -5"),
        ({"max_time_s": 0}, "Option 'max_time_s' must be more than 0, not 0"),
    ],
)
def test_a_cap_that_is_none_is_refused(
    server: FaultServer, task: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(PlanError) as caught:
        ask(server, task, tmp_path / "run", **options)
    assert message in str(caught.value)
    assert server.stats.requests == 0


def test_an_answer_without_limit_is_refused_before_anything_is_sent(server: FaultServer, tmp_path: Path) -> None:
    file = judged_folder(tmp_path / "task") / "facts.yaml"
    file.write_text(file.read_text() + "generation_kwargs: {temperature: 0}\n")
    with pytest.raises(PlanError) as caught:
        ask(server, file, tmp_path / "run", max_tokens=100_000)
    assert "Task 'facts' asks openai:fault for an answer of any length" in str(caught.value)
    assert "max_new_tokens" in str(caught.value)
    assert server.stats.requests == 0


def test_repeats_that_are_joined_are_reserved_and_settled_together(
    server: FaultServer, task: Path, tmp_path: Path
) -> None:
    args = {"base_url": server.base_url, "join_repeats": True}
    server.weather = Weather(Latency("uniform", 0.002), {"internal": 0.2, "rate_limit": 0.2}, seed=5, keeps_bill=True)
    options: dict[str, Any] = {"price": PRICE, "repeats": 3, "concurrency": 4}
    judge = ModelSpec("openai", "judge", {"base_url": server.base_url})
    cap = Fraction(3, 10)
    result = evaluate(
        "openai:fault",
        [str(task)],
        model_args=args,
        roles={"judge": judge},
        output=tmp_path / "run",
        max_cost=float(cap),
        **options,
    )
    assert charged(server) <= cap
    for _ in range(20):
        if result.status == "complete":
            break
        cap *= 2
        result = resume(tmp_path / "run", max_cost=float(cap))
        assert charged(server) <= cap
    assert result.status == "complete"


def test_two_addresses_of_a_model_share_a_cap(task: Path, tmp_path: Path) -> None:
    with FaultServer(CALM) as first, FaultServer(CALM) as second:
        stopped = evaluate(
            "openai:fault",
            [str(task)],
            model_args={"base_url": f"{first.base_url},{second.base_url}"},
            roles={"judge": ModelSpec("openai", "judge", {"base_url": first.base_url})},
            output=tmp_path / "run",
            max_tokens=5000,
        )
        assert stopped.status == "stopped"
        assert charged_tokens(first) + charged_tokens(second) <= 5000


def test_what_the_settings_add_to_every_request_is_reserved_too(
    server: FaultServer, task: Path, tmp_path: Path
) -> None:
    args = {"base_url": server.base_url, "extra_body": {"padding": "x" * 4_000}}
    judge = ModelSpec("mock", "", {"answer": "A"})
    stopped = evaluate(
        "openai:fault", [str(task)], model_args=args, output=tmp_path / "run", max_tokens=30_000, roles={"judge": judge}
    )
    assert stopped.status == "complete"
    assert 10_000 < charged_tokens(server) <= manifest(stopped)["budget"]["spent"]["tokens"] <= 30_000


def test_answers_beyond_their_bound_are_noted_and_more_is_reserved(task: Path, tmp_path: Path) -> None:
    notes: list[str] = []

    class Noted(Silence):
        def note(self, text: str) -> None:
            notes.append(text)

    model = MockEndpoint(lambda request: Response((Output(text="x", usage=Usage(1_500, 100)),)), identity={"m": 1})
    judge = MockEndpoint(lambda request: "A", identity={"j": 1})
    stopped = evaluate(
        model,
        [str(task)],
        output=tmp_path / "run",
        max_tokens=6_000,
        concurrency=1,
        progress=Noted(),
        roles={"judge": judge},
    )
    assert stopped.status == "stopped"
    assert any("times the tokens or cost that its request can have" in note for note in notes)
    assert manifest(stopped)["budget"]["spent"]["tokens"] <= 6_000
