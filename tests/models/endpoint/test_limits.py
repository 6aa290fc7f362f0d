"""No answer is held that is larger than the limit, however it is compressed, and whoever's library reads it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiohttp import web

from polymeter.core.errors import ModelError, PlanError
from polymeter.core.model import AsyncModel
from polymeter.models.anthropic import AnthropicModel
from polymeter.models.gemini import GeminiModel
from polymeter.models.openai import OpenAIModel
from tests.helpers.openai_stub import chat
from tests.helpers.provider_stubs import ProviderStub, ask, claude_says, gemini_says, question

MAKERS: dict[str, Callable[..., AsyncModel]] = {
    "openai": lambda url, **args: OpenAIModel("m", base_url=f"{url}/v1", **args),
    "anthropic": lambda url, **args: AnthropicModel("m", url, **args),
    "gemini": lambda url, **args: GeminiModel("m", url, **args),
}
SAYS = {"openai": chat, "anthropic": lambda text: claude_says(text).body, "gemini": lambda text: gemini_says(text).body}


class Bulky(ProviderStub):
    """Sends a body as it is told, compressed or not, and in pieces without a length."""

    data: bytes = b""
    status: int = 200
    coding: str = ""

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        headers = {"Content-Type": "application/json", **({"Content-Encoding": self.coding} if self.coding else {})}
        response = web.StreamResponse(status=self.status, headers=headers)
        response.enable_chunked_encoding()
        await response.prepare(request)
        try:
            for start in range(0, len(self.data), 1 << 16):
                await response.write(self.data[start : start + (1 << 16)])
            await response.write_eof()
        except ConnectionError:
            pass  # whoever asked has read enough
        return response


@pytest.fixture(scope="module")
def stub() -> Iterator[Bulky]:
    with Bulky(lambda _: claude_says()) as server:
        yield server


@pytest.fixture(params=MAKERS)
def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    return str(request.param)


def error_of(model: AsyncModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(model, question("2+2?"))
    return caught.value


@pytest.mark.parametrize("coding", ["", "gzip"])
def test_an_answer_beyond_the_limit_is_an_error_that_names_it(stub: Bulky, provider: str, coding: str) -> None:
    body = json.dumps(SAYS[provider]("x" * (3 << 20))).encode()
    stub.status, stub.coding, stub.data = 200, coding, gzip.compress(body) if coding else body
    error = error_of(MAKERS[provider](stub.url, max_answer_mb=2))
    assert error.kind == "permanent"
    assert error.what == "The endpoint's answer is larger than 2 MB."
    assert "max_answer_mb=8" in error.hint
    assert len(ask(MAKERS[provider](stub.url, max_answer_mb=4), question("2+2?"))[0].text) == 3 << 20


def test_a_compressed_answer_is_read(stub: Bulky, provider: str) -> None:
    stub.status, stub.coding, stub.data = 200, "gzip", gzip.compress(json.dumps(SAYS[provider]("four")).encode())
    assert ask(MAKERS[provider](stub.url), question("2+2?"))[0].text == "four"


def test_an_error_is_cut(stub: Bulky, provider: str) -> None:
    stub.status, stub.coding, stub.data = 503, "", b"no healthy upstream " * (1 << 18)
    error = error_of(MAKERS[provider](stub.url, max_answer_mb=2))
    assert error.kind == "transient"
    assert "larger" not in error.what
    assert len(error.what) < 1000


@pytest.mark.parametrize("size", [0, -1, "2", True])
def test_a_limit_is_a_positive_number(provider: str, size: Any) -> None:
    with pytest.raises(PlanError, match="max_answer_mb must be a number above 0"):
        MAKERS[provider]("http://127.0.0.1:1", max_answer_mb=size)
