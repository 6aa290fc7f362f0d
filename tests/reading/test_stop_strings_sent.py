"""Stop strings are sent to a server unless its model reasons in its text; a run keeps what it began with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polymeter import evaluate, resume
from tests.helpers.openai_stub import OpenAIStub, Received, Reply, chat
from tests.tasks.yaml.kit import task_text, write_rows

THOUGHTS = "<think>\nThe capital.\n\nOf France.\n</think>\n\n"
STOPS = 'generation_kwargs: {until: ["\\n\\n"]}\nmetric_list: [{metric: exact_match}]\n'


class Server:
    """Stops an answer at the stop strings of its request, as servers do: also inside reasoning."""

    def __init__(self, said: str, ping: str, n_failing: int = 0) -> None:
        self.said, self.ping, self.n_failing = said, ping, n_failing
        self.stops: list[Any] = []

    def __call__(self, received: Received) -> Any:
        body = received.body
        is_ping = "ping" in json.dumps(body)
        said = self.ping if is_ping else self.said
        if not is_ping:
            self.stops.append(body.get("stop"))
            if len(self.stops) <= self.n_failing:
                return Reply({"error": {"message": "no"}}, 400)
        for stop in body.get("stop") or ():
            said = said.partition(stop)[0]
        return {"choices": [{"text": said, "finish_reason": "stop"}]} if "prompt" in body else chat(said)


def measure(folder: Path, server: Server, n: int = 1, **options: Any) -> Any:
    write_rows(folder, [{"q": f"x{number}", "a": "Paris"} for number in range(n)])
    (folder / "t.yaml").write_text(task_text(STOPS))
    with OpenAIStub(server) as stub:
        args = {"base_url": stub.base_url, **options}
        return evaluate("openai:m", str(folder / "t.yaml"), model_args=args, output=folder / "run")


def decided(folder: Path) -> Any:
    return json.loads((folder / "run" / "run.json").read_text()).get("sends_stops")


@pytest.mark.parametrize("ping", ["<think>\nThey say", "ok</think>pong", "◁think▷hm"])
def test_a_model_that_reasons_visibly_is_stopped_when_its_answer_is_read(tmp_path: Path, ping: str) -> None:
    server = Server(f"{THOUGHTS}Paris\n\nAnd more", ping)
    assert measure(tmp_path, server).value("t", "exact_match") == 1.0
    assert server.stops == [None]
    assert decided(tmp_path) == {"model": False}


def test_any_other_model_is_stopped_by_its_server(tmp_path: Path) -> None:
    server = Server("Paris\n\nAnd more", "pong")
    assert measure(tmp_path, server).value("t", "exact_match") == 1.0
    assert server.stops == [["\n\n"]]
    assert decided(tmp_path) == {"model": True}


def test_a_completion_is_always_stopped_by_its_server(tmp_path: Path) -> None:
    server = Server("Paris\n\nQuestion: and more", "<think>")
    assert measure(tmp_path, server, api="completions").value("t", "exact_match") == 1.0
    assert server.stops == [["\n\n"]]
    assert decided(tmp_path) is None


def test_a_run_that_is_resumed_keeps_what_it_began_with(tmp_path: Path) -> None:
    first = Server(f"{THOUGHTS}Paris\n\nAnd more", "<think>", n_failing=1)
    assert measure(tmp_path, first, n=2).n_failed == 1
    then = Server(f"{THOUGHTS}Paris\n\nAnd more", "pong")
    with OpenAIStub(then) as stub:
        again = resume(tmp_path / "run", model_args={"base_url": stub.base_url})
    assert again.value("t", "exact_match") == 1.0
    assert then.stops == [None]
    assert decided(tmp_path) == {"model": False}
