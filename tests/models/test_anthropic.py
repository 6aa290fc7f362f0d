"""Claude models against a local stand-in for the Messages API: what is sent, how answers and failures are read."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as pil

from polymeter.cli.main import main
from polymeter.core.acting.tools import Call
from polymeter.core.content import Audio, Image, Part, Text, Video
from polymeter.core.errors import DataError, ModelError, PlanError
from polymeter.core.identity import canonical
from polymeter.core.media.showing import VideoRule
from polymeter.core.request import Generate, Loglikelihood, Message, Output, Request, Response, Usage
from polymeter.models.anthropic import AnthropicModel
from tests.helpers.clips import clip
from tests.helpers.provider_stubs import ProviderStub, Reply, Seen, ask, claude_fails, claude_says, picture, question

KEY = "sk-ant-this-is-the-secret"

pytest.importorskip("anthropic")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderStub]:
    with ProviderStub(lambda _: claude_says()) as stub:
        yield stub


@pytest.fixture
def stub(server: ProviderStub) -> ProviderStub:
    server.script = lambda _: claude_says()
    server.models = lambda _: Reply({"data": [], "has_more": False})
    server.seen.clear()
    return server


def sent(stub: ProviderStub, request: Request, **arguments: Any) -> Any:
    ask(AnthropicModel("claude-test", stub.url, **arguments), request)
    return stub.posts[-1]


def output(stub: ProviderStub, reply: Reply, **arguments: Any) -> Output:
    stub.script = lambda _: reply
    return ask(AnthropicModel("claude-test", stub.url, **arguments), question("2+2?"))[0].outputs[0]


def failure(stub: ProviderStub, reply: Reply) -> ModelError:
    stub.script = lambda _: reply
    with pytest.raises(ModelError) as caught:
        ask(AnthropicModel("claude-test", stub.url), question("2+2?"))
    assert KEY not in str(caught.value)
    return caught.value


def test_a_text_is_sent_and_answered(stub: ProviderStub) -> None:
    model = AnthropicModel("claude-test", stub.url)
    response = ask(model, question("2+2?", max_new_tokens=16, temperature=0.0, stop=("\n\n", "END")))[0]
    assert response.text == "four"
    assert response.outputs[0].finish_reason == "stop"
    assert response.outputs[0].usage == Usage(12, 3)
    (seen,) = stub.seen
    assert (seen.method, seen.path) == ("POST", "/v1/messages")
    assert seen.headers["Content-Type"] == "application/json"
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert KEY in (seen.headers.get("X-Api-Key", "") + seen.headers.get("Authorization", ""))
    assert seen.body == {
        "model": "claude-test",
        "max_tokens": 16,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "2+2?"}]}],
        "temperature": 0.0,
        "stop_sequences": ["END"],
    }


def test_system_messages_are_apart_and_turns_alternate(stub: ProviderStub) -> None:
    messages = (
        Message("system", (Text("Be brief."),)),
        Message("user", (Text("one "), Text("two"))),
        Message("user", (Text("three"),)),
        Message("assistant", (Text("four"),)),
        Message("assistant", (Text(""),)),
        Message("system", (Text("Be kind."),)),
        Message("user", (Text("five"), Text("  "))),
        Message("assistant", (Text("The answer is "),)),
    )
    body = sent(stub, Request(messages, Generate()))
    assert body["system"] == "Be brief.\n\nBe kind."
    assert [(turn["role"], [block["text"] for block in turn["content"]]) for turn in body["messages"]] == [
        ("user", ["one two", "three"]),
        ("assistant", ["four"]),
        ("user", ["five  "]),
        ("assistant", ["The answer is"]),
    ]


def test_images_keep_their_order_and_their_bytes(stub: ProviderStub) -> None:
    jpeg, bitmap = picture("JPEG"), picture("BMP", "blue")
    request = question(Image(jpeg), "\n", Image("https://example.org/a.png"), "and", Image(bitmap), Image(jpeg))
    content = sent(stub, request)["messages"][0]["content"]
    assert [block["type"] for block in content] == ["image", "image", "text", "image", "image"]
    first, by_url, third = content[0]["source"], content[1]["source"], content[3]["source"]
    assert (first["type"], first["media_type"]) == ("base64", "image/jpeg")
    assert base64.b64decode(first["data"]) == jpeg
    assert by_url == {"type": "url", "url": "https://example.org/a.png"}
    assert third["media_type"] == "image/png"
    with pil.open(io.BytesIO(base64.b64decode(third["data"]))) as shown:
        assert shown.getpixel((0, 0)) == (0, 0, 255)
    assert content[4]["source"] == first


def test_a_broken_image_ends_before_anything_is_sent(stub: ProviderStub) -> None:
    with pytest.raises(DataError):
        AnthropicModel("claude-test", stub.url).prepare(question(Image(b"no image"), "?"))
    assert not stub.seen


@pytest.mark.parametrize(
    ("part", "message"), [(Audio(b"x"), "accepts no audio"), (Video(b"x"), "accepts no videos.*video=frames")]
)
def test_sounds_and_videos_are_refused(stub: ProviderStub, part: Part, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        AnthropicModel("claude-test", stub.url).prepare(question(part))


def test_videos_are_shown_as_frames_on_demand(stub: ProviderStub) -> None:
    clip = Video([pil.new("RGB", (8, 8), colour) for colour in ("red", "green", "blue")])
    model = AnthropicModel("claude-test", stub.url, video="frames", num_frames=2)
    assert model.traits.modalities["video"] is True
    ask(model, question("What moves?", clip))
    content = stub.posts[-1]["messages"][0]["content"]
    assert [block["type"] for block in content] == ["text", "image", "image"]
    assert {block["source"]["media_type"] for block in content[1:]} == {"image/jpeg"}


def test_any_text_can_be_written(stub: ProviderStub) -> None:
    said = "\udc80 \u2028 \x00 ✓"
    assert sent(stub, question(said))["messages"][0]["content"][0]["text"] == said


def test_without_a_limit_the_stated_one_is_sent(stub: ProviderStub) -> None:
    assert sent(stub, question("?"))["max_tokens"] == 4096
    assert sent(stub, question("?"), max_tokens=100)["max_tokens"] == 100


@pytest.mark.parametrize(
    ("thinking", "setting", "max_tokens"),
    [
        (2048, {"type": "enabled", "budget_tokens": 2048}, 2064),
        ("adaptive", {"type": "adaptive"}, 8208),
        ("disabled", {"type": "disabled"}, 16),
        (False, {"type": "disabled"}, 16),
    ],
)
def test_thinking_has_room_of_its_own(stub: ProviderStub, thinking: Any, setting: Any, max_tokens: int) -> None:
    body = sent(stub, question("?", max_new_tokens=16), thinking=thinking)
    assert (body["thinking"], body["max_tokens"]) == (setting, max_tokens)


def test_sampling_settings_that_exclude_each_other(stub: ProviderStub) -> None:
    def case(thinking: Any = None, sampling: bool | None = None, **settings: Any) -> tuple[set[str], set[str]]:
        ask_for = Generate(**settings)
        model = AnthropicModel("claude-test", stub.url, thinking=thinking, sampling=sampling)
        body = json.loads(model.prepare(Request((Message("user", (Text("?"),)),), ask_for)).body)
        return {name for name in ("temperature", "top_p", "top_k") if name in body}, set(model.ignores(ask_for))

    assert case(temperature=0.0, top_p=1.0) == ({"temperature"}, set())
    assert case(temperature=0.7, top_p=0.9) == ({"temperature"}, {"top_p"})
    assert case(temperature=1.0, top_p=0.9, extra={"top_k": 5}) == ({"top_p", "top_k"}, set())
    assert case(thinking=1024, temperature=0.0) == (set(), {"temperature"})
    assert case(thinking=1024, temperature=1.0) == (set(), set())
    assert case(sampling=False, temperature=0.0, extra={"top_k": 5}) == (set(), {"temperature", "top_k"})


def test_what_is_not_taken_is_said_and_not_sent(stub: ProviderStub) -> None:
    extra = {
        "do_sample": True,
        "num_beams": 4,
        "repetition_penalty": 1.0,
        "image_aspect_ratio": "pad",
        "tool_choice": {"type": "any"},
        "extra_body": {"new_field": 1},
    }
    request = question("?", seed=7, temperature=1.0, extra=extra)
    ignored = AnthropicModel("claude-test", stub.url).ignores(request.parameters)
    assert set(ignored) == {"num_beams", "image_aspect_ratio", "seed"}
    assert "no such setting" in ignored["num_beams"]
    body = sent(stub, request, effort="low", extra_body={"service_tier": "auto"})
    assert set(body) == {
        "model", "max_tokens", "messages", "temperature", "tool_choice", "new_field", "service_tier", "output_config"
    }  # fmt: skip
    assert body["output_config"] == {"effort": "low"}
    greedy = Generate(seed=7, temperature=0.0)
    assert AnthropicModel("claude-test", stub.url).ignores(greedy) == {}


def test_betas_travel_in_the_header(stub: ProviderStub) -> None:
    sent(stub, question("?"), betas="one-2025,two-2026")
    assert stub.seen[-1].headers["anthropic-beta"] == "one-2025,two-2026"


def test_reasoning_is_kept_apart(stub: ProviderStub) -> None:
    content = [
        {"type": "thinking", "thinking": "two and two", "signature": "x"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "fo"},
        {"type": "text", "text": "ur"},
    ]
    usage = {
        "input_tokens": 5,
        "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 3,
        "output_tokens": 20,
        "output_tokens_details": {"thinking_tokens": 15},
    }
    found = output(stub, claude_says(content=content, usage=usage))
    assert (found.text, found.reasoning) == ("four", "two and two")
    assert found.usage == Usage(10, 20, 15, 3, 2)
    assert output(stub, claude_says(usage={**usage, "service_tier": "priority"})).usage == Usage(
        10, 20, 15, 3, 2, service_tier="priority"
    )


def test_tool_calls(stub: ProviderStub) -> None:
    content = [{"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 2}}]
    reply = claude_says(content=content, stop_reason="tool_use")
    found = output(stub, reply, extra_body={"tools": [{"name": "add"}]})
    assert (found.text, found.finish_reason) == ("", "tool_calls")
    assert found.calls == (Call("t1", "add", {"a": 2}, '{"a":2}'),)


@pytest.mark.parametrize(
    ("reply", "kind", "what"),
    [
        ({"content": [{"type": "tool_use", "id": "t1"}], "stop_reason": "tool_use"}, "permanent", "tool calls only"),
        ({"content": [], "stop_reason": None}, "transient", "incomplete: neither a text nor why the model stopped"),
        ({"content": [None]}, "permanent", "a block of the content is not an object"),
        ({"content": [{"type": "text"}]}, "permanent", "a block of text is null"),
        ({"content": [{"type": "text", "text": 4}]}, "permanent", "a block of text is a number"),
        ({"content": [{"type": "poem", "lines": []}]}, "permanent", "no block of the content is text"),
        ({"content": "four"}, "transient", "The answer has no content."),
    ],
)
def test_a_broken_answer_is_no_answer(stub: ProviderStub, reply: Any, kind: str, what: str) -> None:
    error = failure(stub, claude_says(**reply))
    assert error.kind == kind
    assert what in error.what


def test_a_model_that_ended_its_turn_without_a_word_has_answered(stub: ProviderStub) -> None:
    assert output(stub, claude_says(content=[])).text == ""
    thinking = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
    assert output(stub, claude_says(content=thinking, stop_reason="max_tokens")).text == ""


@pytest.mark.parametrize(
    "usage", [None, [], "many", {"input_tokens": "12", "output_tokens": [3]}, {"input_tokens": -1}]
)
def test_counts_of_another_form_are_no_counts(stub: ProviderStub, usage: Any) -> None:
    assert output(stub, claude_says(usage=usage)) == Output("four", finish_reason="stop", usage=Usage())


@pytest.mark.parametrize(
    ("told", "finish"),
    [("max_tokens", "length"), ("model_context_window_exceeded", "length"), ("stop_sequence", "stop"), ("new", "new")],
)
def test_finish_reasons(stub: ProviderStub, told: str, finish: str) -> None:
    assert output(stub, claude_says(stop_reason=told)).finish_reason == finish


def test_a_prepared_request_is_tried_again(stub: ProviderStub) -> None:
    fails = iter([True, False])
    stub.script = lambda _: claude_fails(529, "overloaded_error") if next(fails) else claude_says()
    model = AnthropicModel("claude-test", stub.url)
    request = question("?")

    async def twice() -> Response:
        prepared = model.prepare(request)
        with pytest.raises(ModelError) as caught:
            await model.respond_prepared(request, prepared)
        assert caught.value.kind == "transient"
        response = await model.respond_prepared(request, prepared)
        await model.aclose()
        return response

    assert len(asyncio.run(twice()).outputs) == 1
    assert len(stub.posts) == 2


@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (claude_fails(400, "invalid_request_error", "max_tokens: too large"), "permanent", "max_tokens: too large"),
        (claude_fails(401, "authentication_error", f"invalid x-api-key {KEY}"), "permanent", "invalid x-api-key"),
        (claude_fails(403, "permission_error"), "permanent", "403"),
        (claude_fails(404, "not_found_error", "model: claude-test"), "permanent", "model: claude-test"),
        (claude_fails(413, "request_too_large"), "permanent", "longer than the model accepts"),
        (claude_fails(429, "rate_limit_error"), "rate_limit", "429"),
        (claude_fails(500, "api_error"), "transient", "500"),
        (claude_fails(529, "overloaded_error"), "transient", "529"),
        (Reply("<html>Bad gateway</html>", 502, content_type="text/html"), "transient", "502"),
        (Reply(claude_fails(200, "overloaded_error").body), "transient", "as told"),
        (Reply(claude_fails(200, "invalid_request_error").body), "permanent", "as told"),
        (Reply('{"type": "message", "content": [{"ty'), "transient", "not a JSON object"),
        (Reply("<html>Welcome</html>", content_type="text/html"), "transient", "not a JSON object"),
        (Reply("[]"), "transient", "not a JSON object"),
        (Reply({"type": "message"}), "transient", "no content"),
        (Reply(misdeed="reset"), "transient", "failed in transit"),
        (Reply(claude_says("a long answer").body, misdeed="truncate"), "transient", "failed in transit"),
        (claude_says(stop_reason="refusal", stop_details={"category": "bio"}), "refused", "declined: bio"),
    ],
)
def test_failures_are_classified_and_not_repeated_here(
    stub: ProviderStub, reply: Reply, kind: str, message: str
) -> None:
    error = failure(stub, reply)
    assert error.kind == kind
    assert message in str(error)
    assert len(stub.posts) == 1
    assert error.where == "anthropic:claude-test"


def test_retry_after_is_heeded(stub: ProviderStub) -> None:
    assert failure(stub, claude_fails(429, "rate_limit_error", **{"Retry-After": "17"})).retry_after_s == 17
    assert failure(stub, claude_fails(429, "rate_limit_error")).retry_after_s is None


def test_an_unreachable_server_may_come_back(stub: ProviderStub) -> None:
    with pytest.raises(ModelError, match="failed in transit") as caught:
        ask(AnthropicModel("claude-test", "http://127.0.0.1:1"), question("?"))
    assert caught.value.kind == "transient"


def test_sampling_refused_without_a_preflight_says_what_to_do(stub: ProviderStub) -> None:
    error = failure(stub, claude_fails(400, "invalid_request_error", "`temperature` is deprecated for this model."))
    assert "sampling=false" in str(error)


@pytest.mark.filterwarnings("error")
def test_a_hanging_request_can_be_cancelled(stub: ProviderStub, caplog: pytest.LogCaptureFixture) -> None:
    stub.script = lambda seen: Reply(misdeed="hang") if "hang" in json.dumps(seen.body) else claude_says()
    model = AnthropicModel("claude-test", stub.url)

    async def one_hangs() -> Response:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(model.respond(question("hang")), 0.3)
        response = await model.respond(question("2+2?"))
        await model.aclose()
        return response

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(one_hangs()).text == "four"
    assert not caplog.records


def test_other_asks_are_refused(stub: ProviderStub) -> None:
    model = AnthropicModel("claude-test", stub.url)
    assert model.traits.requests["loglikelihood"] is False
    with pytest.raises(ModelError, match="returns text only, not loglikelihood"):
        model.prepare(Request((Message("user", (Text("?"),)),), Loglikelihood((" a",))))


@pytest.mark.parametrize(
    ("messages", "match"),
    [
        ((Message("user", (Text(""),)),), "nothing to send"),
        ((Message("user", (Text(" \n"),)),), "nothing to send"),
        ((Message("system", (Image(b"x"),)), Message("user", (Text("?"),))), "no media in a system message"),
    ],
)
def test_messages_that_cannot_be_sent(stub: ProviderStub, messages: tuple[Message, ...], match: str) -> None:
    with pytest.raises(ModelError, match=match):
        AnthropicModel("claude-test", stub.url).prepare(Request(messages, Generate()))


def test_the_key_is_shown_nowhere(stub: ProviderStub) -> None:
    model = AnthropicModel("claude-test", stub.url, extra_body={"metadata": {"user_id": "u"}})
    assert KEY not in repr(model) + str(canonical(model.identity)) + repr(model.traits)
    assert stub.url not in str(canonical(model.identity))


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"thinking": 100}, "thinking must be 1024 tokens or more"),
        ({"thinking": "much"}, "not 'much'"),
        ({"video": "whole"}, "video must be 'frames' or empty"),
        ({"extra_body": "a=1"}, "extra_body must be a mapping"),
    ],
)
def test_wrong_arguments(arguments: Any, match: str) -> None:
    with pytest.raises(PlanError, match=match):
        AnthropicModel("claude-test", **arguments)


def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(PlanError, match="ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN is not set"):
        AnthropicModel("claude-test")
    with pytest.raises(PlanError, match="MY_KEY"):
        AnthropicModel("claude-test", api_key_env="MY_KEY")


def test_a_token_in_place_of_a_key(stub: ProviderStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "a-token")
    sent(stub, question("?"))
    assert stub.seen[-1].headers["Authorization"] == "Bearer a-token"


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polymeter.models.endpoint.hosted.find_spec", lambda _: None)
    with pytest.raises(PlanError, match=r"'anthropic'.*\[anthropic\]"):
        AnthropicModel("claude-test")


class TestPreflight:
    """The request ahead of a run."""

    def check(self, stub: ProviderStub, script: Callable[[Seen], Reply], **arguments: Any) -> AnthropicModel:
        stub.script = script
        model = AnthropicModel("claude-test", stub.url, **arguments)
        asyncio.run(model.preflight())
        return model

    def test_all_is_well(self, stub: ProviderStub) -> None:
        model = self.check(stub, lambda _: claude_says())
        assert [seen.body["max_tokens"] for seen in stub.seen] == [1]
        assert model.ignores(Generate(temperature=0.0)) == {}

    def test_it_finds_out_that_sampling_is_refused(self, stub: ProviderStub) -> None:
        refusal = claude_fails(400, "invalid_request_error", "`temperature` is deprecated for this model.")
        model = self.check(stub, lambda seen: refusal if "temperature" in seen.body else claude_says())
        request = question("?", temperature=0.0)
        assert "accepts no sampling settings" in model.ignores(request.parameters)["temperature"]
        assert ask(model, request)[0].text == "four"
        assert "temperature" not in stub.posts[-1]

    @pytest.mark.parametrize("status", [429, 500, 529])
    def test_a_busy_provider_is_no_reason(self, stub: ProviderStub, status: int) -> None:
        self.check(stub, lambda _: claude_fails(status, "overloaded_error"))

    def test_a_wrong_key(self, stub: ProviderStub) -> None:
        with pytest.raises(PlanError, match=r"invalid x-api-key.*Check the key in ANTHROPIC_API_KEY"):
            self.check(stub, lambda _: claude_fails(401, "authentication_error", "invalid x-api-key"))

    def test_an_empty_account(self, stub: ProviderStub) -> None:
        message = "Your credit balance is too low to access the API."
        with pytest.raises(PlanError, match=message):
            self.check(stub, lambda _: claude_fails(400, "invalid_request_error", message))

    def test_an_unknown_model_names_the_nearest(self, stub: ProviderStub) -> None:
        info = {"type": "model", "display_name": "x", "created_at": "2026-01-01T00:00:00Z", "lifecycle": "active"}
        names = ("claude-test-1", "claude-other-9")
        stub.models = lambda _: Reply({"data": [{"id": name, **info} for name in names], "has_more": False})
        with pytest.raises(PlanError, match="Did you mean 'claude-test-1'"):
            self.check(stub, lambda _: claude_fails(404, "not_found_error", "model: claude-test"))

    def test_an_unknown_model_where_nothing_is_listed(self, stub: ProviderStub) -> None:
        stub.models = lambda _: Reply("nothing here", 404, content_type="text/plain")
        with pytest.raises(PlanError, match="Check the model's name and the base URL"):
            self.check(stub, lambda _: claude_fails(404, "not_found_error", "model: claude-test"))

    def test_nobody_there(self) -> None:
        with pytest.raises(PlanError, match=r"Anthropic cannot be reached.*base_url"):
            asyncio.run(AnthropicModel("claude-test", "http://127.0.0.1:1").preflight())


def test_a_run_from_the_command_line(stub: ProviderStub, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "--model", "anthropic:claude-test", "--model-args", f"base_url={stub.url}", "--tasks"]
    arguments += ["demo_signs", "--limit", "3", "--output", str(tmp_path / "run")]
    assert main(arguments) == 0
    content = stub.posts[-1]["messages"][0]["content"]
    assert "image" in {block["type"] for block in content}
    written = "".join(file.read_text() for file in (tmp_path / "run").rglob("*.json*"))
    assert "claude-test" in written
    assert KEY not in written + "".join(capsys.readouterr())


def test_frames_have_their_times_and_no_sound(stub: ProviderStub, tmp_path: Path) -> None:
    pytest.importorskip("av")
    rule = VideoRule(rule="cut", frames=2, timestamps="text", audio="track")
    body = sent(stub, question(Video(clip(tmp_path / "a.mp4"), rule=rule), "?"), video="frames")
    assert [block.get("text") or block["source"]["media_type"] for block in body["messages"][0]["content"]] == [
        "<0.0 seconds>",
        "image/jpeg",
        "<1.8 seconds>",
        "image/jpeg",
        "?",
    ]


def test_the_served_version_is_noted(stub: ProviderStub) -> None:
    stub.script = lambda _: claude_says(model="claude-sonnet-4-5-20250929")
    model = AnthropicModel("claude-sonnet-4-5", stub.url)
    assert (model.may_move, model.served) == (True, "")
    ask(model, question("2+2?"))
    assert model.served == "claude-sonnet-4-5-20250929"
    assert not AnthropicModel("claude-sonnet-4-5-20250929", stub.url).may_move
