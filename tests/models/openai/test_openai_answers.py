"""What an OpenAI-compatible endpoint's answers mean, and that keys are seen by nobody."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from polymeter.core.acting.tools import Call
from polymeter.core.content import Text
from polymeter.core.errors import ModelError, PlanError
from polymeter.core.identity import canonical
from polymeter.core.request import Generate, Message, Output, Request, Usage
from polymeter.models.openai import OpenAIModel
from polymeter.run.plan.models import make_model, parse_model
from tests.helpers.openai_stub import OpenAIStub, Reply, chat, failure

QUESTION = Request((Message("user", (Text("q"),)),), Generate())
KEY = "sk-verysecret0123456789"


def ask(model: OpenAIModel) -> Output:
    async def run() -> Output:
        try:
            return (await model.respond(QUESTION)).outputs[0]
        finally:
            await model.aclose()

    return asyncio.run(run())


def output_of(reply: Any, **arguments: Any) -> Output:
    with OpenAIStub([reply]) as stub:
        return ask(OpenAIModel("m", base_url=stub.base_url, **arguments))


def error_of(reply: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        output_of(reply)
    return caught.value


def test_an_answer_with_all_that_is_told_of_it() -> None:
    reply = chat("four", reasoning_content="2 + 2", tool_calls=[{"id": "1", "function": {"name": "f"}}])
    reply["usage"] = {
        "prompt_tokens": 9,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    reply["choices"][0]["finish_reason"] = "tool_calls"
    calls = (Call("1", "f", {}, "{}"),)
    carried = {"reasoning_content": "2 + 2"}
    told = Output("four", (), (), "2 + 2", calls, "tool_calls", Usage(9, 5, 4, 8), carried=carried)
    assert output_of(reply) == told


@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        ({"content": None, "reasoning": "hm"}, "", "hm"),
        ({"content": None}, "", None),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab", None),
        (
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}, {"text": "a"}]},
            "a",
            "t",
        ),
        ({"content": "a", "reasoning_content": "", "reasoning": None}, "a", None),
    ],
)
def test_reasoning_is_kept_apart(message: dict[str, Any], text: str, reasoning: str | None) -> None:
    found = output_of({"choices": [{"message": message, "finish_reason": "length"}]})
    assert (found.text, found.reasoning, found.finish_reason, found.usage) == (text, reasoning, "length", None)


def choice(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"content": "half an"}, **fields}]}


ONLY_CALLS = "The model answered with tool calls only, although it was offered no tools."
INCOMPLETE = "The endpoint's answer is incomplete:"
MALFORMED = "The endpoint's answer is malformed:"


@pytest.mark.parametrize("content", ["", None, [], [{"type": "text", "text": ""}]])
def test_a_model_that_stopped_without_a_word_has_answered(content: Any) -> None:
    assert output_of(chat(content)).text == ""


def test_calls_alone_are_an_answer_of_a_model_that_was_offered_tools() -> None:
    reply = chat(None, tool_calls=[{"id": "1"}])
    assert output_of(reply, extra_body={"tools": [{"type": "function"}]}).calls == (
        Call("1", "", {}, "{}", "it names no tool"),
    )


@pytest.mark.parametrize("usage", [None, [], "many", {"prompt_tokens": "9", "completion_tokens": -5, "x": {}}])
def test_counts_of_another_form_are_no_counts(usage: Any) -> None:
    found = output_of({**chat("four"), "usage": usage})
    assert (found.text, found.usage or Usage()) == ("four", Usage())


@pytest.mark.parametrize(
    ("usage", "cost", "why"),
    [
        ({"cost": 0.25}, 0.25, "OpenRouter"),
        ({"cost": 0}, 0.0, "a free model"),
        ({"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}}, 0.21, "the user's own key"),
        (
            {"cost": 0.01, "is_byok": True, "cost_details": None},
            None,
            "of the user's own key, the larger part is unknown",
        ),
        ({"cost": {"input_tokens_cost": 0.1, "total_cost": 0.3}}, 0.3, "Perplexity"),
        ({"estimated_cost": 0.5}, 0.5, "DeepInfra"),
        ({"cost_in_usd_ticks": 37_756_000}, 0.0037756, "xAI"),
        ({"cost": "0.25"}, None, "not a number"),
        ({"cost": -1}, None, "not an amount"),
        ({"cost": True}, None, "not an amount"),
        ({"cost": float("inf")}, None, "not an amount"),
        ({}, None, "no cost"),
    ],
)
def test_the_cost_that_a_provider_states(usage: dict[str, Any], cost: float | None, why: str) -> None:
    counts = {"prompt_tokens": 3, "completion_tokens": 2, **usage}
    found = output_of({**chat("four"), "usage": counts, "service_tier": "flex"}).usage
    assert found is not None
    assert found.cost == (None if cost is None else pytest.approx(cost)), why
    assert (found.input_tokens, found.service_tier) == (3, "flex")


def test_tokens_of_media_are_counted_apart() -> None:
    sent = {"audio_tokens": 5, "image_tokens": 2}
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": sent}
    found = output_of({**chat("four"), "usage": {**usage, "completion_tokens_details": {"image_tokens": 3}}}).usage
    assert found == Usage(9, 4, audio_tokens=5, image_tokens=2, image_output_tokens=3)


def test_what_stands_beside_a_text_does_not_matter() -> None:
    parts = [{"type": "text", "text": "four"}, {"type": "reference", "reference_ids": [1]}]
    assert output_of({"choices": [{"index": "0", "finish_reason": 3, "message": {"content": parts}}]}).text == "four"


@pytest.mark.parametrize(
    ("reply", "kind", "what"),
    [
        (failure("why", 400), "permanent", "HTTP 400: why"),
        (failure("why", 429), "rate_limit", "HTTP 429: why"),
        (failure("why", 500), "transient", "HTTP 500: why"),
        ({"error": {"message": "upstream", "code": 502}}, "transient", "HTTP 502: upstream"),
        ({"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}, "permanent", "HTTP 400: bad"),
        (choice(error={"message": "upstream", "code": 429}), "rate_limit", "HTTP 429: upstream"),
        (choice(finish_reason="content_filter"), "refused", "The endpoint's filter ended the answer."),
        (choice(message={"content": None, "refusal": "I can't."}), "refused", "The model declined: I can't."),
        (choice(message={"content": None, "tool_calls": [{"id": "1"}]}), "permanent", ONLY_CALLS),
        (choice(message={"content": ""}, finish_reason="tool_calls"), "permanent", ONLY_CALLS),
        (choice(message=None), "transient", f"{INCOMPLETE} a choice without a message."),
        (choice(message={}), "transient", f"{INCOMPLETE} a choice without a message."),
        (choice(message={"content": None}), "transient", f"{INCOMPLETE} neither a text nor why the model stopped."),
        (choice(message={"role": "assistant"}), "transient", f"{INCOMPLETE} neither a text nor why the model stopped."),
        (choice(message="four"), "permanent", f"{MALFORMED} the message is a text."),
        (choice(message={"content": 4}), "permanent", f"{MALFORMED} the content is a number."),
        (choice(message={"content": {"text": "4"}}), "permanent", f"{MALFORMED} the content is an object."),
        (choice(message={"content": [4]}), "permanent", f"{MALFORMED} a part of the content has no text."),
        (choice(message={"content": [{"text": None}]}), "permanent", f"{MALFORMED} a part of the content has no text."),
        (
            choice(message={"content": [{"type": "image_url", "image_url": {}}]}),
            "permanent",
            f"{MALFORMED} no part of the content is text.",
        ),
        ({"choices": [{}]}, "transient", f"{INCOMPLETE} a choice without a message."),
        ({"choices": [None]}, "transient", f"{INCOMPLETE} a choice is null."),
        ({"choices": {"0": {}}}, "transient", "The endpoint's answer has no choices."),
        ({"choices": [{"delta": {"content": "four"}}]}, "transient", f"{INCOMPLETE} a choice without a message."),
        (Reply("[" * 100_000), "transient", "The endpoint's answer is broken JSON (100000 bytes of application/json)."),
        (choice(finish_reason="insufficient_system_resource"), "transient", "The endpoint broke the answer off."),
        (choice(finish_reason="abort"), "transient", "The endpoint broke the answer off."),
        ({"choices": []}, "transient", "The endpoint's answer has no choices."),
        ({}, "transient", "The endpoint's answer has no choices."),
        (
            Reply('{"choices": [{"mess'),
            "transient",
            "The endpoint's answer is broken JSON (19 bytes of application/json).",
        ),
        (
            Reply("<html>Sign in</html>", headers={"Content-Type": "text/html"}),
            "transient",
            "The endpoint answered with a page (text/html) and not with JSON.",
        ),
        (
            Reply("", 308, {"Location": "https://example.org"}),
            "permanent",
            "The endpoint has moved to 'https://example.org'.",
        ),
        (Reply(None), "transient", "The request failed in transit: the server closed the connection."),
    ],
)
def test_what_is_no_answer(reply: Any, kind: str, what: str) -> None:
    error = error_of(reply)
    assert (error.kind, error.what) == (kind, what)
    assert error.where.startswith("m at 127.0.0.1:")


def test_a_cut_connection_and_a_closed_port_may_pass() -> None:
    error = error_of(Reply("{}", headers={"Transfer-Encoding": "chunked"}))
    assert error.kind == "transient"
    with OpenAIStub() as stub:
        url = stub.base_url
    with pytest.raises(ModelError, match="The request failed in transit: cannot connect to 127") as caught:
        ask(OpenAIModel("m", base_url=url))
    assert caught.value.kind == "transient"


def test_waiting_is_told() -> None:
    assert error_of(Reply({"error": {"message": "slow"}}, 429, {"Retry-After": "3"})).retry_after_s == 3


def test_the_key_comes_from_the_environment_and_is_seen_by_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    headers = {"X-Api-Key": "other-secret", "X-Title": "a title of mine"}
    with OpenAIStub([failure(f"bad key {KEY} or other-secret", 401)]) as stub:
        model = OpenAIModel("m", base_url=stub.base_url, api_key_env="MY_KEY", headers=headers, organization="org")
        with pytest.raises(ModelError) as caught:
            ask(model)
        with pytest.raises(PlanError) as refused:
            asyncio.run(model.preflight())
        [received, _] = stub.received
    assert received.headers["Authorization"] == f"Bearer {KEY}"
    assert received.headers["OpenAI-Organization"] == "org"
    assert received.headers["X-Title"] == "a title of mine"
    seen = [caught.value, refused.value, canonical(model.identity), model._client.address, caplog.text]
    for text in map(str, seen):
        assert KEY not in text
        assert "other-secret" not in text
    assert "bad key *** or ***" in str(caught.value)


def test_identity_is_what_changes_answers() -> None:
    def identity(**args: Any) -> Any:
        return canonical(OpenAIModel("m", **{"base_url": "http://localhost:1/v1", **args}).identity)

    assert identity() == identity(base_url="https://example.org/v1", headers={"a": "b"}, max_tokens_key="max_tokens")
    for args in ({"api": "completions"}, {"extra_body": {"a": 1}}, {"num_frames": 4}, {"omit": "seed"}, {"fps": 1.0}):
        assert identity(**args) != identity()


def test_azure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    with OpenAIStub() as stub:
        host = stub.base_url.removesuffix("/v1")
        ask(OpenAIModel("my deployment", azure_endpoint=f"{host}/", api_version="2024-10-21"))
        [received] = stub.received
    assert received.path == "/openai/deployments/my%20deployment/chat/completions?api-version=2024-10-21"
    assert received.headers["api-key"] == KEY
    assert "Authorization" not in received.headers


def test_where_the_address_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIStub() as stub:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{stub.base_url}/")
        ask(OpenAIModel("m"))
        ask(OpenAIModel("m", base_url=f"{stub.base_url}/chat/completions"))
        assert [received.path for received in stub.received] == ["/v1/chat/completions"] * 2


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({}, "api.openai.com needs a key, and the environment variable OPENAI_API_KEY is not set. Set OPENAI_API_KEY"),
        ({"base_url": "localhost:8000/v1"}, "is not valid. [base_url] Write it with its scheme"),
        ({"base_url": "http://a:b/v1"}, "The base URL 'http://a:b/v1' is not valid"),
        ({"azure_endpoint": "https://x.openai.azure.com"}, "environment variable AZURE_OPENAI_API_KEY is not set"),
        ({"azure_endpoint": "https://x", "base_url": "https://y"}, "Both base_url and azure_endpoint are set."),
        ({"azure_endpoint": "http://localhost"}, "needs a key"),
        ({"api": "chats"}, "has no api 'chats'. [--model-args api] Did you mean 'chat'?"),
        ({"image_detail": "lo"}, "has no image_detail 'lo'. [--model-args image_detail] Did you mean 'low'?"),
        ({"logprobs": "both"}, "Known: auto, prompt_logprobs, echo, first_token, none."),
        ({"base_url": "http://localhost:1", "extra_body": "a"}, "extra_body must be a mapping, not 'a'."),
        ({"api_key": "sk-1"}, "has no argument 'api_key'. [--model-args] Did you mean 'api_key_env'"),
    ],
)
def test_bad_arguments(args: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_API_KEY", "OPENAI_API_VERSION"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(PlanError) as caught:
        make_model(parse_model("openai:m", args=args), {})
    assert message in str(caught.value)


def test_azure_without_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    with pytest.raises(PlanError, match="An azure_endpoint needs an API version"):
        OpenAIModel("m", azure_endpoint="https://x.openai.azure.com")
