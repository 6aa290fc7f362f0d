"""Every kind of image reaches every kind of model with the pixels that its definition gives, at any size."""

from __future__ import annotations

import asyncio
import base64
import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image as pil

from polymeter.core.content import Image, Text, Video
from polymeter.core.errors import DataError
from polymeter.core.model import AsyncModel
from polymeter.core.request import Generate, GenerateImage, Message, Request
from polymeter.models.anthropic import AnthropicModel
from polymeter.models.endpoint.media import MediaEncoder
from polymeter.models.gemini import GeminiModel
from polymeter.models.hf.media import image_of
from polymeter.models.ocr import OcrModel
from polymeter.models.openai import OpenAIModel
from polymeter.store.media import MediaStore, media_path
from tests.helpers.image_kinds import KINDS, Kind
from tests.helpers.openai_stub import OpenAIStub, images, png
from tests.helpers.provider_stubs import ProviderStub, claude_says, gemini_says

SMALL_SIDE = 32
TIME_TO_SEND = 60
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def part_of(kind: Kind, folder: Path) -> Image:
    """The image, as a file if it is encoded."""
    made = kind.make()
    if not isinstance(made, bytes):
        return Image(made)
    file = folder / kind.name.replace(" ", "-")
    file.write_bytes(made)
    return Image(file)


def question(*images: Image, parameters: Any = None) -> Request:
    return Request((Message("user", (*images, Text("What is it?"))),), parameters or Generate())


def send_all(model: AsyncModel, requests: Sequence[Request]) -> None:
    """Ask one after the other, so that they arrive in order."""

    async def run() -> None:
        try:
            for request in requests:
                response = await model.respond(request)
                assert response.error is None, response.error
        finally:
            await model.aclose()

    asyncio.run(asyncio.wait_for(run(), TIME_TO_SEND))


def to_openai(requests: Sequence[Request], side: int | None) -> list[bytes]:
    with OpenAIStub() as stub:
        send_all(OpenAIModel("m", base_url=stub.base_url, max_image_side=side), requests)
        urls = [body["messages"][0]["content"][0]["image_url"]["url"] for body in stub.bodies]
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


def to_edits(requests: Sequence[Request], side: int | None) -> list[bytes]:
    edits = [Request(request.messages, GenerateImage()) for request in requests]
    with OpenAIStub(lambda _: images(png())) as stub:
        send_all(OpenAIModel("flux", base_url=stub.base_url, max_image_side=side), edits)
        return [next(content for name, _, _, content in one.form if name == "image") for one in stub.received]


def to_anthropic(requests: Sequence[Request], side: int | None) -> list[bytes]:
    pytest.importorskip("anthropic")
    with ProviderStub(lambda _: claude_says()) as stub:
        send_all(AnthropicModel("claude-test", stub.url, max_image_side=side), requests)
        return [base64.b64decode(body["messages"][0]["content"][0]["source"]["data"]) for body in stub.posts]


def to_gemini(requests: Sequence[Request], side: int | None) -> list[bytes]:
    pytest.importorskip("google.genai")
    with ProviderStub(lambda _: gemini_says()) as stub:
        send_all(GeminiModel("gemini-test", stub.url, max_image_side=side), requests)
        return [base64.b64decode(body["contents"][0]["parts"][0]["inlineData"]["data"]) for body in stub.posts]


ENDPOINTS = {"openai": to_openai, "openai edits": to_edits, "anthropic": to_anthropic, "gemini": to_gemini}
NOT_TAKEN_BY = {"gemini": ("gif",)}


@each_kind
def test_models_on_this_machine_see_the_pixels_of_the_definition(kind: Kind, tmp_path: Path) -> None:
    part = part_of(kind, tmp_path)
    seen = image_of(part)
    assert seen.mode == "RGB"
    assert not kind.differs(seen)
    assert part.shown(keeps_grey=True).mode in ("L", "RGB")


@pytest.mark.parametrize("side", [None, SMALL_SIDE])
@pytest.mark.parametrize("name", ENDPOINTS)
def test_endpoints_receive_the_pixels_of_the_definition(
    name: str, side: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(variable, "a-key")
    parts = [part_of(kind, tmp_path) for kind in KINDS]
    received = ENDPOINTS[name]([question(part) for part in parts], side)
    assert len(received) == len(KINDS)
    wrong = []
    for kind, part, data in zip(KINDS, parts, received, strict=True):
        image = pil.open(io.BytesIO(data))
        is_converted = data != part.original_bytes()
        if is_converted and (image.mode not in ("1", "L", "P", "RGB") or "transparency" in image.info):
            wrong.append(f"{kind.name}: mode {image.mode}")
        wrong.append(kind.differs(image, is_lossy=(is_converted and image.format == "JPEG") or side is not None))
        must_stay = kind.is_sent and side is None and not kind.name.startswith(NOT_TAKEN_BY.get(name, ("no",)))
        if must_stay is is_converted and (must_stay or kind.is_sent is False):
            wrong.append(f"{kind.name}: converted {is_converted}")
    assert not list(filter(None, wrong))


def test_what_reads_text_is_given_the_pixels_of_the_definition(tmp_path: Path) -> None:
    given: list[Any] = []

    def reader(pixels: Any) -> Any:
        given.append(pixels)
        return SimpleNamespace(txts=("text",))

    model = OcrModel(n_threads=1)
    model._readers.put(reader)
    model._threads = ThreadPoolExecutor(1)
    for kind in KINDS:
        given.clear()
        model._read_before.clear()
        assert model.respond([question(part_of(kind, tmp_path))])[0].text == "text"
        assert not kind.differs(pil.fromarray(np.ascontiguousarray(given[0][:, :, ::-1])))
    broken, good = model.respond([question(Image(b"no image")), question(Image(pil.new("RGB", (9, 9))))])
    assert broken.error is not None
    assert broken.error.kind == "data"
    assert good.text == "text"
    model.close()


@each_kind
def test_previews_show_what_models_see(kind: Kind, tmp_path: Path) -> None:
    part = part_of(kind, tmp_path)
    MediaStore(tmp_path / "media").keep_preview(part)
    assert part.note is not None
    file = media_path(tmp_path / "media", part.note["file"])
    with pil.open(file) as kept:
        shown = Image(file.read_bytes()).open()  # as a browser does, upright
        assert not kind.differs(shown, is_lossy=kept.format == "JPEG")
    assert kind.is_sent <= (file.read_bytes() == part.original_bytes())


def test_frames_that_a_task_gives_are_shown_like_images() -> None:
    clear = pil.new("RGBA", (16, 16), (0, 0, 0, 0))
    (frame,) = MediaEncoder(num_frames=1).video(Video([clear]))
    assert pil.open(io.BytesIO(base64.b64decode(frame.base64))).getpixel((8, 8)) == (255, 255, 255)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.is_sent], ids=lambda kind: kind.name)
def test_the_header_is_enough_to_leave_an_image_as_it_is(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Image, "open", lambda self: pytest.fail("decoded"))
    part = part_of(kind, tmp_path)
    assert base64.b64decode(MediaEncoder().image(part).base64) == part.original_bytes()


@pytest.mark.filterwarnings("ignore::UserWarning")  # Pillow warns about some of what is missing
@each_kind
def test_a_file_that_was_cut_is_sent_or_an_error_of_its_data(kind: Kind) -> None:
    data = kind.make()
    for length in range(0, 120, 11) if isinstance(data, bytes) else ():
        with suppress(DataError):
            assert MediaEncoder().image(Image(data[:length])).base64 or not length
