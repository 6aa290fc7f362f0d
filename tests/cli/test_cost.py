"""``polymeter cost`` and ``run --pilot`` as a user types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kit import Done, Typing
from tests.helpers.openai_stub import OpenAIStub, Received, Reply

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def said(received: Received) -> dict[str, Any]:
    """Answer with as many words as the question names."""
    if received.path.endswith("/models"):
        return {"object": "list", "data": [{"id": "m"}]}
    content = received.body["messages"][-1]["content"]
    n = len(content.split()) % 7 + 1
    return {
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "w " * n}}],
        "usage": {"prompt_tokens": len(content.split()) + 5, "completion_tokens": n},
    }


def rows(n: int) -> list[str]:
    """Questions of one to nine words and a number, as lines."""
    asked = [{"question": f"{' '.join(WORDS[: number % 9 + 1])} {number}", "answer": "w"} for number in range(n)]
    return [json.dumps(row) + "\n" for row in asked]


@pytest.fixture
def typed(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    typing = Typing(tmp_path, capsys)
    typing.write(
        {
            "asks.jsonl": "".join(rows(60)),
            "asks.yaml": "task: asks\ndataset_path: json\ndataset_kwargs: {data_files: {test: asks.jsonl}}\n"
            "test_split: test\ndoc_to_text: '{{question}}'\ndoc_to_target: answer\n"
            "generation_kwargs: {max_gen_toks: 50}\nmetric_list: [{metric: exact_match}]\n",
        }
    )
    return typing


def asked(stub: OpenAIStub) -> int:
    """The requests for answers, without those that ask whether the endpoint is there."""
    return sum("chat" in one.path and (one.body.get("max_tokens") or 0) == 50 for one in stub.received)


def document(done: Done) -> dict[str, Any]:
    assert done.code == 0, done.said
    return json.loads(done.out)  # type: ignore[no-any-return]


def test_nothing_is_sent_without_a_pilot(typed: Typing) -> None:
    with OpenAIStub(said) as stub:
        found = document(typed(f"cost --model openai:m --base-url {stub.base_url} --tasks asks.yaml --json"))
        assert stub.received == []
    assert found["kind"] == "cost"
    task = found["tasks"]["asks"]
    assert task["n_asked"] == 0
    assert task["requests"] == {"expected": 60, "low": 60, "high": 60}
    assert task["input_tokens"]["low"] < task["input_tokens"]["expected"] < task["input_tokens"]["high"]
    assert task["output_tokens"] == {"expected": None, "low": 0, "high": 60 * 50}
    assert task["total_cost"]["high"] is None
    assert "The price of the model openai:m is unknown" in " ".join(found["notes"])
    assert not (typed.folder / "runs").exists()


def test_a_pilot_is_asked_and_kept_and_the_run_pays_nothing_twice(typed: Typing) -> None:
    with OpenAIStub(said) as stub:
        run = f"--model openai:m --base-url {stub.base_url} --tasks asks.yaml --output runs/a"
        found = document(typed(f"cost {run} --pilot 20 --json"))
        assert asked(stub) == 20
        task = found["tasks"]["asks"]
        assert task["n_asked"] == 20
        assert task["basis"] == "Estimated from a pilot of 20 samples"
        manifest = json.loads((typed.folder / "runs/a/run.json").read_text())
        assert manifest["status"] == "stopped"
        assert manifest["sessions"][-1]["reason"] == "The pilot of 20 samples has ended."
        done = typed(f"run {run} --quiet")
        assert done.code == 0, done.said
        assert asked(stub) == 60
    usage = json.loads((typed.folder / "runs/a/results.json").read_text())["usage_by_role"]["model"]["openai:m"]
    for name, counted in (("input_tokens", usage["input"]), ("output_tokens", usage["output"])):
        assert task[name]["low"] <= counted <= task[name]["high"]
    assert task["input_tokens"]["high"] < 1.1 * task["input_tokens"]["low"]  # a line through the known lengths


def test_a_pilot_can_be_resumed(typed: Typing) -> None:
    with OpenAIStub(said) as stub:
        run = f"--model openai:m --base-url {stub.base_url} --tasks asks.yaml --output runs/a"
        done = typed(f"cost {run} --pilot 5 --quiet")
        assert "polymeter resume runs/a" in done.out
        assert typed("resume runs/a --quiet").code == 0
        assert asked(stub) == 60


def test_a_larger_pilot_contains_a_smaller_one(typed: Typing) -> None:
    with OpenAIStub(said) as stub:
        run = f"cost --model openai:m --base-url {stub.base_url} --tasks asks.yaml --output runs/a --json"
        typed(f"{run} --pilot 10")
        assert document(typed(f"{run} --pilot 25"))["tasks"]["asks"]["n_asked"] == 25
        assert asked(stub) == 25


def test_a_run_prints_the_estimate_of_its_pilot_and_continues(typed: Typing) -> None:
    with OpenAIStub(said) as stub:
        done = typed(f"run --model openai:m --base-url {stub.base_url} --tasks asks.yaml --output runs/a --pilot 10")
        assert done.code == 0, done.said
        assert asked(stub) == 60
    assert "The whole run needs 60 requests" in done.err
    assert "Estimated from a pilot of 10 samples." in done.err


def test_an_earlier_run_shows_how_long_answers_are(typed: Typing) -> None:
    with OpenAIStub(said) as stub:
        model = f"--model openai:m --base-url {stub.base_url}"
        assert typed(f"run {model} --tasks asks.yaml --limit 30 --output runs/a --quiet").code == 0
        n = len(stub.received)
        same = document(typed(f"cost {model} --tasks asks.yaml --json"))["tasks"]["asks"]
        other = document(typed(f"cost --model openai:other --base-url {stub.base_url} --tasks asks.yaml --json"))
        none = document(typed(f"cost {model} --tasks asks.yaml --from runs/a --json"))["tasks"]["asks"]
        assert len(stub.received) == n
    assert same["basis"] == "Estimated from 30 samples that this model answered in runs/a"
    assert none["basis"] == same["basis"]
    whole = sum((len(WORDS[: n % 9 + 1]) + 1) % 7 + 1 for n in range(60))
    assert same["output_tokens"]["low"] <= whole <= same["output_tokens"]["high"] < 2 * same["output_tokens"]["low"]
    task = other["tasks"]["asks"]
    assert task["basis"] == "Estimated from 30 samples that openai:m answered in runs/a"
    assert task["output_tokens"]["high"] >= 2 * task["output_tokens"]["expected"]


def test_repeats_count(typed: Typing) -> None:
    found = document(typed("cost --model mock --tasks asks.yaml --repeats 3 --limit 10 --json"))
    assert found["tasks"]["asks"]["requests"]["expected"] == 30


def test_the_table_names_every_task_and_the_total(typed: Typing) -> None:
    done = typed("cost --model mock --tasks asks.yaml,demo_signs --limit 8 --pilot 4 --quiet --output runs/a")
    assert done.code == 0
    for words in ("asks", "demo_signs", "total", "requests", "output tokens", "Retries are not included."):
        assert words in done.out


def test_a_row_that_cannot_be_read_is_counted_and_not_asked(typed: Typing) -> None:
    typed.write({"bad.py": BAD})
    found = document(typed("cost --model mock --tasks bad.py --json"))
    task = found["tasks"]["bad"]
    assert task["requests"]["expected"] == 3
    assert "1 sample cannot be asked and count nothing" in " ".join(task["notes"])


BAD = """\
import polymeter


@polymeter.task(rows=[{"n": n} for n in range(4)], reference=lambda row: "x")
def bad(row):
    if row["n"] == 2:
        raise ValueError("no such row")
    return f"question {row['n']}"
"""


@pytest.mark.parametrize("n", ["0", "-3"])
def test_a_pilot_needs_a_sample(typed: Typing, n: str) -> None:
    with OpenAIStub(said) as stub:
        done = typed(f"cost --model openai:m --base-url {stub.base_url} --tasks asks.yaml --pilot {n}")
        assert stub.received == []
    assert done.code == 2
    assert "must be at least 1" in done.err


def test_a_pilot_that_is_larger_than_the_task_asks_all_of_it(typed: Typing) -> None:
    found = document(typed("cost --model mock --tasks asks.yaml --limit 6 --pilot 100 --output runs/a --json"))
    task = found["tasks"]["asks"]
    assert task["n_asked"] == 6
    assert task["basis"] == "All samples are asked"
    assert task["requests"] == {"expected": 6, "low": 6, "high": 6}
    assert json.loads((typed.folder / "runs/a/results.json").read_text())["status"] == "complete"


def test_a_pilot_without_a_key_is_refused_before_anything_is_sent(
    typed: Typing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = typed("cost --model openai:gpt-4o --tasks asks.yaml --pilot 5")
    assert done.code == 2
    assert "OPENAI_API_KEY" in done.err


def test_from_needs_a_folder_with_runs(typed: Typing) -> None:
    (typed.folder / "empty").mkdir()
    with OpenAIStub(said) as stub:
        model = f"cost --model openai:m --base-url {stub.base_url} --tasks asks.yaml"
        empty, missing = typed(f"{model} --from empty"), typed(f"{model} --from nowhere")
        assert stub.received == []
    assert empty.code == missing.code == 2
    assert "The folder empty contains no run." in empty.err
    assert "nowhere" in missing.err


def test_a_complete_run_has_nothing_to_estimate(typed: Typing) -> None:
    assert typed("run --model mock --tasks asks.yaml --limit 4 --output runs/a --quiet").code == 0
    done = typed("cost --model mock --tasks asks.yaml --limit 4 --output runs/a --pilot 2")
    assert done.code == 2
    assert "This run is complete" in done.err


PRICED = "--price openai:m=10/600"


def charged(stub: OpenAIStub) -> float:
    """What the answers cost at these prices, in dollars."""
    usages = [said(one)["usage"] for one in stub.received if "chat" in one.path and one.body["max_tokens"] == 50]
    return sum(one["prompt_tokens"] * 10 + one["completion_tokens"] * 600 for one in usages) / 1e6


def test_the_estimate_holds_what_the_run_costs(typed: Typing) -> None:
    with OpenAIStub(said) as stub:
        run = f"--model openai:m --base-url {stub.base_url} --tasks asks.yaml --output runs/a {PRICED}"
        found = document(typed(f"cost {run} --pilot 20 --json"))
        spent = charged(stub)
        assert typed(f"run {run} --quiet").code == 0
        cost = found["total"]["total_cost"]
        assert cost["low"] <= charged(stub) <= cost["high"] <= 2 * cost["low"]
    assert found["spent"] == pytest.approx(spent)
    assert "10 in, 600 out per million tokens" in found["prices"]["model"]


def test_a_run_that_must_pass_its_cap_stops_after_its_pilot(typed: Typing) -> None:
    typed.write({"asks.jsonl": "".join(rows(200))})
    with OpenAIStub(said) as stub:
        run = f"run --model openai:m --base-url {stub.base_url} --tasks asks.yaml --output runs/a --pilot 20 {PRICED}"
        done = typed(f"{run} --max-cost 0.2")
        assert done.code == 1, done.said
        assert asked(stub) == 20
        reason = "more than --max-cost 0.2. Continue with a higher cap: polymeter resume runs/a --max-cost"
        assert reason in " ".join(done.err.split())
        assert typed("resume runs/a --max-cost 2 --quiet").code == 0
        assert asked(stub) == 200


def test_without_a_pilot_money_is_bounded_by_the_token_limit(typed: Typing) -> None:
    with OpenAIStub(said) as stub:
        done = typed(f"cost --model openai:m --base-url {stub.base_url} --tasks asks.yaml {PRICED} --json")
        cost = document(done)["total"]["total_cost"]
        assert cost["expected"] is None
        assert cost["low"] < (60 * 50 * 600) / 1e6 < cost["high"] < (60 * 50 * 600 + 60 * 200 * 10) / 1e6
        assert stub.received == []


def test_an_image_costs_its_price_or_an_unknown_number_of_tokens(typed: Typing) -> None:
    tokens = document(typed("cost --model mock --tasks demo_t2i --limit 3 --price mock=1/1 --json"))["total"]
    assert tokens["output_tokens"] == {"expected": None, "low": 0, "high": None}
    assert tokens["total_cost"]["high"] is None
    prices = {"mock": {"input_cost_per_token": 1e-6, "output_cost_per_token": 0, "output_cost_per_image": 0.04}}
    typed.write({"prices.json": json.dumps(prices)})
    images = document(typed("cost --model mock --tasks demo_t2i --limit 3 --prices prices.json --json"))["total"]
    assert images["requests"]["expected"] * 0.04 == pytest.approx(images["total_cost"]["expected"], rel=0.01)


def test_a_judge_has_a_share(typed: Typing) -> None:
    typed.write({"judged.py": JUDGED})
    with OpenAIStub(said) as stub:
        run = f"--model openai:m --base-url {stub.base_url} --tasks judged.py --judge openai:m --judge-args "
        run += f"base_url={stub.base_url} {PRICED}"
        before = document(typed(f"cost {run} --json"))
        done = typed(f"cost {run} --pilot 4 --output runs/a")
    assert before["total"]["judge_cost"] == {"expected": None, "low": 0, "high": None}
    assert done.code == 0, done.said
    assert "Judges: $" in done.out
    assert "of the cost." in done.out


JUDGED = """\
import polymeter
from polymeter.judge import LLMJudge


@polymeter.scorer(bounds=(0, 1))
def agreed(answer, reference):
    judge = LLMJudge(score_mapping={"w": 1})
    judge(judge.build_prompt(answer, reference))
    return 1.0


@polymeter.task(rows=[{"n": n} for n in range(12)], reference=lambda row: "x", scorers=agreed)
def judged(row):
    return f"question {row['n']}"
"""


def test_what_tools_return_is_no_request_to_a_judge(typed: Typing) -> None:
    call = {"text": "", "calls": [{"name": "zoom", "arguments": {"box": [0.1, 0.1, 0.3, 0.3]}}]}
    typed.write({"zoom.json": json.dumps({"*": [call, "unreadable"]})})
    run = "--model mock --model-args answers=zoom.json --tasks demo_zoom --limit 4 --price mock=2/8"
    for judge in ("", "--judge mock"):
        found = document(typed(f"cost {run} {judge} --pilot 4 --json"))["total"]
        assert found["judge_requests"]["high"] == 0
        assert found["total_cost"]["expected"] == found["cost"]["expected"] > 0


def test_a_machine_is_charged_by_its_time(typed: Typing) -> None:
    found = document(typed("cost --model mock --tasks asks.yaml --pilot 6 --gpu-price 3600 --output runs/a --json"))
    cost, seconds = found["total"]["total_cost"], found["total"]["seconds"]
    assert cost["high"] >= seconds["high"]
    assert found["prices"]["model"] == "3600 for an hour of the machine"


def test_reused_answers_cost_nothing_in_a_pilot_and_count_in_an_earlier_run(typed: Typing) -> None:
    with OpenAIStub(said) as stub:
        model = f"--model openai:m --base-url {stub.base_url} --tasks asks.yaml {PRICED}"
        assert typed(f"run {model} --output first --quiet").code == 0
        n = asked(stub)
        reusing = f"{model} --reuse first --reuse-days 1 --output second"
        found = document(typed(f"cost {reusing} --pilot 10 --json"))
        assert asked(stub) == n
        assert found["total"]["total_cost"] == {"expected": 0, "low": 0, "high": 0}
        assert typed(f"run {reusing} --quiet").code == 0
        anew = document(typed(f"cost {model} --from second --json"))
        assert anew["total"]["requests"]["expected"] == 60
        without = document(typed(f"cost {reusing} --from first --json"))
    assert "Answers that --reuse finds are not deducted; a pilot shows how many there are." in without["notes"]


def test_a_model_that_was_asked_before_shows_how_it_cuts_text(typed: Typing) -> None:
    long = "".join(json.dumps({"question": f"{' '.join(WORDS)} {n}", "answer": "w"}) + "\n" for n in range(9))
    other = (typed.folder / "asks.yaml").read_text().replace("asks", "others")
    typed.write({"others.jsonl": long, "others.yaml": other})
    with OpenAIStub(said) as stub:
        model = f"--model openai:m --base-url {stub.base_url}"
        guess = document(typed(f"cost {model} --tasks others.yaml --json"))["total"]["input_tokens"]
        assert typed(f"run {model} --tasks asks.yaml --output runs/a --quiet").code == 0
        learned = document(typed(f"cost {model} --tasks others.yaml --json"))["total"]["input_tokens"]
    counted = 9 * (len(WORDS) + 1 + 5)
    assert learned["low"] <= counted <= learned["high"]
    assert learned["high"] / learned["low"] < guess["high"] / guess["low"]


def test_an_endpoint_that_fails_ends_the_pilot(typed: Typing) -> None:
    def failing(received: Received) -> Any:
        is_asked = "chat" in received.path and received.body["max_tokens"] == 50
        return Reply({"error": {"message": "no"}}, 400) if is_asked else said(received)

    with OpenAIStub(failing) as stub:
        run = f"--model openai:m --base-url {stub.base_url} --tasks asks.yaml --output runs/a {PRICED}"
        found = document(typed(f"cost {run} --pilot 5 --json"))
        assert found["tasks"]["asks"]["n_asked"] == 0
        assert "No sample of the pilot was answered." in found["notes"]
        stopped = typed(f"cost {run} --pilot 8 --max-errors 2")
    assert stopped.code == 2
    assert "The pilot was not finished" in stopped.err


def test_a_pilot_that_reaches_a_cap_names_one_command_that_continues_it(typed: Typing) -> None:
    with OpenAIStub(said) as stub:
        run = f"--model openai:m --base-url {stub.base_url} --tasks asks.yaml --output runs/a {PRICED}"
        stopped = typed(f"cost {run} --pilot 5 --max-cost 0.000001")
    assert stopped.code == 2
    told = " ".join(stopped.err.partition("Error: ")[2].split())
    assert "kept. Continue with a higher cap: polymeter resume runs/a --max-cost N" in told
    assert told.count("polymeter resume") == 1
