"""One server that speaks the protocols of OpenAI, Anthropic and Google. Its answers follow from the question alone."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from typing import Any

from tests.helpers.openai_stub import OpenAIStub, Received, Reply, chat, images, png
from tests.helpers.provider_stubs import claude_says, gemini_says

_ANSWER_S = 0.03
"""How long an answer takes, so that kills come between answers."""


class Endpoint(OpenAIStub):
    """The server; ``url`` is its address without a path."""

    def __init__(self) -> None:
        super().__init__(_answer)

    @property
    def url(self) -> str:
        return self.base_url.removesuffix("/v1")

    @property
    def n_asked(self) -> int:
        """How many requests it has had that ask for something."""
        return sum(map(_counts, self.received))

    def answer(self, received: Received) -> Reply:
        """Say what follows from the question, after a while."""
        reply = super().answer(received)
        time.sleep(_ANSWER_S)
        return reply

    def __enter__(self) -> Endpoint:
        super().__enter__()
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  (killed runs hang up)
        return self


def _answer(received: Received) -> Any:
    """What the server says. The judge likes every second thing."""
    if not received.raw:  # a look at the models that there are
        name = received.path.rpartition("/")[2]
        return {"name": f"models/{name}", "data": [{"id": "gpt-image-1"}]}
    body = received.body
    if received.path.endswith("/images/generations"):
        return images(png(_colour(body["prompt"])))
    if received.path.endswith("/messages"):
        return claude_says(_text(body["messages"])).body
    if received.path.endswith(":generateContent"):
        return _of_gemini(body)
    if body["model"] == "judge":
        return chat("AB"[_number(body["messages"]) % 2])
    return chat(_text(body["messages"]))


def _counts(received: Received) -> bool:
    """Whether a request asks for something: neither a look at the models, nor the one with which a start of a run
    shows that an endpoint is there.
    """
    if not received.raw or '"ping"' in json.dumps(received.body):
        return False
    body = received.body
    return 1 not in (body.get("max_tokens"), body.get("generationConfig", {}).get("maxOutputTokens"))


def _of_gemini(body: dict[str, Any]) -> Any:
    config = body.get("generationConfig", {})
    asked = [body["contents"], config.get("seed")]
    if "responseModalities" not in config:
        return gemini_says(_text(asked)).body
    data = base64.b64encode(png(_colour(asked))).decode()
    part = {"inlineData": {"mimeType": "image/png", "data": data}}
    return gemini_says(candidates=[{"content": {"parts": [part]}, "finishReason": "STOP"}]).body


def _text(asked: Any) -> str:
    return f"It is {_number(asked) % 9}"


def _colour(asked: Any) -> tuple[int, int, int]:
    number = _number(asked)
    return number % 256, number // 256 % 256, 9


def _number(asked: Any) -> int:
    return int.from_bytes(hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).digest()[:4], "big")
