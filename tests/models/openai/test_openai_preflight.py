"""One small question before a run, and one clear message."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from polymeter.cli.main import main
from polymeter.core.content import Text
from polymeter.core.errors import ModelError, PlanError
from polymeter.core.request import Generate, Message, Request
from polymeter.models.openai import OpenAIModel
from polymeter.models.openai import preflight as preflight_module
from tests.helpers.openai_stub import OpenAIStub, Received, Reply, chat, failure

MODELS = {"data": [{"id": "qwen2.5-vl-7b"}, {"id": "llava-1.5"}]}
PAGE = Reply("<html>hello</html>", headers={"Content-Type": "text/html"})


def check(stub: OpenAIStub | str, name: str = "m", **args: Any) -> None:
    url = stub if isinstance(stub, str) else stub.base_url
    asyncio.run(OpenAIModel(name, base_url=url, **args).preflight())


def refusal(respond: Any, name: str = "m", **args: Any) -> str:
    with OpenAIStub(respond) as stub, pytest.raises(PlanError) as caught:
        check(stub, name, **args)
    return str(caught.value)


def test_few_tokens_are_asked_for() -> None:
    with OpenAIStub() as stub:
        check(stub, extra_body={"provider": "x"})
        check(stub, api="completions")
    ping = [{"role": "user", "content": "ping"}]
    assert stub.bodies == [
        {"model": "m", "max_tokens": 16, "temperature": 0, "provider": "x", "messages": ping},
        {"model": "m", "max_tokens": 1, "temperature": 0, "prompt": "ping"},
    ]


@pytest.mark.parametrize(
    "reply",
    [
        failure("busy", 429),
        failure("broken", 500),
        failure("max_tokens must be at least 16", 400),
        failure("flagged", 400, code="content_filter"),
        {"error": {"message": "loading", "code": 503}},
        Reply('{"choices": [{'),
        Reply(None),
    ],
)
def test_a_server_that_is_there_passes(reply: Any) -> None:
    with OpenAIStub([reply]) as stub:
        check(stub)


def test_a_page_in_passing_is_asked_again() -> None:
    with OpenAIStub([PAGE, chat()]) as stub:
        check(stub)
        assert len(stub.received) == 2


def test_a_server_that_takes_long_passes(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(preflight_module, "_DEADLINE_S", 0.0)
    with OpenAIStub() as stub:
        check(stub)
    assert "did not answer a small request within 0 s" in caplog.text


def test_nobody_there() -> None:
    with OpenAIStub() as stub:
        url = stub.base_url
    with pytest.raises(PlanError) as caught:
        check(url)
    assert str(caught.value).startswith("The endpoint cannot be reached: cannot connect to 127.0.0.1:")
    assert str(caught.value).endswith(f"[{url}] Is the server running, and is --base-url right?")
    with pytest.raises(PlanError, match="The endpoint cannot be reached"):
        check("http://no-such-host.invalid/v1")


def test_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    message = refusal([failure("who are you", 401)])
    assert "requires a key, and the environment variable OPENAI_API_KEY is not set (HTTP 401: who are you)." in message
    monkeypatch.setenv("MY_KEY", "k" * 20)
    message = refusal([failure("who are you", 403)], api_key_env="MY_KEY")
    assert "rejects the key in MY_KEY (HTTP 403: who are you)." in message
    assert "Check MY_KEY and what its key may use." in message


@pytest.mark.parametrize(
    ("name", "hint"),
    [("qwen2.5-vl-3b", "Did you mean 'qwen2.5-vl-7b'?"), ("gpt", "It serves: llava-1.5, qwen2.5-vl-7b.")],
)
@pytest.mark.parametrize("status", [404, 400])
def test_unknown_models(name: str, hint: str, status: int) -> None:
    def server(received: Received) -> Any:
        if received.path == "/v1/models":
            return MODELS
        return failure(f"The model `{name}` does not exist.", status, code="model_not_found")

    message = refusal(server, name)
    assert (
        f"The endpoint does not know the model {name!r} (HTTP {status}: The model `{name}` does not exist.)." in message
    )
    assert message.endswith(hint)


def test_unknown_models_where_none_are_listed() -> None:
    message = refusal([failure("model 'm' not found", 404)])
    assert "The endpoint does not know the model 'm'" in message


@pytest.mark.parametrize(
    "reply", [Reply("Not Found", 404), Reply({"detail": "Method Not Allowed"}, 405), PAGE, Reply("", 302)]
)
def test_no_endpoint(reply: Reply) -> None:
    with OpenAIStub([reply]) as stub, pytest.raises(PlanError) as caught:
        check(stub.base_url.removesuffix("/v1"))
    assert str(caught.value).startswith("This is not an OpenAI-compatible endpoint: ")
    hint = "Set that address" if reply.status == 302 else f"at the end: --base-url {stub.base_url}"
    assert hint in str(caught.value)


def test_a_quota_that_is_used_up() -> None:
    message = refusal([failure("Please pay.", 429, code="insufficient_quota")])
    assert message.startswith("The quota is used up: Please pay.")


def run(stub: OpenAIStub, folder: Path) -> int:
    arguments = ["run", "--model", "openai:m", "--model-args", f"base_url={stub.base_url}", "--tasks", "demo"]
    return main([*arguments, "--limit", "3", "--output", str(folder)])


def test_a_run_by_the_command_line(tmp_path: Path) -> None:
    with OpenAIStub() as stub:
        assert run(stub, tmp_path / "run") == 0
        bodies = stub.bodies
    assert bodies[0]["messages"][0]["content"] == "ping"
    for body in bodies[1:]:
        assert "image_url" in [part["type"] for part in body["messages"][-1]["content"]]
    text = (tmp_path / "run" / "results.json").read_text(encoding="utf-8")
    assert json.loads(text)
    assert "127.0.0.1" not in text


def test_a_run_that_cannot_be_says_so_before_any_data_is_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with OpenAIStub([failure("model 'm' not found", 404)]) as stub:
        assert run(stub, tmp_path / "run") == 2
    assert "does not know the model 'm'" in " ".join(capsys.readouterr().err.split())


def reasoner(received: Received) -> Any:
    """A model that takes no temperature but its own."""
    if "temperature" in received.body:
        return failure("Unsupported value: 'temperature' does not support 0 with this model.", 400)
    return chat("answer")


def test_a_model_that_refuses_a_temperature_runs_without_it_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with OpenAIStub(reasoner) as stub:
        assert run(stub, tmp_path / "run") == 0
        bodies = stub.bodies
    assert [body["messages"][0]["content"] for body in bodies[:2]] == ["ping", "ping"]
    assert "temperature" in bodies[0]
    assert not any("temperature" in body for body in bodies[1:])
    told = "cannot honour 'temperature', which 3 tasks set"
    assert told in " ".join(capsys.readouterr().err.split())
    results = json.loads((tmp_path / "run" / "results.json").read_text(encoding="utf-8"))
    assert any(told in note for note in results["notes"])


def test_what_an_endpoint_refuses_is_told_too_where_tasks_are_opened_before_it_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "Which city?", "answer": "answer"}\n')
    (tmp_path / "utils.py").write_text('def ask(doc):\n    return doc["question"]  # as a judge would\n')
    (tmp_path / "cities.yaml").write_text(
        "task: cities\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: train\n"
        "output_type: generate_until\ndoc_to_text: !function utils.ask\ndoc_to_target: answer\n"
        "generation_kwargs: {temperature: 0}\nmetric_list: [{metric: exact_match}]\n"
    )
    with OpenAIStub(reasoner) as stub:
        words = ["run", "--model", "openai:m", "--base-url", stub.base_url, "--tasks", str(tmp_path / "cities.yaml")]
        assert main([*words, "--output", str(tmp_path / "run")]) == 0
        bodies = stub.bodies
    assert [body["messages"][0]["content"] for body in bodies] == ["ping", "ping", "Which city?"]
    told = "cannot honour 'temperature', which task 'cities' sets"
    assert told in " ".join(capsys.readouterr().err.split())


def test_a_temperature_is_never_dropped_in_the_middle_of_a_run() -> None:
    with OpenAIStub(reasoner) as stub:
        model = OpenAIModel("m", base_url=stub.base_url)

        async def ask() -> None:
            try:
                await model.respond(Request((Message("user", (Text("q"),)),), Generate(temperature=0.0)))
            finally:
                await model.aclose()

        with pytest.raises(ModelError, match="--model-args omit=temperature"):
            asyncio.run(ask())
