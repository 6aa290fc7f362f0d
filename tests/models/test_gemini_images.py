"""Images from Google's models against a local stand-in: what is sent, how answers and refusals are read."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from polymeter.core.content import Image, Part, Text
from polymeter.core.errors import ModelError, PlanError
from polymeter.core.request import Generate, GenerateImage, Message, Request, Response
from polymeter.models.gemini import GeminiModel
from polymeter.models.gemini.images import kind_of, shape_of
from tests.helpers.provider_stubs import ProviderStub, Reply, ask, gemini_fails, gemini_says, picture, question

pytest.importorskip("google.genai")

NAME = "gemini-2.5-flash-image"
RED, BLUE = picture("PNG"), picture("PNG", "blue")


def inline(data: bytes, **more: Any) -> dict[str, Any]:
    return {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(data).decode()}, **more}


def drawn(*parts: Any, reason: str = "STOP") -> Reply:
    return gemini_says(candidates=[{"content": {"parts": list(parts)}, "finishReason": reason}])


def drawing(*parts: Part | str, **settings: Any) -> Request:
    said = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return Request((Message("user", said),), GenerateImage(**settings))


def colours(response: Response) -> list[Any]:
    return [image.convert("RGB").getpixel((0, 0)) for output in response.outputs for image in output.images]


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderStub]:
    for name in ("GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", "AIza-this-is-the-secret")
    with ProviderStub(lambda _: drawn({"text": "Here."}, inline(RED))) as server:
        yield server


def test_an_image_is_asked_for_and_read(stub: ProviderStub) -> None:
    request = drawing(Image(BLUE), "make it red", size=(1344, 768), seed=5, extra={"image_size": "2K"})
    [response] = ask(GeminiModel(NAME, stub.url), request)
    assert colours(response) == [(255, 0, 0)]
    assert response.outputs[0].text == "Here."
    [body] = stub.posts
    assert body["contents"][0]["parts"] == [inline(BLUE), {"text": "make it red"}]
    assert body["generationConfig"] == {
        "responseModalities": ["TEXT", "IMAGE"],
        "imageConfig": {"imageSize": "2K"},
        "seed": 5,
    }


def test_each_image_is_a_request_with_its_seed(stub: ProviderStub) -> None:
    ask(GeminiModel(NAME, stub.url), *(drawing("x", size=(16, 9), seed=seed) for seed in (1, 2, 3)))
    configs = sorted((body["generationConfig"] for body in stub.posts), key=lambda config: config["seed"])
    assert [config["seed"] for config in configs] == [1, 2, 3]
    assert configs[0]["imageConfig"] == {"aspectRatio": "16:9"}


def test_an_image_without_words_and_sketches_made_while_thinking(stub: ProviderStub) -> None:
    stub.script = lambda _: drawn(inline(BLUE, thought=True), inline(RED))
    [response] = ask(GeminiModel(NAME, stub.url), drawing("x"))
    assert colours(response) == [(255, 0, 0)]
    assert response.outputs[0].text is None


def test_a_large_image_is_read_too(stub: ProviderStub) -> None:
    import io

    import numpy as np
    from PIL import Image as pil

    buffer = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (400, 400, 3), "uint8")
    pil.fromarray(noise).save(buffer, "PNG")
    stub.script = lambda _: drawn(inline(buffer.getvalue()))
    [response] = ask(GeminiModel(NAME, stub.url), drawing("x"))
    assert np.array_equal(np.asarray(response.outputs[0].images[0]), noise)


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (drawn(reason="IMAGE_SAFETY"), "refused", "blocked: IMAGE_SAFETY"),
        (drawn(reason="NO_IMAGE"), "transient", "without an answer: NO_IMAGE"),
        (drawn({"inlineData": {"mimeType": "image/png", "data": "bm9uZQ=="}}), "transient", "cannot be read"),
        (gemini_says(promptFeedback={"blockReason": "PROHIBITED_CONTENT"}), "refused", "PROHIBITED_CONTENT"),
    ],
)
def test_what_is_no_image(stub: ProviderStub, reply: Reply, kind: str, words: str) -> None:
    stub.script = lambda _: reply
    with pytest.raises(ModelError, match=words) as caught:
        ask(GeminiModel(NAME, stub.url), drawing("x"))
    assert caught.value.kind == kind


def test_a_model_of_text_makes_no_images_and_one_of_images_answers_in_text(stub: ProviderStub) -> None:
    text = GeminiModel("gemini-2.5-flash", stub.url)
    assert text.traits.requests["generate_image"] is False
    with pytest.raises(ModelError, match="returns text only, not generate_image"):
        text.prepare(drawing("x"))
    stub.script = lambda _: gemini_says("four")
    model = GeminiModel(NAME, stub.url)
    assert model.traits.requests == {"generate": True, "loglikelihood": False, "generate_image": True}
    assert ask(model, question("2+2?", max_new_tokens=4))[0].text == "four"
    assert "responseModalities" not in stub.posts[0]["generationConfig"]


def test_the_user_is_told_what_is_not_honoured(stub: ProviderStub) -> None:
    model = GeminiModel(NAME, stub.url)
    ignored = model.ignores(GenerateImage(size=(1024, 1024), extra={"guidance_scale": 3, "aspect_ratio": "1:1"}))
    assert ignored["size"] == "the API accepts the shape (1:1) and not the pixels"
    assert "no such setting" in ignored["guidance_scale"]
    assert set(ignored) == {"size", "guidance_scale"}
    assert model.ignores(GenerateImage(size=(1000, 3))) == {"size": "the API has no such shape"}
    assert model.ignores(Generate(extra={"do_sample": True})) == {}


def test_names_and_shapes() -> None:
    names = ("gemini-2.5-flash-image", "models/gemini-3-pro-image-preview", "imagen-4.0-generate-001", "gemini-2.5-pro")
    assert [kind_of(name) for name in names] == ["images", "images", "imagen", "text"]
    assert [shape_of(size, "images") for size in ((512, 512), (1260, 540), (3, 7), None, (0, 4))] == [
        "1:1",
        "21:9",
        None,
        None,
        None,
    ]
    assert shape_of((2, 3), "imagen") is None


def test_nothing_is_drawn_ahead_of_a_run(stub: ProviderStub) -> None:
    stub.models = lambda _: Reply({"name": f"models/{NAME}"})
    asyncio.run(GeminiModel(NAME, stub.url).preflight())
    (seen,) = stub.seen
    assert (seen.method, seen.path.rpartition("/models/")[2]) == ("GET", NAME)  # of v1 or v1beta, as the SDK likes
    stub.models = lambda _: gemini_fails(404, "NOT_FOUND", "models/x is not found")
    with pytest.raises(PlanError, match="not found"):
        asyncio.run(GeminiModel(NAME, stub.url).preflight())


class TestImagen:
    """A model with a call of its own, on Vertex AI."""

    @pytest.fixture
    def model(self, stub: ProviderStub, monkeypatch: pytest.MonkeyPatch) -> GeminiModel:
        credentials = SimpleNamespace(token="t", expired=False, quota_project_id=None)
        monkeypatch.setattr("google.auth.default", lambda **_: (credentials, "p"))
        prediction = {"mimeType": "image/png", "bytesBase64Encoded": base64.b64encode(RED).decode()}
        stub.script = lambda _: Reply({"predictions": [{**prediction, "prompt": "a red, red square"}]})
        return GeminiModel("imagen-4.0-generate-001", stub.url, vertexai=True, project="p", location="us-central1")

    @pytest.mark.filterwarnings("error:.*generate_images")
    def test_each_image_has_its_seed(self, stub: ProviderStub, model: GeminiModel) -> None:
        request = drawing("a red square", size=(16, 9), seed=3, extra={"negative_prompt": "blue"})
        [response] = ask(model, request)
        assert colours(response) == [(255, 0, 0)]
        assert response.outputs[0].note == "The endpoint changed the prompt: a red, red square"
        assert all(seen.path.endswith("/imagen-4.0-generate-001:predict") for seen in stub.seen)
        assert {body["instances"][0]["prompt"] for body in stub.posts} == {"a red square"}
        first = stub.posts[0]["parameters"]
        assert (first["seed"], first["addWatermark"], first["sampleCount"]) == (3, False, 1)
        assert (first["aspectRatio"], first["negativePrompt"]) == ("16:9", "blue")

    @pytest.mark.parametrize(
        "answer", [{"predictions": [{"raiFilteredReason": "people"}]}, {"predictions": []}, {"predictions": [{}]}]
    )
    def test_a_filtered_image_is_a_refusal(self, stub: ProviderStub, model: GeminiModel, answer: Any) -> None:
        stub.script = lambda _: Reply(answer)
        with pytest.raises(ModelError, match="filter") as caught:
            ask(model, drawing("x"))
        assert caught.value.kind == "refused"

    def test_a_busy_server_may_be_asked_again(self, stub: ProviderStub, model: GeminiModel) -> None:
        stub.script = lambda _: gemini_fails(429, "RESOURCE_EXHAUSTED", "slow down")
        with pytest.raises(ModelError, match="slow down") as caught:
            ask(model, drawing("x"))
        assert caught.value.kind == "rate_limit"

    def test_what_it_cannot_do(self, model: GeminiModel) -> None:
        assert model.traits.requests == {"generate": False, "loglikelihood": False, "generate_image": True}
        assert model.traits.modalities["image"] is False
        with pytest.raises(ModelError, match="from text only"):
            model.prepare(drawing(Image(RED), "x"))
        with pytest.raises(ModelError, match="The prompt is missing"):
            model.prepare(drawing(" "))
        with pytest.raises(PlanError, match="vertexai=true"):
            GeminiModel("imagen-4.0-generate-001")
