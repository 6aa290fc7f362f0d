"""A server that is gone, or that answers nobody any more, ends the run soon; nothing is lost and nothing is failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.judged import judged_folder
from tests.helpers.openai_stub import OpenAIStub, Received, Reply, chat, failure
from tests.helpers.provider_stubs import ProviderStub, claude_fails, claude_says, gemini_fails, gemini_says
from tests.regressions.endpoints import Ended, first_line, resume, run, started, task_folder, where_known

N = 60
SLOWLY = ("--concurrency", "4")
SOON = (*where_known("max_wait_s", "--max-wait", "0.05", otherwise=("--max-retries", "1")), *SLOWLY)
QUESTIONS = [f"question {number}" for number in range(N)]
DAY = {"@type": "…QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}


def is_small(received: Received) -> bool:
    """Whether it is the request that is made ahead of a run, or to find out whether the endpoint is there."""
    return not received.raw or received.body.get("max_tokens") in (1, 16)


def stopped(ended: Ended, *why: str) -> None:
    """It stopped, says why, can be resumed, and nothing that was not asked has failed."""
    assert ended.code == 1, ended.said
    assert "Stopped: " in ended.said
    for words in why:
        assert words in ended.said
    assert "polymeter resume" in ended.said
    assert ended.manifest["status"] == "stopped"
    assert ended.manifest["n_failed"] == 0
    session = ended.manifest["sessions"][-1]
    assert all(words in session["reason"] for words in why)
    assert "PARTIAL: this run was stopped" in (ended.folder / "report.html").read_text()


def finished(ended: Ended) -> None:
    again = resume(ended)
    assert again.code == 0, again.said
    assert again.task["statuses"] == {"ok": N}
    assert again.task["results"][0]["value"] == 1.0


def ask(stub: OpenAIStub, tmp_path: Path, *more: str) -> Ended:
    tasks = task_folder(tmp_path / "tasks", QUESTIONS)
    return run("openai:m", tasks, tmp_path / "run", "--base-url", stub.base_url, *(more or SOON))


@pytest.mark.parametrize("how", [Reply("no healthy upstream", 503), Reply(None)], ids=["503", "reset"])
def test_a_server_that_is_gone_ends_the_run_and_it_can_be_resumed(tmp_path: Path, how: Reply) -> None:
    is_gone = True

    def respond(received: Received) -> Any:
        return how if is_gone and len(stub.received) > 20 else chat("right")

    with OpenAIStub(respond) as stub:
        ended = ask(stub, tmp_path)
        n_tries = len(stub.received)
        stopped(ended, "the model (m at 127.0.0.1:", "tries in a row brought nothing")
        assert n_tries < 20 + 40, "a bounded number of fruitless tries"
        is_gone = False
        finished(ended)


def test_an_outage_stops_the_sending_and_is_told_while_it_lasts(tmp_path: Path) -> None:
    """With the default settings. How it ends is seen above with shorter waits."""
    tasks = task_folder(tmp_path / "tasks", QUESTIONS)
    with OpenAIStub(lambda received: Reply("no", 503) if len(stub.received) > 20 else chat("right")) as stub:
        child = started("openai:m", tasks, tmp_path / "run", "--base-url", stub.base_url)
        line = first_line(child, "waiting: ")
        assert len(stub.received) <= 20 + N, "nobody is sent there a second time"
    assert line.startswith("waiting: the model (m at 127.0.0.1:")
    assert "tries in a row; the next try is in 2 s. HTTP 503: no" in line


@pytest.mark.control
def test_a_server_that_comes_back_is_asked_on(tmp_path: Path) -> None:
    def respond(received: Received) -> Any:
        return failure("starting", 503) if 20 < len(stub.received) < 35 else chat("right")

    with OpenAIStub(respond) as stub:
        ended = ask(stub, tmp_path)
    assert ended.code == 0, ended.said
    assert ended.task["statuses"] == {"ok": N}


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (failure("bad key", 401), "HTTP 401: bad key"),
        (failure("not yours", 403), "HTTP 403: not yours"),
        (failure("pay", 402), "The quota is used up: pay"),
        (failure("pay", 429, code="insufficient_quota"), "The quota is used up: pay"),
    ],
    ids=["401", "403", "402", "insufficient_quota"],
)
def test_a_refused_key_and_an_exhausted_quota_stop_at_once(tmp_path: Path, reply: Reply, why: str) -> None:
    is_refused = True

    def respond(received: Received) -> Any:
        return reply if is_refused and len(stub.received) > 20 else chat("right")

    with OpenAIStub(respond) as stub:
        ended = ask(stub, tmp_path, *SLOWLY)
        assert len(stub.received) <= 20 + 4 + 4, "what was in flight, and a small request"
        stopped(ended, "it refuses every request", why)
        is_refused = False
        finished(ended)


def test_quotas_of_other_providers_stop_at_once(tmp_path: Path) -> None:
    tasks = task_folder(tmp_path / "tasks", QUESTIONS)
    empty = claude_fails(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.")
    with ProviderStub(lambda _: empty if len(stub.seen) > 10 else claude_says("right")) as stub:
        at = ("--model-args", f"base_url={stub.url}")
        stopped(run("anthropic:m", tasks, tmp_path / "a", *at, *SLOWLY, ANTHROPIC_API_KEY="k"), "credit balance")
        assert len(stub.seen) < 20
    used_up = gemini_fails(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", DAY)
    with ProviderStub(lambda _: used_up if len(stub.seen) > 10 else gemini_says("right")) as stub:
        at = ("--model-args", f"base_url={stub.url}")
        stopped(run("gemini:m", tasks, tmp_path / "g", *at, *SLOWLY, GEMINI_API_KEY="k"), "The quota is used up")
        assert len(stub.seen) < 20


@pytest.mark.control
def test_a_refusal_of_one_request_does_not_stop_the_others(tmp_path: Path) -> None:
    flagged = failure("No.", 403, code=403, metadata={"flagged_input": "…"})
    walled = Reply("<html><title>Blocked</title></html>", 403, {"Content-Type": "text/html"})

    def respond(received: Received) -> Any:
        question = "" if is_small(received) else received.body["messages"][-1]["content"]
        return flagged if question == "question 7" else walled if question == "question 9" else chat("right")

    with OpenAIStub(respond) as stub:
        ended = ask(stub, tmp_path, *SLOWLY)
    assert ended.code == 1, ended.said
    assert ended.task["statuses"] == {"ok": N - 2, "error": 1, "refused": 1}


def test_a_judge_that_refuses_everyone_stops_the_run_too(tmp_path: Path) -> None:
    tasks = judged_folder(tmp_path / "tasks", n_rows=12)
    (tasks / "said.yaml").write_text((tasks / "facts.yaml").read_text().replace("task: facts", "task: said"))
    (tasks / "facts.yaml").unlink()

    def respond(received: Received) -> Any:
        if is_small(received) or received.body["model"] == "m":
            return chat("answer")
        return failure("pay", 429, code="insufficient_quota")

    with OpenAIStub(respond) as stub:
        judge = ("--judge", "openai:j", "--judge-args", f"base_url={stub.base_url}")
        ended = run("openai:m", tasks, tmp_path / "run", "--base-url", stub.base_url, *judge)
    stopped(ended, "the judge (j at 127.0.0.1:", "The quota is used up")
