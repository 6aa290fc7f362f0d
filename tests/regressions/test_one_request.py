"""A request that an endpoint always refuses, while it answers others, fails alone: the run asks the others and ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.judged import judged_folder
from tests.helpers.openai_stub import OpenAIStub, Received, Reply, chat, failure
from tests.regressions.endpoints import Ended, resume, run, task_folder

N = 10
STUCK = "question 0"
TOO_LARGE = "Request too large for m on tokens per min (TPM): Limit 30000, Requested 45000."
SOON = ("--max-wait", "0.2")


def asked_for(received: Received) -> str:
    """The question, or what else a message says."""
    return str(received.body["messages"][-1]["content"]) if received.raw else ""


def ask(stub: OpenAIStub, tmp_path: Path, *more: str) -> Ended:
    tasks = task_folder(tmp_path / "tasks", [f"question {number}" for number in range(N)])
    return run("openai:m", tasks, tmp_path / "run", "--base-url", stub.base_url, *more)


def fails_alone(ended: Ended, words: str) -> None:
    assert ended.code == 1, ended.said
    assert ended.manifest["status"] == "complete"
    assert ended.task["statuses"] == {"ok": N - 1, "error": 1}
    assert words in str(ended.rows[STUCK]["error"])
    assert ended.task["results"][0]["value"] == 1.0, "a failure is no answer"


@pytest.mark.parametrize(
    ("reply", "words", "more"),
    [
        (failure(TOO_LARGE, 429, type="tokens", code="rate_limit_exceeded"), "Requested 45000", ("--concurrency", "2")),
        (Reply({"error": {"message": "not you"}}, 429, {"Retry-After": "4"}), "not you", ("--concurrency", "2", *SOON)),
        (failure("not you", 429), "not you", ("--concurrency", "1", *SOON)),
    ],
    ids=["too large", "Retry-After", "no header"],
)
def test_a_rate_limit_of_one_request_is_its_own(tmp_path: Path, reply: Reply, words: str, more: tuple[str]) -> None:
    is_stuck = True
    with OpenAIStub(lambda received: reply if is_stuck and asked_for(received) == STUCK else chat("right")) as stub:
        ended = ask(stub, tmp_path, *more)
        fails_alone(ended, words)
        is_stuck = False
        again = resume(ended)
    assert again.code == 0, again.said
    assert again.task["statuses"] == {"ok": N}


@pytest.mark.control
def test_an_address_that_limits_everyone_takes_no_answers_from_the_other(tmp_path: Path) -> None:
    """The other one limits each question in passing, and answers it when it is asked again."""
    seen: set[str] = set()

    def passing(received: Received) -> Any:
        question = asked_for(received)
        if not question.startswith("question") or question in seen:
            return chat("right")
        seen.add(question)
        return failure("slow down", 429)

    def limiting(received: Received) -> Any:
        return failure("not you", 429) if asked_for(received).startswith("question") else chat("hello")

    with OpenAIStub(passing) as stub, OpenAIStub(limiting) as other:
        both = ("--base-url", f"{stub.base_url},{other.base_url}")
        # Not the shortest wait: an address that is not asked for so long counts as one that limits everyone.
        ended = ask(stub, tmp_path, *both, "--concurrency", "1", "--max-retries", "1", "--max-wait", "2")
    assert ended.code == 0, ended.said
    assert ended.task["statuses"] == {"ok": N}


def test_a_small_request_that_is_refused_does_not_stop_the_run(tmp_path: Path) -> None:
    """The model has no room for an answer of one token: it read the request, and limits nobody but the one."""
    n_small = 0

    def respond(received: Received) -> Any:
        nonlocal n_small
        if asked_for(received).startswith("question"):
            return failure("not you", 429) if asked_for(received) == STUCK else chat("right")
        n_small += 1
        return chat("hello") if n_small == 1 else failure("Could not finish the message: max_tokens was reached", 400)

    with OpenAIStub(respond) as stub:
        fails_alone(ask(stub, tmp_path, "--concurrency", "1", *SOON), "not you")


def test_a_judge_that_refuses_one_request_fails_that_sample(tmp_path: Path) -> None:
    tasks = judged_folder(tmp_path / "tasks", n_rows=N)
    (tasks / "said.yaml").write_text((tasks / "facts.yaml").read_text().replace("task: facts", "task: said"))
    (tasks / "facts.yaml").unlink()

    def respond(received: Received) -> Any:
        is_stuck = received.body["model"] == "j" and STUCK in asked_for(received)
        return failure("not you", 429) if is_stuck else chat("A")

    with OpenAIStub(respond) as stub:
        judge = ("--judge", "openai:j", "--judge-args", f"base_url={stub.base_url}")
        ended = run("openai:m", tasks, tmp_path / "run", "--base-url", stub.base_url, *judge, *SOON)
    assert ended.code == 1, ended.said
    assert ended.manifest["status"] == "complete"
    assert ended.task["statuses"] == {"ok": N - 1, "unscored": 1}
    assert "not you" in str(ended.rows[STUCK]["error"])


@pytest.mark.control
@pytest.mark.parametrize("concurrency", ["1", "2"])
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply({"error": {"message": "not you"}}, 503, {"Retry-After": "4"}), "HTTP 503: not you"),
        (failure("overloaded", 529), "HTTP 529: overloaded"),
        (Reply(None), "the server closed the connection"),
        (None, "No answer within 1.5 s"),
    ],
    ids=["503", "529", "reset", "timeout"],
)
def test_a_failure_of_one_request_is_its_own(tmp_path: Path, reply: Reply | None, words: str, concurrency: str) -> None:
    def respond(received: Received) -> Any:
        if asked_for(received) != STUCK:
            return chat("right")
        return reply or Reply(chat("late"), after_s=2.5)

    with OpenAIStub(respond) as stub:
        # So long that a busy machine answers the others in time.
        more = ("--timeout", "1.5", "--max-retries", "1") if reply is None else ()
        fails_alone(ask(stub, tmp_path, "--concurrency", concurrency, *SOON, *more), words)
