"""Images from an OpenAI-compatible endpoint: what is sent, what comes back, what is learned, what fails."""

from __future__ import annotations

import asyncio
import base64
import logging
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.content import Audio, Image, Part, Text
from polymeter.core.errors import DataError, ModelError, PlanError
from polymeter.core.request import GenerateImage, Message, Request, Response, Usage
from polymeter.models.openai import OpenAIModel
from polymeter.models.openai.image_settings import makes_images
from tests.helpers.openai_stub import OpenAIStub, Received, Reply, chat, failure, images, png

RED, BLUE = png("red"), png("blue")


def drawing(*parts: Part | str, **ask: Any) -> Request:
    said = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return Request((Message("user", said),), GenerateImage(**ask))


def respond(model: OpenAIModel, *requests: Request) -> list[Response]:
    """Answers, as the engine gets them: prepared on a thread, asked on one loop, closed."""

    async def run() -> list[Response]:
        try:
            return [await model.respond_prepared(request, model.prepare(request)) for request in requests]
        finally:
            await model.aclose()

    return asyncio.run(run())


def respond_together(model: OpenAIModel, *requests: Request) -> list[Response]:
    """Answers to repeats that are asked for together."""

    async def run() -> list[Response]:
        try:
            return await model.respond_repeats(requests, model.prepare(requests[0]))
        finally:
            await model.aclose()

    return asyncio.run(run())


def repeats(prompt: str, *seeds: int | None) -> list[Request]:
    return [drawing(prompt, seed=seed, repeat=number) for number, seed in enumerate(seeds)]


def colours(response: Response) -> list[Any]:
    return [picture.convert("RGB").getpixel((0, 0)) for output in response.outputs for picture in output.images]


def refused(respond_with: Any, request: Request, **args: Any) -> ModelError:
    with OpenAIStub(respond_with) as stub, pytest.raises(ModelError) as caught:
        respond(OpenAIModel("flux", base_url=stub.base_url, **args), request)
    return caught.value


def test_an_image_is_asked_for_with_its_seed_and_settings() -> None:
    ask = {"size": (64, 32), "seed": 7, "extra": {"quality": "high", "negative_prompt": "blurry", "style": None}}
    with OpenAIStub(lambda _: images(RED, usage={"input_tokens": 9, "output_tokens": 4160})) as stub:
        [response] = respond(OpenAIModel("flux", base_url=stub.base_url), drawing("a red", " square", **ask))
        [received] = stub.received
    assert received.path == "/v1/images/generations"
    assert received.body == {
        "model": "flux",
        "quality": "high",
        "negative_prompt": "blurry",
        "size": "64x32",
        "response_format": "b64_json",
        "seed": 7,
        "prompt": "a red square",
    }
    assert colours(response) == [(255, 0, 0)]
    assert response.outputs[0].usage == Usage(9, 4160)


def test_repeats_are_joined_where_that_is_wanted_and_where_no_seed_is_lost() -> None:
    with OpenAIStub(lambda received: images(*[RED] * received.body.get("n", 1))) as stub:
        plain = OpenAIModel("flux", base_url=stub.base_url, api="images")
        joining = OpenAIModel("flux", base_url=stub.base_url, api="images", join_repeats=True)
        assert not plain.joins_repeats
        assert OpenAIModel("flux", base_url=stub.base_url, api="images", omit="seed").joins_repeats
        assert joining.joins_repeats
        assert joining.identity == {**plain.identity, "join_repeats": True}
        responses = respond_together(joining, *repeats("x", 1, 2, 3))
    assert [(body.get("seed"), body.get("n")) for body in stub.bodies] == [(None, 3)]
    assert [colours(response) for response in responses] == [[(255, 0, 0)]] * 3
    assert {response.outputs[0].note for response in responses} == {
        "Drawn without that seed, which the endpoint does not accept."
    }


def test_a_server_without_seeds_is_asked_for_several_at_once(caplog: pytest.LogCaptureFixture) -> None:
    def draw(received: Received) -> Any:
        if "seed" in received.body:
            return failure("Unknown parameter: 'seed'.", 400)
        return images(*[RED] * received.body.get("n", 1))

    with OpenAIStub(draw) as stub, caplog.at_level(logging.WARNING):
        model = OpenAIModel("flux", base_url=stub.base_url)
        assert not model.joins_repeats
        [first] = respond(model, drawing("x", seed=1))
        assert model.joins_repeats
        second = respond_together(model, *repeats("y", 1, 2, 3, 4))
    assert [(body.get("seed"), body.get("n")) for body in stub.bodies] == [(1, None), (None, None), (None, 4)]
    assert caplog.text.count("accepts no seed") == 1
    notes = {response.outputs[0].note for response in (first, *second)}
    assert notes == {"Drawn without that seed, which the endpoint does not accept."}, "pages show seeds"


def test_openai_itself_is_sent_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    drawn = {"b64_json": base64.b64encode(RED).decode(), "revised_prompt": "a red square"}
    with OpenAIStub(lambda _: images(drawn, drawn)) as stub:
        azure = stub.base_url.removesuffix("/v1")
        model = OpenAIModel("gpt-image-1", azure_endpoint=azure, api_version="2025-04-01")
        assert model.joins_repeats
        responses = respond_together(model, *repeats("x", 1, 2))
    assert [(body.get("seed"), body["n"]) for body in stub.bodies] == [(None, 2)]
    note = "Drawn without that seed, which the endpoint does not accept. The endpoint changed the prompt: a red square"
    assert [response.outputs[0].note for response in responses] == [note] * 2


@pytest.mark.parametrize("words", ["You must provide n=1 for this model.", "Invalid value: 'n' must be 1"])
def test_a_server_that_makes_one_at_a_time_is_asked_several_times(words: str) -> None:
    def draw(received: Received) -> Any:
        return failure(words, 400) if "n" in received.body else images(RED)

    with OpenAIStub(draw) as stub:
        model = OpenAIModel("dall-e-3", base_url=stub.base_url)
        first = respond_together(model, *repeats("x", None, None))
        second = respond_together(model, *repeats("y", None, None))
    assert [len(response.outputs) for response in (*first, *second)] == [1] * 4
    assert [body.get("n") for body in stub.bodies] == [2, None, None, None, None], "it is learned once"


def test_a_server_that_gives_fewer_than_asked_for_is_asked_for_the_rest() -> None:
    with OpenAIStub(lambda _: images(BLUE)) as stub:
        responses = respond_together(OpenAIModel("flux", base_url=stub.base_url), *repeats("x", None, None, None))
    assert [len(response.outputs) for response in responses] == [1] * 3
    assert [body.get("n") for body in stub.bodies] == [3, None, None]


def test_the_format_is_left_out_where_it_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    def draw(received: Received) -> Any:
        return (
            failure("Unknown parameter: 'response_format'.", 400) if "response_format" in received.body else images(RED)
        )

    with OpenAIStub(draw) as stub:
        [response] = respond(OpenAIModel("mine", base_url=stub.base_url), drawing("x"))
        respond(OpenAIModel("gpt-image-1", base_url=stub.base_url), drawing("x"))
    assert colours(response) == [(255, 0, 0)]
    assert ["response_format" in body for body in stub.bodies] == [True, False, False]
    assert not caplog.text


def test_images_that_are_edited_travel_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(RED)
    with OpenAIStub(lambda _: images(BLUE)) as stub:
        model = OpenAIModel("flux", base_url=stub.base_url, extra_body={"loras": ["a"]})
        one = drawing(Image(tmp_path / "a.png"), "make it blue", size=(8, 4), seed=3)
        respond(model, one, drawing(Image(RED), "and", Image(BLUE)))
        first, second = stub.received
    assert first.path == "/v1/images/edits"
    assert first.headers["Content-Type"].startswith("multipart/form-data; boundary=")
    plain = {name: content.decode() for name, file, _, content in first.form if file is None}
    assert plain == {
        "model": "flux",
        "size": "8x4",
        "response_format": "b64_json",
        "seed": "3",
        "loras": '["a"]',
        "prompt": "make it blue",
    }
    files = [(name, file, mime, content) for name, file, mime, content in first.form if file]
    assert files == [("image", "image-1.png", "image/png", RED)], "no mask is invented"
    several = [(name, content) for name, file, _, content in second.form if file]
    assert several == [("image[]", RED), ("image[]", BLUE)]


def test_a_form_is_learned_from_as_a_body_is() -> None:
    def draw(received: Received) -> Any:
        names = {name for name, *_ in received.form}
        return failure("Unrecognized request argument supplied: seed", 400) if "seed" in names else images(BLUE)

    with OpenAIStub(draw) as stub:
        respond(OpenAIModel("flux", base_url=stub.base_url), drawing(Image(RED), "x", seed=1))
        assert len(stub.received) == 2


def blue_elsewhere(received: Received) -> Any:
    return Reply(BLUE) if received.path == "/in.png" else images(RED)


def test_an_input_image_elsewhere_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("POLYMETER_ALLOW_PRIVATE_URLS", "1")
    with OpenAIStub(blue_elsewhere) as stub:
        url = stub.base_url.replace("/v1", "/in.png")
        respond(OpenAIModel("flux", base_url=stub.base_url), drawing(Image(url), "x"))
        sent = [content for _, file, _, content in stub.received[-1].form if file]
    assert sent == [BLUE]


def test_an_input_image_elsewhere_is_not_fetched_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with OpenAIStub(blue_elsewhere) as stub:
        url = stub.base_url.replace("/v1", "/in.png")
        with pytest.raises(DataError, match="is not fetched: the run is offline"):
            respond(OpenAIModel("flux", base_url=stub.base_url), drawing(Image(url), "x"))
    assert not stub.received


def test_an_input_image_elsewhere_that_was_supplied_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    image = Image("https://example.com/in.png")
    image.supply(BLUE)
    with OpenAIStub(blue_elsewhere) as stub:
        respond(OpenAIModel("flux", base_url=stub.base_url), drawing(image, "x"))
        assert [content for _, file, _, content in stub.received[-1].form if file] == [BLUE]


# --- addresses in answers ---------------------------------------------------------------------------------------------


def test_an_image_is_fetched_from_its_address_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-secret")
    with OpenAIStub(lambda _: Reply(RED)) as elsewhere:
        url = elsewhere.base_url + "/made.png"
        with OpenAIStub(lambda _: images({"url": url})) as stub:
            [response] = respond(OpenAIModel("flux", base_url=stub.base_url), drawing("x"))
            assert stub.received[0].headers["Authorization"] == "Bearer sk-secret-secret"
        assert "Authorization" not in elsewhere.received[0].headers
    assert colours(response) == [(255, 0, 0)]


def test_the_endpoint_itself_is_shown_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-secret")

    def answer(received: Received) -> Any:
        return Reply(RED) if received.path == "/v1/files/1.png" else images({"url": "files/1.png"})

    with OpenAIStub(answer) as stub:
        respond(OpenAIModel("flux", base_url=stub.base_url), drawing("x"))
        assert stub.received[1].headers["Authorization"] == "Bearer sk-secret-secret"


@pytest.mark.parametrize("name", ["url", "b64_json"])
def test_an_image_may_come_as_a_data_url(name: str) -> None:
    url = f"data:image/png;base64,{base64.b64encode(BLUE).decode()}"
    with OpenAIStub(lambda _: images({name: url, "revised_prompt": "a blue square"})) as stub:
        [response] = respond(OpenAIModel("flux", base_url=stub.base_url), drawing("x"))
    assert colours(response) == [(0, 0, 255)]
    assert response.outputs[0].note == "The endpoint changed the prompt: a blue square"


def test_an_image_that_cannot_be_fetched_is_fetched_again_and_not_made_again() -> None:
    replies = [Reply("busy", 503), Reply(RED)]

    def answer(received: Received) -> Any:
        return replies.pop(0) if received.path.endswith(".png") else images({"url": "made.png"})

    async def twice(model: OpenAIModel, request: Request) -> Response:
        prepared = model.prepare(request)
        with pytest.raises(ModelError, match="cannot be fetched: HTTP 503") as caught:
            await model.respond_prepared(request, prepared)
        assert caught.value.kind == "transient"
        try:
            return await model.respond_prepared(request, prepared)
        finally:
            await model.aclose()

    with OpenAIStub(answer) as stub:
        response = asyncio.run(twice(OpenAIModel("flux", base_url=stub.base_url), drawing("x")))
        assert [received.path for received in stub.received].count("/v1/images/generations") == 1
    assert colours(response) == [(255, 0, 0)]


def test_a_file_that_is_gone_or_too_large_or_nowhere_is_an_error() -> None:
    def gone(received: Received) -> Any:
        return Reply("no", 404) if ".png" in received.path else images({"url": "made.png?sig=opens"})

    def large(received: Received) -> Any:
        return Reply(b"x" * 3000) if received.path.endswith(".png") else images({"url": "made.png"})

    error = refused(gone, drawing("x"))
    assert "/v1/made.png cannot be fetched: HTTP 404" in str(error), "and nothing of the signature"
    assert error.kind == "permanent"
    assert "is not a web address" in str(refused(lambda _: images({"url": "ftp://there/a.png"}), drawing("x")))
    assert "larger than 0.002 MB" in str(refused(large, drawing("x"), max_answer_mb=0.002))


# --- what is no image -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("moderation_blocked", "Your request was rejected as a result of our safety system."),
        ("content_policy_violation", "Your prompt may contain text that is not allowed."),
    ],
)
def test_a_moderation_is_a_refusal(code: str, words: str) -> None:
    assert refused(lambda _: failure(words, 400, code=code), drawing("x")).kind == "refused"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"data": []}, "has no images"),
        ({"created": 1}, "has no images"),
        (images({"b64_json": "bm90IGFuIGltYWdl"}), "image cannot be read"),
        (images({"b64_json": "bild…"}), "image cannot be read"),
        (images({"url": "data:image/png;base64,%%%"}), "cannot be read"),
    ],
)
def test_what_is_no_image_may_pass(reply: Any, words: str) -> None:
    error = refused(lambda _: reply, drawing("x"))
    assert words in str(error)
    assert error.kind == "transient"


def test_what_cannot_be_drawn() -> None:
    model = OpenAIModel("flux", base_url="http://localhost:1/v1")
    with pytest.raises(ModelError, match="The prompt is missing"):
        model.prepare(drawing(Image(RED)))
    with pytest.raises(ModelError, match="cannot be made from audio"):
        model.prepare(drawing(Audio(b"ID3"), "x"))
    with pytest.raises(DataError, match="does not exist"):
        model.prepare(drawing(Image(Path("/nowhere.png")), "x"))


# --- images in chats --------------------------------------------------------------------------------------------------


def test_a_chat_may_answer_with_images() -> None:
    url = f"data:image/png;base64,{base64.b64encode(BLUE).decode()}"
    beside = chat("Here it is.", images=[{"type": "image_url", "image_url": {"url": url}}])
    among = chat(None)
    among["choices"][0]["message"]["content"] = [{"type": "image_url", "image_url": {"url": url}}]
    with OpenAIStub([beside, among]) as stub:
        model = OpenAIModel("google/gemini-2.5-flash-image", base_url=stub.base_url, images_via="chat")
        assert model.traits.requests["generate_image"]
        request = drawing(Image(RED), "make it blue", seed=5, size=(8, 8), extra={"image_config": {"a": 1}})
        first, second = respond(model, request, drawing("x"))
        body = stub.bodies[0]
    assert (first.outputs[0].text, colours(first), colours(second)) == ("Here it is.", [(0, 0, 255)], [(0, 0, 255)])
    assert body["modalities"] == ["image", "text"]
    assert (body["seed"], body["image_config"]) == (5, {"a": 1})
    assert [part["type"] for part in body["messages"][0]["content"]] == ["image_url", "text"]
    assert "size" not in body
    assert "extra_body" in model.ignores(request.parameters)["size"]


def test_a_chat_without_an_image_is_an_error_that_says_what_came() -> None:
    error = refused(lambda _: chat("I cannot draw."), drawing("x"), images_via="chat")
    assert "without an image: 'I cannot draw.'" in str(error)


# --- what is known ahead ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "is_maker"),
    [
        ("dall-e-3", True),
        ("gpt-image-1", True),
        ("gpt-image-1-mini", True),
        ("chatgpt-image-latest", True),
        ("black-forest-labs/FLUX.1-dev", True),
        ("Qwen/Qwen-Image-Edit", True),
        ("stabilityai/stable-diffusion-3.5-large", True),
        ("sdxl", True),
        ("gpt-4o", False),
        ("Qwen/Qwen2.5-VL-7B", False),
        ("google/gemini-2.5-flash-image", False),
        ("influx-7b", False),
        ("sanaa-chat", False),
    ],
)
def test_models_that_only_make_images_are_known_by_their_names(name: str, is_maker: bool) -> None:
    assert makes_images(name) == is_maker
    traits = OpenAIModel(name, base_url="http://localhost:1/v1").traits
    assert traits.requests["generate"] != is_maker
    assert traits.requests.get("generate_image") is (True if is_maker else None)


def test_what_a_model_is_may_be_said() -> None:
    url = "http://localhost:1/v1"
    assert OpenAIModel("mine", base_url=url, api="images").traits.requests == {
        "generate": False,
        "loglikelihood": False,
        "generate_image": True,
    }
    assert OpenAIModel("flux-chat", base_url=url, api="chat").traits.requests["generate"]
    assert OpenAIModel("m", base_url=url, api="completions").traits.requests["generate_image"] is False
    assert OpenAIModel("dall-e-3", base_url=url).traits.modalities["image"] is False
    assert "image" not in OpenAIModel("gpt-image-1", base_url=url).traits.modalities
    with pytest.raises(PlanError, match="no images_via 'chats'"):
        OpenAIModel("m", base_url=url, images_via="chats")


def test_identity_tells_where_images_are_asked_for() -> None:
    url = "http://localhost:1/v1"
    assert OpenAIModel("m", base_url=url, images_via="chat").identity["images_via"] == "chat"
    assert OpenAIModel("m", base_url=url).identity["api"] == "chat"
    assert OpenAIModel("dall-e-3", base_url=url).identity["api"] == "images"


def test_the_user_is_told_what_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-secret")
    ask = GenerateImage(size=(8, 8), extra={"temperature": 1, "guidance_scale": 3, "quality": "low", "style": None})
    assert OpenAIModel("gpt-image-1", base_url="https://api.openai.com/v1").ignores(ask) == {
        "temperature": "it is a setting of text",
        "guidance_scale": "this endpoint does not know it",
    }
    local = OpenAIModel("flux", base_url="http://localhost:1/v1", omit="size,quality")
    assert set(local.ignores(ask)) == {"temperature", "size", "quality"}
    assert local.prepare(Request((Message("user", (Text("x"),)),), ask)).drawing.settings == {  # type: ignore[union-attr]
        "guidance_scale": 3,
        "response_format": "b64_json",
    }


def test_no_image_is_asked_for_ahead_of_a_run(caplog: pytest.LogCaptureFixture) -> None:
    with OpenAIStub(lambda _: {"data": [{"id": "flux"}]}) as stub:
        asyncio.run(OpenAIModel("flux", base_url=stub.base_url).preflight())
        assert not caplog.text
        asyncio.run(OpenAIModel("fluxx", base_url=stub.base_url, api="images").preflight())
        assert [received.path for received in stub.received] == ["/v1/models"] * 2
    assert "does not list the model 'fluxx'" in caplog.text
    with OpenAIStub(lambda _: failure("no such route", 404)) as stub:
        asyncio.run(OpenAIModel("flux", base_url=stub.base_url).preflight())
    with OpenAIStub(lambda _: failure("bad key", 401)) as stub, pytest.raises(PlanError, match="requires a key"):
        asyncio.run(OpenAIModel("flux", base_url=stub.base_url).preflight())


def test_azure_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "secret-secret")
    model = OpenAIModel("draw", azure_endpoint="https://me.openai.azure.com", api_version="2025-04-01-preview")
    address = model._client.address
    stem = "https://me.openai.azure.com/openai/deployments/draw/images"
    assert address.generations_url == f"{stem}/generations?api-version=2025-04-01-preview"
    assert address.edits_url == f"{stem}/edits?api-version=2025-04-01-preview"


@pytest.mark.parametrize("data", ["@@@@", base64.b64encode(b"no image").decode(), RED[:20].hex()])
def test_what_is_no_image_is_drawn_again_and_not_decoded_again(data: str) -> None:
    with OpenAIStub([images({"b64_json": data}), images(BLUE)]) as stub:
        model, request = OpenAIModel("dall-e-2", base_url=stub.base_url), drawing("a cat")

        async def run() -> Response:
            prepared = model.prepare(request)
            with pytest.raises(ModelError, match="image cannot be read") as caught:
                await model.respond_prepared(request, prepared)
            assert caught.value.kind == "transient"
            answer = await model.respond_prepared(request, prepared)
            await model.aclose()
            return answer

        assert colours(asyncio.run(run())) == [(0, 0, 255)]
        assert len(stub.received) == 2


def test_base64_may_be_written_in_lines() -> None:
    with OpenAIStub([images({"b64_json": base64.encodebytes(RED).decode()})]) as stub:
        assert colours(respond(OpenAIModel("dall-e-2", base_url=stub.base_url), drawing("a cat"))[0]) == [(255, 0, 0)]
