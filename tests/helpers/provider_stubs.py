"""Local stand-ins for the servers of hosted models: they record what is sent and answer as they are told."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from PIL import Image as pil

from polymeter.core.content import Part, Text
from polymeter.core.model import AsyncModel
from polymeter.core.request import Generate, Message, Request, Response


@dataclass(frozen=True)
class Seen:
    """One request that arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """One answer: JSON, or a text as it is; or a misdeed (``reset``, ``truncate``, ``hang``)."""

    body: Any = field(default_factory=dict)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    misdeed: str = ""

    @property
    def text(self) -> str:
        return self.body if isinstance(self.body, str) else json.dumps(self.body)


Script = Callable[[Seen], Reply]


class ProviderStub:
    """A server on loopback, in a thread of its own.

    Args:
        script: Gives the answer to a POST.
        models: Gives the answer to a GET.
    """

    def __init__(self, script: Script, models: Script | None = None) -> None:
        self.script = script
        self.models = models or (lambda _: Reply({"error": {"message": "no listing"}}, 404))
        self.seen: list[Seen] = []
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._runner: web.AppRunner | None = None

    @property
    def posts(self) -> list[Any]:
        """The bodies of the POSTs, in the order in which they came."""
        return [seen.body for seen in self.seen if seen.method == "POST"]

    def __enter__(self) -> ProviderStub:
        self._thread.start()
        self.url = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._runner is not None
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _start(self) -> str:
        app = web.Application(client_max_size=1 << 27)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        data = await request.read()
        seen = Seen(request.method, request.path, dict(request.headers), json.loads(data) if data else None)
        self.seen.append(seen)
        reply = (self.models if request.method == "GET" else self.script)(seen)
        if reply.misdeed == "hang":
            await asyncio.sleep(3600)
        if reply.misdeed == "reset":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if reply.misdeed == "truncate":
            return await _truncated(request, reply)
        return web.Response(
            text=reply.text, status=reply.status, headers=reply.headers, content_type=reply.content_type
        )


async def _truncated(request: web.Request, reply: Reply) -> web.StreamResponse:
    data = reply.text.encode()
    response = web.StreamResponse(headers={"Content-Length": str(len(data)), "Content-Type": "application/json"})
    await response.prepare(request)
    await response.write(data[: len(data) // 2])
    assert request.transport is not None
    request.transport.abort()
    return response


def picture(kind: str, colour: str = "red") -> bytes:
    """A small picture, encoded."""
    buffer = io.BytesIO()
    pil.new("RGB", (8, 8), colour).save(buffer, kind)
    return buffer.getvalue()


def question(*parts: Part | str, **settings: Any) -> Request:
    """One message of a user, and generation settings."""
    said = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return Request((Message("user", said),), Generate(**settings))


def ask(model: AsyncModel, *requests: Request) -> list[Response]:
    """The answers of a model that is closed afterwards."""

    async def all_of_them() -> list[Response]:
        try:
            return await asyncio.gather(*(model.respond(request) for request in requests))
        finally:
            await model.aclose()

    return asyncio.run(all_of_them())


def claude_says(text: str = "four", **fields: Any) -> Reply:
    """An ordinary answer of the Messages API."""
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 12, "output_tokens": 3},
    }
    return Reply(message | fields)


def claude_fails(status: int, kind: str, message: str = "as told", **headers: str) -> Reply:
    """An error of the Messages API."""
    return Reply({"type": "error", "error": {"type": kind, "message": message}}, status, headers)


def gemini_says(text: str = "four", **fields: Any) -> Reply:
    """An ordinary answer of ``generateContent``."""
    answer: dict[str, Any] = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 3, "totalTokenCount": 15},
        "modelVersion": "gemini-test",
    }
    return Reply(answer | fields)


def gemini_fails(status: int, kind: str, message: str = "as told", *details: Any, **headers: str) -> Reply:
    """An error of Google's API."""
    error = {"code": status, "message": message, "status": kind, "details": list(details)}
    return Reply({"error": error}, status, headers)
