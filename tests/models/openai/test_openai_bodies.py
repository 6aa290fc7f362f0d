"""What is sent to an OpenAI-compatible endpoint, exactly."""

from __future__ import annotations

import asyncio
import base64
import io
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pictures

from polymeter.core.content import Audio, Given, Image, Part, Text, Video
from polymeter.core.errors import DataError, ModelError
from polymeter.core.identity import request_fingerprint
from polymeter.core.media.showing import VideoRule
from polymeter.core.request import Generate, GenerateImage, Loglikelihood, Message, Request, Response
from polymeter.core.settings.repeats import repeats_of
from polymeter.data.audio import wav_bytes
from polymeter.models.endpoint.media import MediaEncoder
from polymeter.models.openai import OpenAIModel
from tests.helpers.clips import clip
from tests.helpers.openai_stub import OpenAIStub, Received, Reply, chat, failure

GREEDY = Generate(max_new_tokens=5, temperature=0.0)


def jpeg(colour: str = "red") -> bytes:
    buffer = io.BytesIO()
    Pictures.new("RGB", (8, 4), colour).save(buffer, "JPEG")
    return buffer.getvalue()


def data_url(data: bytes, mime: str = "image/jpeg") -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def asked(*parts: Part | str, ask: Any = GREEDY, system: str = "") -> Request:
    user = Message("user", tuple(Text(part) if isinstance(part, str) else part for part in parts))
    return Request((Message("system", (Text(system),)), user) if system else (user,), ask)


def respond(model: OpenAIModel, *requests: Request) -> list[Response]:
    """Answers, as the engine gets them: prepared on a thread, asked on one loop, closed."""

    async def run() -> list[Response]:
        try:
            prepared = [model.prepare(request) for request in requests]
            pairs = zip(requests, prepared, strict=True)
            return [await model.respond_prepared(request, made) for request, made in pairs]
        finally:
            await model.aclose()

    return asyncio.run(run())


def body_of(request: Request, **args: Any) -> dict[str, Any]:
    """The one body that a request is sent as."""
    with OpenAIStub() as stub:
        [response] = respond(OpenAIModel("m", base_url=stub.base_url, **args), request)
        assert response.text == "ok"
        [body] = stub.bodies
        return body


def parts_of(*parts: Part | str, **args: Any) -> Any:
    return body_of(asked(*parts), **args)["messages"][0]["content"]


def test_texts_of_a_list_are_items_and_the_request_stays_the_same() -> None:
    texts = (Text("first"), Text("second"))
    listed, joined = (Request((Message("user", texts, is_listed=is_listed),), GREEDY) for is_listed in (True, False))
    assert body_of(listed)["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "first"}, {"type": "text", "text": "second"}]}
    ]
    assert body_of(joined)["messages"] == [{"role": "user", "content": "firstsecond"}]
    alone = Request((Message("user", texts[:1], is_listed=True),), GREEDY)
    assert body_of(alone)["messages"] == [{"role": "user", "content": "first"}]
    assert request_fingerprint(listed) == request_fingerprint(joined)
    assert listed == joined


def test_repeats_share_one_text_and_nothing_keeps_it() -> None:
    model = OpenAIModel("m", base_url="http://127.0.0.1:9/v1")
    request = asked(Image(jpeg()), "What is it?")
    first, second = [model.prepare(repeat) for repeat in repeats_of(request, (1, 2))]
    assert first.content is second.content
    assert model.prepare(asked(Image(jpeg()), "What is it?")).content is not first.content
    kept = weakref.ref(first.content)
    del first, second
    assert kept() is None


def test_text() -> None:
    with OpenAIStub() as stub:
        respond(OpenAIModel("org/m", base_url=stub.base_url), asked("Wie groß?", " 5\ud800"))
        [received] = stub.received
    assert received.path == "/v1/chat/completions"
    assert received.headers["Content-Type"] == "application/json"
    assert "Authorization" not in received.headers
    assert received.body == {
        "model": "org/m",
        "messages": [{"role": "user", "content": "Wie groß? 5\ud800"}],
        "temperature": 0.0,
        "max_tokens": 5,
    }


def test_media_stand_in_their_order() -> None:
    red, blue = jpeg(), jpeg("blue")
    assert parts_of("a", Image(red), "b", Image(blue), Image(red), "c") == [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": data_url(red)}},
        {"type": "text", "text": "b"},
        {"type": "image_url", "image_url": {"url": data_url(blue)}},
        {"type": "image_url", "image_url": {"url": data_url(red)}},
        {"type": "text", "text": "c"},
    ]


def test_urls_are_passed_on() -> None:
    url = 'https://example.org/a"b.jpg'
    assert parts_of(Image(url), Audio(url), image_detail="low") == [
        {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
        {"type": "audio_url", "audio_url": {"url": url}},
    ]
    assert request_fingerprint(asked(Image(url))) != request_fingerprint(asked(Image(url + "2")))
    assert parts_of(Video(url), video="url") == [{"type": "video_url", "video_url": {"url": url}}]


@pytest.mark.parametrize(
    ("written", "named", "sent"),
    [("low", "", {"detail": "low"}), ("low", "high", {"detail": "high"}), ("fine", "", {}), (None, "", {})],
)
def test_the_detail_that_stands_beside_an_image(written: str | None, named: str, sent: dict[str, str]) -> None:
    red = jpeg()
    image = Image(red, given=Given(item={"type": "image", "detail": written}))
    (part,) = parts_of(image, image_detail=named)
    assert part["image_url"] == {"url": data_url(red), **sent}


def test_conversations_and_system_prompts() -> None:
    turns = (Message("user", (Text("q"),)), Message("assistant", (Text("a"),)), Message("user", (Text("r"),)))
    request = Request((Message("system", (Text("Be brief."),)), *turns), GREEDY)
    for role in ("system", "developer"):
        assert body_of(request, system_role=role)["messages"] == [
            {"role": role, "content": "Be brief."},
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": "r"},
        ]


def test_sounds() -> None:
    data = wav_bytes(np.zeros(80, "float32"), 8000)
    sent = {"data": base64.b64encode(data).decode(), "format": "wav"}
    assert parts_of("Listen.", Audio(data)) == [
        {"type": "text", "text": "Listen."},
        {"type": "input_audio", "input_audio": sent},
    ]


def test_videos_as_frames_or_whole() -> None:
    shown = Video([Pictures.new("RGB", (16, 8), colour) for colour in ("red", "lime", "blue")])
    content = parts_of("Watch.", shown, num_frames=2, image_detail="low", max_image_side=8)
    assert [part["type"] for part in content] == ["text", "image_url", "image_url"]
    for part in content[1:]:
        head, _, data = part["image_url"]["url"].partition(",")
        assert (head, part["image_url"]["detail"]) == ("data:image/jpeg;base64", "low")
        assert Pictures.open(io.BytesIO(base64.b64decode(data))).size == (8, 4)
    whole = b"\0\0\0\x18ftypmp42"
    assert parts_of(Video(whole), video="url") == [
        {"type": "video_url", "video_url": {"url": data_url(whole, "video/mp4")}}
    ]


@pytest.mark.parametrize(("api", "hears"), [("chat", True), ("images", False)])
def test_the_sound_of_a_video_is_not_even_decoded_for_a_model_without_ears(
    api: str, hears: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Video] = []
    monkeypatch.setattr(MediaEncoder, "_encode_video", lambda _, video: seen.append(video) or ())
    model = OpenAIModel("m", base_url="http://127.0.0.1:9/v1", api=api)
    model._media.video(Video([Pictures.new("RGB", (8, 4))], rule=VideoRule(frames=1, audio="track")))
    assert [video.rule.audio for video in seen if video.rule] == ["track" if hears else None]


def test_settings_by_the_names_that_endpoints_know() -> None:
    extra = {"top_k": 5, "response_format": {"type": "json_object"}, "num_beams": 1, "use_cache": False}
    ask = Generate(7, 0.5, 0.9, ("a", "", "b", "c", "d", "e"), seed=3, extra=extra)
    body = body_of(asked("q", ask=ask), extra_body={"top_k": 9, "user": "u"}, reasoning_effort="low")
    del body["messages"]
    assert body == {
        "model": "m",
        "max_tokens": 7,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["a", "b", "c", "d"],
        "seed": 3,
        "top_k": 9,
        "user": "u",
        "reasoning_effort": "low",
        "response_format": {"type": "json_object"},
    }


@pytest.mark.parametrize(
    ("ask", "temperature"),
    [
        (Generate(extra={"do_sample": False}), 0.0),
        (Generate(temperature=0.7, extra={"do_sample": False}), 0.0),
        (Generate(extra={"do_sample": True}), None),
        (Generate(temperature=0.7, extra={"do_sample": True}), 0.7),
        (Generate(), None),
    ],
)
def test_sampling_or_not_is_a_temperature(ask: Generate, temperature: float | None) -> None:
    body = body_of(asked("q", ask=ask))
    assert body.get("temperature") == temperature
    assert "do_sample" not in body


def test_what_is_not_sent_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    extra = {"num_beams": 4, "use_cache": False, "length_penalty": 1.0, "do_sample": False, "top_k": 3}
    ask = Generate(8, 0.5, extra=extra)
    model = OpenAIModel("m", base_url="http://localhost:1/v1", omit="temperature, seed")
    assert model.ignores(ask) == {
        "num_beams": "endpoints sample and have no beam search",
        "use_cache": "it is settled inside the server",
        "temperature": "it is left out by omit=",
    }
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    assert OpenAIModel("m").ignores(Generate(8, extra={"top_k": 3})) == {"top_k": "this endpoint does not know it"}
    first = OpenAIModel("m", base_url="http://localhost:1/v1", logprobs="first_token")
    assert first.ignores(Loglikelihood(("a",))) == {"continuations": "only the first token of each choice counts"}
    body = body_of(asked("q", ask=Generate(8, 0.5, seed=1)), omit=["temperature", "seed", "max_tokens"])
    assert body.keys() == {"model", "messages"}


def respond_together(model: OpenAIModel, *seeds: int | None) -> list[Response]:
    """Answers to repeats of one prompt that are asked for together."""
    repeats = [asked("q", ask=Generate(seed=seed, repeat=number)) for number, seed in enumerate(seeds)]

    async def run() -> list[Response]:
        try:
            return await model.respond_repeats(repeats, model.prepare(repeats[0]))
        finally:
            await model.aclose()

    return asyncio.run(run())


def test_a_seed_has_a_request_and_joined_repeats_have_one_without_seeds() -> None:
    with OpenAIStub(lambda received: chat(str(received.body.get("seed")), n=received.body.get("n", 1))) as stub:
        plain = OpenAIModel("m", base_url=stub.base_url)
        joining = OpenAIModel("m", base_url=stub.base_url, join_repeats=True)
        assert (plain.joins_repeats, joining.joins_repeats) == (False, True)
        assert joining.identity == {**plain.identity, "join_repeats": True}
        assert [response.text for response in respond(plain, asked("q", ask=Generate(seed=7)))] == ["7"]
        responses = respond_together(joining, 7, 8)
        assert [response.text for response in responses] == ["None", "None"]
        assert [body.get("n") for body in stub.bodies] == [None, 2]
        assert [response.outputs[0].usage is not None for response in responses] == [True, False]


@pytest.mark.parametrize("refusal", [chat("one"), failure("'n' must be 1", 400)])
def test_a_server_without_n_is_asked_one_by_one(refusal: Any) -> None:
    with OpenAIStub(lambda received: refusal if "n" in received.body else chat("one")) as stub:
        model = OpenAIModel("m", base_url=stub.base_url)
        for _ in range(2):
            assert [response.text for response in respond_together(model, 1, 2, 3)] == ["one"] * 3
        assert sum("n" in body for body in stub.bodies) == 1
        assert {body["seed"] for body in stub.bodies if "n" not in body} >= {2, 3}


def test_one_of_several_that_fails_leaves_the_others_their_answers() -> None:
    def answer(received: Received) -> Any:
        if "n" in received.body:
            return failure("'n' must be 1", 400)
        return failure("busy", 500) if received.body["seed"] == 1 else chat("b")

    with OpenAIStub(answer) as stub:
        first, second = respond_together(OpenAIModel("m", base_url=stub.base_url), 1, 2)
    assert first.error is not None
    assert (first.error.retryable, second.text) == (True, "b")


def test_the_token_limit_is_called_as_the_server_wants_it() -> None:
    text = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    with OpenAIStub(lambda received: failure(text, 400) if "max_tokens" in received.body else chat()) as stub:
        model = OpenAIModel("m", base_url=stub.base_url)
        respond(model, asked("q"), asked("q"))
        names = [body.keys() - {"model", "messages", "temperature"} for body in stub.bodies]
    assert names == [{"max_tokens"}, {"max_completion_tokens"}, {"max_completion_tokens"}]
    detail = {"detail": [{"loc": ["body", "max_completion_tokens"], "msg": "Extra inputs are not permitted"}]}
    with OpenAIStub(
        lambda received: Reply(detail, 422) if "max_completion_tokens" in received.body else chat()
    ) as stub:
        respond(OpenAIModel("m", base_url=stub.base_url, max_tokens_key="max_completion_tokens"), asked("q"))
        assert stub.bodies[1]["max_tokens"] == 5


def test_other_objections_to_the_token_limit_are_final() -> None:
    with OpenAIStub([failure("max_tokens is too large: 5", 400)]) as stub:
        with pytest.raises(ModelError, match="HTTP 400: max_tokens is too large"):
            respond(OpenAIModel("m", base_url=stub.base_url), asked("q"))
        assert len(stub.bodies) == 1


def test_what_changes_no_answer_is_dropped_where_it_is_refused() -> None:
    def strict(received: Any) -> Any:
        for name in ("seed", "stop", "temperature"):
            if name in received.body:
                return failure(f"Unrecognized request argument supplied: {name}", 400)
        return chat()

    with OpenAIStub(strict) as stub:
        model = OpenAIModel("m", base_url=stub.base_url)
        respond(model, *[asked("q", ask=Generate(stop=("x",), seed=1))] * 2)
        assert [sorted(body.keys() & {"seed", "stop"}) for body in stub.bodies] == [["seed", "stop"], ["stop"], [], []]
        with pytest.raises(ModelError, match="supplied: temperature"):
            respond(model, asked("q"))


def test_a_base_model_continues_texts() -> None:
    reply = {"choices": [{"index": 0, "text": " blue", "finish_reason": "max_tokens"}]}
    with OpenAIStub([reply]) as stub:
        model = OpenAIModel("base", base_url=stub.base_url, api="completions")
        [response] = respond(model, asked("The sky is", system="Facts."))
        assert (response.text, response.outputs[0].finish_reason) == (" blue", "length")
        [received] = stub.received
        assert received.path == "/v1/completions"
        assert received.body["prompt"] == "Facts.\n\nThe sky is"
        assert model.traits.is_completion
        assert model.traits.modalities["image"] is False
        with pytest.raises(ModelError, match="accepts no media"):
            model.prepare(asked(Image(jpeg())))


def test_a_jpeg_is_encoded_once_for_all_tries_and_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    data, encodings = jpeg(), []
    real = base64.b64encode
    monkeypatch.setattr(base64, "b64encode", lambda given: (encodings.append(given), real(given))[1])
    monkeypatch.setattr(Image, "open", lambda self: pytest.fail("decoded"))
    with OpenAIStub([failure("busy", 503), chat()]) as stub:
        model = OpenAIModel("m", base_url=stub.base_url)
        request, repeat = repeats_of(asked(Image(data), "q"), (1, 2))

        async def run() -> None:
            prepared = model.prepare(request)
            with pytest.raises(ModelError, match="busy"):
                await model.respond_prepared(request, prepared)
            await model.respond_prepared(request, prepared)
            await model.respond(repeat)
            await model.aclose()

        asyncio.run(run())
        sent = [body["messages"][0]["content"][0]["image_url"]["url"] for body in stub.bodies]
    assert encodings == [data]
    assert sent == ["data:image/jpeg;base64," + real(data).decode()] * 3


def test_long_bodies_arrive_whole() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (900, 900, 3), "uint8")
    [_, image] = parts_of("q", Image(Pictures.fromarray(noise)))
    sent = base64.b64decode(image["image_url"]["url"].partition(",")[2])
    assert len(sent) > 2 << 20
    assert np.array_equal(np.asarray(Pictures.open(io.BytesIO(sent))), noise)


def test_what_cannot_be_sent() -> None:
    model = OpenAIModel("m", base_url="http://localhost:1/v1")
    with pytest.raises(DataError, match="does not exist"):
        model.prepare(asked(Image(Path("/nowhere.jpg"))))
    with pytest.raises(ModelError, match="the messages contain no text"):
        model.prepare(asked(" ", ask=GenerateImage()))


def test_frames_have_their_times_and_the_sound_stands_behind_them(tmp_path: Path) -> None:
    pytest.importorskip("av")
    rule = VideoRule(rule="cut", frames=2, timestamps="text", audio="track")
    film = Video(clip(tmp_path / "a.mp4"), rule=rule)
    for video in ("frames", "url"):  # an endpoint that takes whole videos cannot be told the rule
        shown = parts_of(film, "What?", video=video)
        kinds = ["text", "image_url", "text", "image_url", "input_audio", "text"]
        assert [part["type"] for part in shown] == kinds
        assert [part["text"] for part in shown if "text" in part] == ["<0.0 seconds>", "<1.8 seconds>", "What?"]
        assert shown[4]["input_audio"]["format"] == "wav"
        assert base64.b64decode(shown[4]["input_audio"]["data"])[:4] == b"RIFF"
    (whole, _) = parts_of(Video(film.source), "What?", video="url")
    assert whole["type"] == "video_url"
