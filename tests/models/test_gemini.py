"""Gemini models against a local stand-in for ``generateContent``: what is sent, how answers and failures are read."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import logging
import wave
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as pil

from polymeter.cli.main import main
from polymeter.core.acting.tools import Call
from polymeter.core.content import Audio, Image, Text, Video
from polymeter.core.errors import DataError, ModelError, PlanError
from polymeter.core.identity import canonical
from polymeter.core.media.showing import VideoRule
from polymeter.core.request import Generate, Loglikelihood, Message, Output, Request, Response, Usage
from polymeter.models.gemini import GeminiModel, wire
from tests.helpers.clips import clip
from tests.helpers.provider_stubs import ProviderStub, Reply, Seen, ask, gemini_fails, gemini_says, picture, question

KEY = "AIza-this-is-the-secret"
MP4 = b"\x00\x00\x00\x18ftypisom-not-really"

pytest.importorskip("google.genai")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", KEY)


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderStub]:
    with ProviderStub(lambda _: gemini_says()) as stub:
        yield stub


@pytest.fixture
def stub(server: ProviderStub) -> ProviderStub:
    server.script = lambda _: gemini_says()
    server.models = lambda _: Reply({"models": []})
    server.seen.clear()
    return server


def sent(stub: ProviderStub, request: Request, **arguments: Any) -> Any:
    ask(GeminiModel("gemini-test", stub.url, **arguments), request)
    return stub.posts[-1]


def parts_of(body: Any) -> list[Any]:
    return list(body["contents"][0]["parts"])


def output(stub: ProviderStub, reply: Reply, **arguments: Any) -> Output:
    stub.script = lambda _: reply
    return ask(GeminiModel("gemini-test", stub.url, **arguments), question("2+2?"))[0].outputs[0]


def failure(stub: ProviderStub, reply: Reply) -> ModelError:
    stub.script = lambda _: reply
    with pytest.raises(ModelError) as caught:
        ask(GeminiModel("gemini-test", stub.url), question("2+2?"))
    assert KEY not in str(caught.value)
    return caught.value


def candidate(*parts: Any, reason: str = "STOP") -> Reply:
    return gemini_says(candidates=[{"content": {"role": "model", "parts": list(parts)}, "finishReason": reason}])


def test_a_text_is_sent_and_answered(stub: ProviderStub) -> None:
    model = GeminiModel("gemini-test", stub.url, api_version="v1beta")
    request = question("2+2?", max_new_tokens=16, temperature=0.0, top_p=0.9, stop=("a", "b", "c", "d", "e", "f"))
    response = ask(model, request)[0]
    assert response.text == "four"
    assert response.outputs[0].finish_reason == "stop"
    assert response.outputs[0].usage == Usage(12, 3)
    (seen,) = stub.seen
    assert (seen.method, seen.path) == ("POST", "/v1beta/models/gemini-test:generateContent")
    assert seen.headers["x-goog-api-key"] == KEY
    assert seen.body == {
        "contents": [{"role": "user", "parts": [{"text": "2+2?"}]}],
        "generationConfig": {
            "maxOutputTokens": 16,
            "temperature": 0.0,
            "topP": 0.9,
            "stopSequences": ["a", "b", "c", "d", "e"],
        },
    }


def test_system_messages_are_apart_and_turns_alternate(stub: ProviderStub) -> None:
    messages = (
        Message("system", (Text("Be brief."),)),
        Message("user", (Text("one "), Text("two"))),
        Message("user", (Text("three"),)),
        Message("assistant", (Text("four"),)),
        Message("user", (Text("five"),)),
    )
    body = sent(stub, Request(messages, Generate()))
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert [(turn["role"], [part["text"] for part in turn["parts"]]) for turn in body["contents"]] == [
        ("user", ["one two", "three"]),
        ("model", ["four"]),
        ("user", ["five"]),
    ]


def test_images_keep_their_order_and_their_bytes(stub: ProviderStub) -> None:
    jpeg, gif = picture("JPEG"), picture("GIF", "blue")
    request = question(Image(jpeg), "one", Image("https://example.org/a.png?x=1"), Image(gif), Image(jpeg))
    first, text, by_address, third, last = parts_of(sent(stub, request))
    assert first["inlineData"]["mimeType"] == "image/jpeg"
    assert base64.b64decode(first["inlineData"]["data"]) == jpeg
    assert text == {"text": "one"}
    assert by_address == {"fileData": {"fileUri": "https://example.org/a.png?x=1", "mimeType": "image/png"}}
    assert third["inlineData"]["mimeType"] == "image/png"
    with pil.open(io.BytesIO(base64.b64decode(third["inlineData"]["data"]))) as shown:
        assert shown.convert("RGB").getpixel((0, 0)) == (0, 0, 255)
    assert last == first


def test_any_text_can_be_written(stub: ProviderStub) -> None:
    said = "\udc80 \u2028 \x00 ✓"
    assert parts_of(sent(stub, question(said))) == [{"text": said}]


def test_sounds(stub: ProviderStub) -> None:
    samples = Audio({"array": np.zeros(80, dtype="float32"), "sampling_rate": 8000})
    made, named = parts_of(sent(stub, question(samples, Audio(b"ID3 not really"))))
    assert made["inlineData"]["mimeType"] == "audio/wav"
    with wave.open(io.BytesIO(base64.b64decode(made["inlineData"]["data"]))) as file:
        assert (file.getframerate(), file.getnframes()) == (8000, 80)
    assert named["inlineData"] == {"mimeType": "audio/mp3", "data": base64.b64encode(b"ID3 not really").decode()}


def test_videos_whole_or_as_frames(stub: ProviderStub, tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(MP4)
    clip = Video(path, start_s=1.5, end_s=4)
    assert parts_of(sent(stub, question(clip), fps=2)) == [
        {
            "inlineData": {"mimeType": "video/mp4", "data": base64.b64encode(MP4).decode()},
            "videoMetadata": {"startOffset": "1.5s", "endOffset": "4s", "fps": 2},
        }
    ]
    pictures = Video([pil.new("RGB", (8, 8), colour) for colour in ("red", "green", "blue")])
    frames = parts_of(sent(stub, question(pictures), video="frames", num_frames=2))
    assert [frame["inlineData"]["mimeType"] for frame in frames] == ["image/jpeg"] * 2
    with pytest.raises(DataError, match="video=frames"):
        GeminiModel("gemini-test").prepare(question(pictures))


def test_uploaded_files_are_named(stub: ProviderStub) -> None:
    request = question(
        Video("gs://bucket/clip.mp4"), Video("https://youtu.be/x"), Video({"url": "https://a.org/b.webm"})
    )
    assert [part["fileData"] for part in parts_of(sent(stub, request))] == [
        {"fileUri": "gs://bucket/clip.mp4", "mimeType": "video/mp4"},
        {"fileUri": "https://youtu.be/x"},
        {"fileUri": "https://a.org/b.webm", "mimeType": "video/webm"},
    ]


def test_the_kind_of_a_file_by_address_is_told_by_its_name_whatever_the_machine_knows(
    stub: ProviderStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "guess_type", lambda name: (None, None))
    sent_parts = parts_of(sent(stub, question(Image("https://example.org/A.WEBP?x=1"))))
    assert sent_parts == [{"fileData": {"fileUri": "https://example.org/A.WEBP?x=1", "mimeType": "image/webp"}}]


def test_what_is_too_large_to_send_inline_says_so(stub: ProviderStub) -> None:
    clip = Video(MP4 + bytes(3 << 20))
    with pytest.raises(DataError, match=r"need 4\.0 MiB\. Gemini's API accepts 3 MiB in one request.*max_image_side"):
        GeminiModel("gemini-test", stub.url, max_request_mb=3).prepare(question(clip))
    assert not stub.seen


def test_a_broken_image_ends_before_anything_is_sent(stub: ProviderStub) -> None:
    with pytest.raises(DataError):
        GeminiModel("gemini-test", stub.url).prepare(question(Image(b"no image"), "?"))
    assert not stub.seen


@pytest.mark.parametrize(
    ("thinking", "setting", "most"),
    [
        (None, None, 16),
        (0, {"thinkingBudget": 0}, 16),
        (512, {"thinkingBudget": 512, "includeThoughts": True}, 528),
        (-1, {"thinkingBudget": -1, "includeThoughts": True}, 8208),
        (True, {"thinkingBudget": -1, "includeThoughts": True}, 8208),
        ("low", {"thinkingLevel": "LOW", "includeThoughts": True}, 8208),
    ],
)
def test_thinking_has_room_of_its_own(stub: ProviderStub, thinking: Any, setting: Any, most: int) -> None:
    settings = sent(stub, question("?", max_new_tokens=16), thinking=thinking)["generationConfig"]
    assert (settings.get("thinkingConfig"), settings["maxOutputTokens"]) == (setting, most)


def test_settings_go_where_the_api_wants_them(stub: ProviderStub) -> None:
    schema = {"type": "object", "properties": {"some_name": {"type": "string"}}}
    extra = {
        "top_k": 5,
        "response_mime_type": "application/json",
        "response_json_schema": schema,
        "tool_config": {"function_calling_config": {"mode": "NONE"}},
        "num_beams": 4,
        "do_sample": True,
        "extra_body": {"newField": 1},
    }
    request = question("?", extra=extra)
    assert set(GeminiModel("gemini-test", stub.url).ignores(request.parameters)) == {"num_beams"}
    body = sent(stub, request, safety="BLOCK_NONE", extra_body={"labels": {"a": "b"}})
    assert body["generationConfig"] == {
        "topK": 5,
        "responseMimeType": "application/json",
        "responseJsonSchema": schema,
    }
    assert body["toolConfig"] == {"function_calling_config": {"mode": "NONE"}}
    assert {setting["threshold"] for setting in body["safetySettings"]} == {"BLOCK_NONE"}
    assert (body["newField"], body["labels"]) == (1, {"a": "b"})
    assert set(body) == {"contents", "generationConfig", "toolConfig", "safetySettings", "newField", "labels"}


def test_an_answer_has_the_seed_of_its_request(stub: ProviderStub) -> None:
    stub.script = lambda seen: gemini_says(f"seed {seen.body['generationConfig'].get('seed')}")
    responses = ask(GeminiModel("gemini-test", stub.url), *(question("?", seed=seed) for seed in (7, 8, None)))
    assert [response.text for response in responses] == ["seed 7", "seed 8", "seed None"]


def test_thoughts_are_kept_apart(stub: ProviderStub) -> None:
    reply = candidate({"text": "two and two", "thought": True}, {"text": "fo"}, {"text": "ur"})
    usage = {
        "promptTokenCount": 10,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 20,
        "cachedContentTokenCount": 4,
    }
    found = output(stub, Reply({**reply.body, "usageMetadata": usage}))
    assert (found.text, found.reasoning) == ("four", "two and two")
    assert found.usage == Usage(10, 23, 20, 4)


def test_thinking_that_took_all_tokens_is_an_answer(stub: ProviderStub) -> None:
    found = output(stub, gemini_says(candidates=[{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]))
    assert (found.text, found.finish_reason) == ("", "length")


@pytest.mark.parametrize(
    ("reply", "kind", "what"),
    [
        (candidate({"functionCall": {"name": "add"}}), "permanent", "tool calls only"),
        (candidate({"text": 4}), "permanent", "the text of a part is a number"),
        (candidate(None), "permanent", "not a list of objects"),
        (candidate({"executableCode": {"code": "2+2"}}), "permanent", "no part of the content is text"),
        (candidate(reason="MALFORMED_FUNCTION_CALL"), "permanent", "stopped without an answer: MALFORMED_FUNCTION"),
        (gemini_says(candidates=[{}]), "transient", "neither a text nor why the model stopped"),
        (gemini_says(candidates=[None]), "transient", "a candidate is null"),
        (gemini_says(candidates={}), "transient", "no candidates"),
        (gemini_says(candidates=[{"content": "four"}]), "permanent", "content is a text"),
    ],
)
def test_a_broken_answer_is_no_answer(stub: ProviderStub, reply: Reply, kind: str, what: str) -> None:
    error = failure(stub, reply)
    assert error.kind == kind
    assert what in error.what


def test_tokens_of_media_are_counted_apart(stub: ProviderStub) -> None:
    sent = [{"modality": "TEXT", "tokenCount": 2}, {"modality": "AUDIO", "tokenCount": 7}]
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 3, "promptTokensDetails": sent}
    made = [{"modality": "IMAGE", "tokenCount": 1}]
    found = output(stub, gemini_says(usageMetadata={**usage, "candidatesTokensDetails": made})).usage
    assert found == Usage(9, 3, audio_tokens=7, image_tokens=0, image_output_tokens=1)
    assert output(stub, gemini_says(usageMetadata=usage | {"promptTokensDetails": "many"})).usage == Usage(9, 3)


@pytest.mark.parametrize("usage", [None, [], "many", {"promptTokenCount": "12", "candidatesTokenCount": 0.5}])
def test_counts_of_another_form_are_no_counts(stub: ProviderStub, usage: Any) -> None:
    found = output(stub, gemini_says(usageMetadata=usage))
    assert (found.text, found.usage) == ("four", Usage())


def test_tool_calls(stub: ProviderStub) -> None:
    reply = candidate({"functionCall": {"name": "add", "args": {"a": 2}}})
    found = output(stub, reply, extra_body={"tools": [{"functionDeclarations": []}]})
    assert (found.text, found.finish_reason) == ("", "tool_calls")
    assert found.calls == (Call("", "add", {"a": 2}, '{"a":2}'),)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}), "prompt was blocked: PROHIBITED_CONTENT"),
        (candidate({"text": "half"}, reason="SAFETY"), "answer was blocked: SAFETY"),
        (candidate(reason="RECITATION"), "answer was blocked: RECITATION"),
        (candidate(reason="SPII"), "answer was blocked: SPII"),
    ],
)
def test_refusals(stub: ProviderStub, reply: Reply, message: str) -> None:
    error = failure(stub, reply)
    assert error.kind == "refused"
    assert message in str(error)


@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (gemini_fails(400, "INVALID_ARGUMENT", "no such field"), "permanent", "no such field"),
        (gemini_fails(400, "INVALID_ARGUMENT", f"API key not valid: {KEY}"), "permanent", "API key not valid"),
        (gemini_fails(403, "PERMISSION_DENIED"), "permanent", "403"),
        (gemini_fails(404, "NOT_FOUND"), "permanent", "404"),
        (gemini_fails(429, "RESOURCE_EXHAUSTED"), "rate_limit", "429"),
        (gemini_fails(500, "INTERNAL"), "transient", "500"),
        (gemini_fails(503, "UNAVAILABLE", "overloaded"), "transient", "overloaded"),
        (gemini_fails(504, "DEADLINE_EXCEEDED"), "transient", "504"),
        (Reply("<html>Bad gateway</html>", 502, content_type="text/html"), "transient", "502"),
        (Reply("{broken", 502), "transient", "cannot be read"),
        (Reply(gemini_fails(200, "UNAVAILABLE").body), "transient", "as told"),
        (Reply('{"candidates": [{"con'), "transient", "not a JSON object"),
        (Reply("<html>Welcome</html>", content_type="text/html"), "transient", "not a JSON object"),
        (Reply("", content_type="text/plain"), "transient", "not a JSON object"),
        (Reply({}), "transient", "no candidates"),
        (candidate(reason="OTHER"), "transient", "without an answer: OTHER"),
        (Reply(misdeed="reset"), "transient", "failed in transit"),
        (Reply(gemini_says("a long answer").body, misdeed="truncate"), "transient", "failed in transit"),
    ],
)
def test_failures_are_classified_and_not_repeated_here(
    stub: ProviderStub, reply: Reply, kind: str, message: str
) -> None:
    error = failure(stub, reply)
    assert error.kind == kind
    assert message in str(error)
    assert len(stub.posts) == 1
    assert error.where == "gemini:gemini-test"


def test_the_wait_that_is_asked_for_is_heeded(stub: ProviderStub) -> None:
    told = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    assert failure(stub, gemini_fails(429, "RESOURCE_EXHAUSTED", "slow down", told)).retry_after_s == 34.5
    assert failure(stub, gemini_fails(503, "UNAVAILABLE", **{"Retry-After": "9"})).retry_after_s == 9
    assert failure(stub, gemini_fails(429, "RESOURCE_EXHAUSTED")).retry_after_s is None


def test_an_unreachable_server_may_come_back() -> None:
    with pytest.raises(ModelError, match="failed in transit") as caught:
        ask(GeminiModel("gemini-test", "http://127.0.0.1:1"), question("?"))
    assert caught.value.kind == "transient"


@pytest.mark.filterwarnings("error")
def test_a_hanging_request_can_be_cancelled(stub: ProviderStub, caplog: pytest.LogCaptureFixture) -> None:
    stub.script = lambda seen: Reply(misdeed="hang") if "hang" in json.dumps(seen.body) else gemini_says()
    model = GeminiModel("gemini-test", stub.url)

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
    with pytest.raises(ModelError, match="returns text only, not loglikelihood"):
        GeminiModel("gemini-test", stub.url).prepare(Request((Message("user", (Text("?"),)),), Loglikelihood((" a",))))


def test_the_key_is_shown_nowhere(stub: ProviderStub) -> None:
    model = GeminiModel("gemini-test", stub.url)
    assert KEY not in repr(model) + str(canonical(model.identity)) + repr(model.traits)
    assert stub.url not in str(canonical(model.identity))


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"video": "url"}, "video must be 'whole' or 'frames'"),
        ({"project": "p"}, "vertexai=true"),
        ({"extra_body": "a=1"}, "extra_body must be a mapping"),
    ],
)
def test_wrong_arguments(arguments: Any, match: str) -> None:
    with pytest.raises(PlanError, match=match):
        GeminiModel("gemini-test", **arguments)


def test_a_missing_key_names_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_API_KEY")
    with pytest.raises(PlanError, match="GOOGLE_API_KEY or GEMINI_API_KEY is not set"):
        GeminiModel("gemini-test")
    with pytest.raises(PlanError, match="MY_KEY"):
        GeminiModel("gemini-test", api_key_env="MY_KEY")
    GeminiModel("gemini-test", vertexai=True, project="p", location="global")


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polymeter.models.endpoint.hosted.find_spec", lambda _: None)
    with pytest.raises(PlanError, match=r"'google-genai'.*\[gemini\]"):
        GeminiModel("gemini-test")


class TestPreflight:
    """The request ahead of a run."""

    def check(self, stub: ProviderStub, script: Callable[[Seen], Reply]) -> None:
        stub.script = script
        asyncio.run(GeminiModel("gemini-test", stub.url).preflight())

    def test_all_is_well(self, stub: ProviderStub) -> None:
        self.check(stub, lambda _: gemini_says())
        assert [seen.body["generationConfig"] for seen in stub.seen] == [{"maxOutputTokens": 1}]

    @pytest.mark.parametrize("status", [429, 503])
    def test_a_busy_provider_is_no_reason(self, stub: ProviderStub, status: int) -> None:
        self.check(stub, lambda _: gemini_fails(status, "UNAVAILABLE"))

    @pytest.mark.parametrize(
        "reply",
        [gemini_fails(400, "INVALID_ARGUMENT", "API key not valid."), gemini_fails(403, "PERMISSION_DENIED", "no")],
    )
    def test_a_wrong_key(self, stub: ProviderStub, reply: Reply) -> None:
        with pytest.raises(PlanError, match="Check the key in GOOGLE_API_KEY or GEMINI_API_KEY"):
            self.check(stub, lambda _: reply)

    def test_an_unknown_model_names_the_nearest(self, stub: ProviderStub) -> None:
        names = ("models/gemini-test-2", "models/other")
        stub.models = lambda _: Reply({"models": [{"name": name} for name in names]})
        with pytest.raises(PlanError, match="Did you mean 'gemini-test-2'"):
            self.check(stub, lambda _: gemini_fails(404, "NOT_FOUND", "models/gemini-test is not found"))

    def test_an_unknown_model_where_nothing_is_listed(self, stub: ProviderStub) -> None:
        stub.models = lambda _: Reply("nothing here", 404, content_type="text/plain")
        with pytest.raises(PlanError, match="Check the model's name and the base URL"):
            self.check(stub, lambda _: gemini_fails(404, "NOT_FOUND", "models/gemini-test is not found"))

    def test_nobody_there(self) -> None:
        with pytest.raises(PlanError, match=r"Gemini cannot be reached.*base_url"):
            asyncio.run(GeminiModel("gemini-test", "http://127.0.0.1:1").preflight())


def test_a_run_from_the_command_line(stub: ProviderStub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "--model", "gemini:gemini-test", "--model-args", f"base_url={stub.url}", "--tasks"]
    arguments += ["demo_signs", "--limit", "3", "--output", str(tmp_path / "run")]
    assert main(arguments) == 0
    assert any("inlineData" in part for part in parts_of(stub.posts[-1]))
    written = "".join(file.read_text() for file in (tmp_path / "run").rglob("*.json*"))
    assert "gemini-test" in written
    assert KEY not in written + "".join(capsys.readouterr())


def test_a_video_is_whole_as_long_as_the_api_follows_its_rule(stub: ProviderStub, tmp_path: Path) -> None:
    pytest.importorskip("av")
    film = clip(tmp_path / "a.mp4")

    def shown(**rule: Any) -> list[Any]:
        return parts_of(sent(stub, question(Video(film, rule=VideoRule(**rule)), "?")))[:-1]

    (whole,) = shown(fps=2, audio="track")
    assert (whole["inlineData"]["mimeType"], whole["videoMetadata"]) == ("video/mp4", {"fps": 2})
    far = Video("https://a.org/b.mp4", rule=VideoRule(fps=2))
    for video, own, rule in (
        (Video(film, rule=VideoRule(audio="track")), 4, {"audio": "track", "fps": 4}),
        (far, 4, {"fps": 2}),
        (Video("https://a.org/b.mp4"), None, {}),
    ):
        sent(stub, question(video), fps=own)
        assert video.sent is not None
        assert (video.sent.rule, video.sent.by) == (rule, "the endpoint")
    mute = shown(fps=2, audio="none")
    assert {piece["inlineData"]["mimeType"] for piece in mute} == {"image/jpeg"}, "a whole one has its sound"
    frames = shown(rule="cut", frames=2, timestamps="text", audio="track")
    assert [piece.get("text") or piece["inlineData"]["mimeType"] for piece in frames] == [
        "<0.0 seconds>",
        "image/jpeg",
        "<1.8 seconds>",
        "image/jpeg",
        "audio/wav",
    ]


def test_subtitles_stand_behind_a_whole_video_and_between_frames(stub: ProviderStub, tmp_path: Path) -> None:
    pytest.importorskip("av")
    film, cues = clip(tmp_path / "a.mp4"), "00:00:01,000 --> 00:00:01,500\nHello\n"

    def shown(**rule: Any) -> list[str]:
        video = Video(film, rule=VideoRule(**rule), subtitles=cues)
        found = parts_of(sent(stub, question(video, "?")))[:-1]
        assert video.sent is not None
        assert video.sent.sent["subtitles"]["cues"] == 1
        return [piece.get("text") or piece["inlineData"]["mimeType"] for piece in found]

    assert shown(subtitles="whole", subtitles_from="a") == ["video/mp4", "Subtitles of the video:\nHello\n"]
    assert shown(subtitles="interleaved", frames=2) == ["image/jpeg", "Hello\n", "image/jpeg"]
    at_frames = shown(subtitles="at_frames", frames=8)
    assert at_frames == [*["image/jpeg"] * 8, "Subtitles of the video:\nHello\n"], "its times are known here alone"


def test_the_served_version_is_noted(stub: ProviderStub) -> None:
    stub.script = lambda _: gemini_says(modelVersion="gemini-pro-002")
    model = GeminiModel("gemini-pro", stub.url)
    assert (model.may_move, model.served) == (True, "")
    ask(model, question("2+2?"))
    assert model.served == "gemini-pro-002"
    assert not GeminiModel("gemini-pro-002", stub.url).may_move
