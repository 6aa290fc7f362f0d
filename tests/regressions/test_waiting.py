"""No endpoint can freeze a run: waits have a limit, and each is told."""

from __future__ import annotations

import os
import pty
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.openai_stub import OpenAIStub, Received, Reply, chat
from tests.regressions.endpoints import LIMIT_S, Ended, first_line, run, started, task_folder


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Retry-After", "1e10"),
        ("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"),
        ("Retry-After-Ms", "1e13"),
        ("X-RateLimit-Reset-Tokens", "99999h"),
    ],
    ids=["seconds", "date", "milliseconds", "span"],
)
def test_a_long_wait_is_capped_at_a_minute_and_told_when_it_begins(tmp_path: Path, header: str, value: str) -> None:
    tasks = task_folder(tmp_path / "tasks", [f"question {number}" for number in range(4)])
    slow_down = Reply({"error": {"message": "slow down"}}, 429, {header: value})
    with OpenAIStub([chat(), slow_down]) as stub:
        line = first_line(started("openai:m", tasks, tmp_path / "run", "--base-url", stub.base_url), "waiting: ")
    assert line.startswith("waiting: 60 s for the model (m at 127.0.0.1:")
    assert "which asked for" in line
    assert "the longest wait is 60 s" in line
    assert value != "1e10" or "10,000,000,000 s" in line


def test_a_cap_may_be_asked_for(tmp_path: Path) -> None:
    tasks = task_folder(tmp_path / "tasks", [f"question {number}" for number in range(4)])
    slow_down = Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": "1e10"})
    with OpenAIStub([chat(), slow_down, chat("right")]) as stub:
        ended = run("openai:m", tasks, tmp_path / "run", "--base-url", stub.base_url, "--max-wait", "1")
    assert ended.code == 0, ended.said
    (line,) = [line for line in ended.said.splitlines() if line.startswith("waiting: ")]
    assert "the longest wait is 1 s" in line


def limited(tmp_path: Path, headers: Mapping[str, tuple[str, str]], *more: str) -> Ended:
    """A run whose questions are each answered with 429 and a header first."""
    tasks = task_folder(tmp_path / "tasks", list(headers))
    seen: set[str] = set()

    def respond(received: Received) -> Any:
        question = received.body["messages"][-1]["content"]
        if question not in headers or question in seen:
            return chat("right")
        seen.add(question)
        return Reply({"error": {"message": "slow down"}}, 429, dict([headers[question]]))

    with OpenAIStub(respond) as stub:
        ended = run("openai:m", tasks, tmp_path / "run", "--base-url", stub.base_url, *more)
    assert ended.code == 0, ended.said
    assert ended.task["statuses"] == {"ok": len(headers)}
    assert seen == set(headers)
    return ended


def test_a_header_that_is_no_time_is_no_reason_to_wait(tmp_path: Path) -> None:
    headers = {
        "nan": ("Retry-After", "nan"),
        "inf": ("Retry-After", "inf"),
        "overlong": ("Retry-After", "9" * 400),
        "negative": ("Retry-After", "-5"),
        "words": ("Retry-After", "soon"),
        "the beginning of time": ("Retry-After", "Mon, 01 Jan 0001 00:00:00 GMT"),
        "no milliseconds": ("Retry-After-Ms", "inf"),
        "an overlong span": ("X-RateLimit-Reset-Tokens", f"{'9' * 400}s"),
    }
    ended = limited(tmp_path, headers, "--timeout", "2")
    assert "paused for" not in ended.said


def test_no_time_that_is_far_away_is_waited_for(tmp_path: Path) -> None:
    headers = {
        "the end of time": ("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"),
        "milliseconds": ("Retry-After-Ms", "1e308"),
        "tomorrow": ("X-RateLimit-Reset", str(int(time.time()) + 86400)),
        "a span": ("X-RateLimit-Reset-Tokens", "99999h"),
    }
    limited(tmp_path, headers, "--max-wait", "0.1")


def test_the_wait_is_a_minute_unless_asked_otherwise() -> None:
    import polymeter

    assert polymeter.RunOptions().max_wait_s == 60


def test_a_terminal_shows_for_whom_it_waits(tmp_path: Path) -> None:
    tasks = task_folder(tmp_path / "tasks", [f"question {number}" for number in range(4)])
    slow_down = Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": "45"})
    ours, theirs = pty.openpty()
    with OpenAIStub([chat(), slow_down]) as stub:
        at = ("--base-url", stub.base_url)
        child = started("openai:m", tasks, tmp_path / "run", *at, stderr=theirs, TERM="xterm", COLUMNS="200")
        alarm = threading.Timer(LIMIT_S / 2, child.kill)
        alarm.start()
        os.close(theirs)
        shown = ""
        try:
            while "which asked for" not in shown:
                shown += os.read(ours, 4096).decode(errors="replace")
        except OSError:  # the child has ended
            pass
        finally:
            child.kill()
            child.communicate()
            alarm.cancel()
            os.close(ours)
    assert "waiting: 45 s for the model (m at 127.0.0.1:" in shown
