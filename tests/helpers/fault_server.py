"""An OpenAI-compatible server on this machine that has a bad day, as bad as it is told.

It stands in for an endpoint in tests (``with FaultServer(...) as server``, on a thread) and in benchmarks
(``python -m tests.helpers.fault_server --port 0 …``, in a process of its own, which prints its address). Latencies and
faults are drawn from the content of the request, the number of the try and a seed, so that two runs meet the same day,
and the answer from the content alone: a calm run and a stormy one must give the same.

It speaks HTTP/1.1 by hand over ``asyncio``, because some faults are no HTTP at all, and because it must be much cheaper
than what is measured against it.

    POST /v1/chat/completions, /v1/completions   answers
    POST /v1/images/generations                  pictures, whose colour is drawn from prompt and seed
    GET  /v1/models                              the one model
    GET  /stats, /reset                          what happened, as JSON; forget it
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import json
import random
import threading
import time
import zlib
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.helpers.fault_weather import DECLINED, FAULTS, PERSISTENT, Latency, Weather

MODEL = "fault"
_MOST_AROUND = 400
"""Tokens around a prompt, where as much as possible is charged."""
_ASKED_AHEAD = 2
"""So many lone questions before all others (is the server there? does the model see images?) are not in the window."""

_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error"}
_REASONS |= {502: "Bad Gateway", 503: "Service Unavailable"}
_PAGE = b"<html><body><h1>Please sign in</h1></body></html>"


@dataclass
class Stats:
    """What happened. Times are seconds of this process; ``busy_s`` is the sum of the latencies that were drawn, and
    ``first_s`` when the first request came that others followed while it was answered. ``charged``: by model, the
    tokens of prompts and answers that a provider would charge for; ``received``: the models and questions, if the
    weather keeps them.
    """

    requests: int = 0
    answered: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    most_in_flight: int = 0
    connections: int = 0
    first_s: float = 0.0
    last_s: float = 0.0
    busy_s: float = 0.0
    charged: dict[str, list[int]] = field(default_factory=dict)
    received: list[tuple[str, str]] = field(default_factory=list)

    def charge(self, model: str, n_input: int, n_output: int) -> None:
        """Charge a model's tokens, as a provider does for all that it worked on, whatever became of the answer."""
        of_model = self.charged.setdefault(model, [0, 0])
        of_model[0] += n_input
        of_model[1] += n_output

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with the window from the first request to the last answer."""
        return {**asdict(self), "faults": dict(self.faults), "window_s": self.last_s - self.first_s}


class FaultServer:
    """The server, on an event loop of its own in a thread while the ``with`` block lasts.

    Args:
        weather: What it does; may be replaced while it runs.
        port: 0: any free one.
    """

    def __init__(self, weather: Weather | None = None, *, port: int = 0) -> None:
        self.weather = weather or Weather()
        self.stats = Stats()
        self.port = port
        self.tries: Counter[tuple[int, int]] = Counter()
        self.n_working = 0
        self.queue: deque[Callable[[], None]] = deque()

    @property
    def base_url(self) -> str:
        """What goes before ``/chat/completions``."""
        return f"http://127.0.0.1:{self.port}/v1"

    def forget(self) -> None:
        """Begin to count anew, also tries: the same day comes again."""
        connections = self.stats.connections
        self.stats = Stats(connections=connections)
        self.tries.clear()

    async def serve(self) -> asyncio.Server:
        """Start to listen on the running loop."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(self, loop), "127.0.0.1", self.port, backlog=2048)
        self.port = server.sockets[0].getsockname()[1]
        return server

    def __enter__(self) -> FaultServer:
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(self.serve())
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-server", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _Connection(asyncio.Protocol):
    """One connection: reads requests one after another, answers each."""

    def __init__(self, server: FaultServer, loop: asyncio.AbstractEventLoop) -> None:
        self._server = server
        self._loop = loop
        self._buffer = bytearray()
        self._needed = 0
        self._transport: asyncio.Transport = None  # type: ignore[assignment]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.stats.connections += 1

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= self._needed:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self._buffer[:end])
            self._needed = end + 4 + _length(head)
            if len(self._buffer) < self._needed:
                return
            body = bytes(self._buffer[end + 4 : self._needed])
            del self._buffer[: self._needed]
            self._needed = 0
            method, path, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
            self._route(method, path.partition("?")[0], body)

    def _route(self, method: str, path: str, body: bytes) -> None:
        kinds = {"/v1/chat/completions": "chat", "/v1/completions": "text", "/v1/images/generations": "images"}
        if method == "POST" and path in kinds:
            _Exchange(self._server, self._loop, self._transport, body, kinds[path]).begin()
        elif path == "/v1/models":
            send(self._transport, 200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        elif path == "/stats":
            send(self._transport, 200, self._server.stats.as_dict())
        elif path == "/reset":
            self._server.forget()
            send(self._transport, 200, {})
        else:
            send(self._transport, 404, _error(f"There is no {path}.", "not_found_error"))


class _Exchange:
    """One request and what becomes of it."""

    def __init__(
        self,
        server: FaultServer,
        loop: asyncio.AbstractEventLoop,
        transport: asyncio.Transport,
        body: bytes,
        kind: str,
    ) -> None:
        self._server, self._loop, self._transport, self._body = server, loop, transport, body
        self._kind = kind
        self._stats = server.stats
        self._weather = server.weather

    def begin(self) -> None:
        """Count it, choose its fate, and answer it later."""
        stats, weather = self._stats, self._weather
        stats.requests += 1
        stats.in_flight += 1
        stats.most_in_flight = max(stats.most_in_flight, stats.in_flight)
        if stats.in_flight == 1 and stats.requests <= _ASKED_AHEAD + 1:
            stats.first_s = time.perf_counter()
        content = _mark(self._body)
        self._server.tries[content] += 1
        source = _drawn(weather.seed, content, self._server.tries[content])
        self._latency_s = weather.latency.draw(source)
        fault = self._fault(source, content)
        if weather.keeps_bill:
            self._receive(is_declined=fault in DECLINED)
        if fault == "hang":
            stats.faults["hang"] += 1
            stats.in_flight -= 1
            return
        if weather.capacity and self._server.n_working >= weather.capacity:
            if weather.queues:
                self._server.queue.append(lambda: self._work(fault))
            else:
                self._fail("rate_limit")
            return
        self._work(fault)

    def _receive(self, *, is_declined: bool) -> None:
        """Note the request, and charge for it now: a client that dies pays all the same."""
        answer = self._answer()
        question = _question(json.loads(_without_media(self._body)))
        self._stats.received.append((answer["model"], question))
        if not is_declined:
            usage = answer.get("usage", self._usage)
            self._stats.charge(answer["model"], usage["prompt_tokens"], usage["completion_tokens"])

    def _fault(self, source: random.Random, content: tuple[int, int]) -> str:
        draw, below = source.random(), 0.0
        if self._weather.bad_requests and _drawn(self._weather.seed, content, 0).random() < self._weather.bad_requests:
            return PERSISTENT
        for name, share in self._weather.shares.items():
            below += share
            if draw < below:
                return name
        return ""

    def _work(self, fault: str) -> None:
        self._server.n_working += 1
        is_at_once = fault in ("rate_limit", "rate_limit_after", PERSISTENT)
        latency_s = 0.0 if is_at_once else self._latency_s
        self._stats.busy_s += latency_s
        if latency_s:
            self._loop.call_later(latency_s, self._finish, fault)
        else:
            self._loop.call_soon(self._finish, fault)

    def _finish(self, fault: str) -> None:
        self._server.n_working -= 1
        while self._server.queue and self._server.n_working < self._weather.capacity:
            self._server.queue.popleft()()
        if fault == "slow":
            self._stats.faults["slow"] += 1
            self._drip(_http(200, self._answer()), 8)
        elif fault:
            self._fail(fault)
        else:
            self._write(_http(200, self._answer()), is_answer=True)

    def _drip(self, data: bytes, pieces: int) -> None:
        size = -(-len(data) // pieces)
        if pieces <= 1:
            self._write(data, is_answer=True)
            return
        self._transport.write(data[:size])
        self._loop.call_later(self._weather.slow_s / 8, self._drip, data[size:], pieces - 1)

    def _fail(self, fault: str) -> None:
        self._stats.faults[fault] += 1
        if fault == "reset":
            self._transport.abort()
            self._write(b"", is_answer=False)
        elif fault == "truncated":
            whole = _http(200, self._answer())
            self._write(whole[: -len(whole) // 8], is_answer=False)
            self._transport.close()
        else:
            self._write(self._failure(fault), is_answer=False)

    def _failure(self, fault: str) -> bytes:
        if fault == "rate_limit":
            return _http(429, _error("Slow down.", "rate_limit_error"))
        if fault == "rate_limit_after":
            after = f"Retry-After: {self._weather.retry_after_s:g}\r\n"
            return _http(429, _error("Slow down.", "rate_limit_error"), more=after)
        if fault == "internal":
            return _http(500, _error("Something broke.", "server_error"))
        if fault == "bad_gateway":
            return _http(502, b"<html>502</html>", kind="text/html")
        if fault == "unavailable":
            return _http(503, b"no healthy upstream", kind="text/plain")
        if fault == "malformed":
            return _http(200, b'{"id": "x", "choices": [{"message": {"content": "hal')
        if fault == "error_body":
            return _http(200, _error("The worker died.", "server_error"))
        if fault == "no_message":
            return _http(200, {"object": "chat.completion", "choices": [{}]})
        if fault == "no_end":
            return _http(200, {"choices": [{"message": {"role": "assistant", "content": None}, "finish_reason": None}]})
        if fault == "wrong_type":
            return _http(200, _PAGE, kind="text/html")
        return _http(400, _error("This content is not taken.", "invalid_request_error"))

    def _write(self, data: bytes, *, is_answer: bool) -> None:
        if data and not self._transport.is_closing():
            self._transport.write(data)
        self._stats.answered += is_answer
        self._stats.in_flight -= 1
        self._stats.last_s = time.perf_counter()

    def _answer(self) -> dict[str, Any]:
        body = json.loads(_without_media(self._body))
        if self._kind == "images":
            colour = zlib.crc32(f"{body['prompt']}:{body.get('seed')}".encode()) & 0xFFFFFF
            return {"created": 1, "data": [{"b64_json": _png(colour)} for _ in range(body.get("n") or 1)]}
        is_chat = self._kind == "chat"
        question = _question(body)
        text = self._weather.answers.get(question, question)
        n = body.get("n") or 1
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or len(text)
        n_tokens = min(len(text) // 4 + 1, limit) * n
        self._usage = {"prompt_tokens": len(self._body) // 4, "completion_tokens": n_tokens}
        if self._weather.charges_most:
            n_bytes = sum(len(str(message["content"]).encode()) for message in body.get("messages") or ())
            self._usage = {"prompt_tokens": n_bytes + _MOST_AROUND, "completion_tokens": limit * n}
        states = _drawn(self._weather.seed, _mark(self._body), "usage").random() >= self._weather.unstated
        shape = {"message": {"role": "assistant", "content": text}} if is_chat else {"text": text}
        return {
            "id": "x",
            "object": "chat.completion" if is_chat else "text_completion",
            "model": body.get("model", MODEL),
            "choices": [{"index": place, "finish_reason": "stop", **shape} for place in range(n)],
            **({"usage": self._usage} if states else {}),
        }


def _png(colour: int) -> str:
    """A picture of one colour (0xRRGGBB), as base64."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (16, 16), (colour >> 16, colour >> 8 & 0xFF, colour & 0xFF)).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def _question(body: Mapping[str, Any]) -> str:
    """The last text of a request."""
    if "prompt" in body:
        return str(body["prompt"])
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return str([part["text"] for part in content if part.get("type") == "text"][-1])


def _mark(body: bytes) -> tuple[int, int]:
    """Tells contents apart. Media is long and differs at its ends too."""
    return (zlib.crc32(body[-4096:], zlib.crc32(body[:4096])), len(body))


def _drawn(*seed: object) -> random.Random:
    return random.Random(zlib.crc32(repr(seed).encode()))


def _without_media(body: bytes) -> bytes:
    """The body with its data URLs cut short: nobody here looks at them, and reading them costs."""
    pieces, at = [], 0
    while (start := body.find(b";base64,", at)) >= 0:
        pieces.append(body[at:start])
        at = body.index(b'"', start)
    return b"".join([*pieces, body[at:]])


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        if line[:15].lower() == b"content-length:":
            return int(line[15:])
    return 0


def _error(message: str, kind: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": None}}


def _http(status: int, body: Any, *, kind: str = "application/json", more: str = "") -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n{more}\r\n"
    return head.encode() + data


def send(transport: asyncio.Transport, status: int, body: Any) -> None:
    """Answer at once."""
    transport.write(_http(status, body))


def _parsed() -> tuple[Weather, int]:
    parser = argparse.ArgumentParser(description="An OpenAI-compatible server that has a bad day.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", choices=("constant", "uniform", "lognormal"), default="constant")
    parser.add_argument("--mean-ms", type=float, default=0.0)
    parser.add_argument("--sigma", type=float, default=0.5)
    parser.add_argument("--fault", action="append", default=[], metavar="NAME=SHARE", help=", ".join(FAULTS))
    parser.add_argument("--bad-requests", type=float, default=0.0)
    parser.add_argument("--retry-after-s", type=float, default=0.02)
    parser.add_argument("--slow-s", type=float, default=0.02)
    parser.add_argument("--capacity", type=int, default=0)
    parser.add_argument("--queues", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--answers", type=Path, help="a JSON object, question to answer")
    told = parser.parse_args()
    shares = {name: float(share) for name, _, share in (fault.partition("=") for fault in told.fault)}
    answers = json.loads(told.answers.read_text(encoding="utf-8")) if told.answers else {}
    latency = Latency(told.latency, told.mean_ms / 1000, told.sigma)
    weather = Weather(
        latency,
        shares,
        told.bad_requests,
        told.retry_after_s,
        told.slow_s,
        told.capacity,
        told.queues,
        told.seed,
        answers,
    )
    return weather, told.port


async def _main(weather: Weather, port: int) -> None:
    server = FaultServer(weather, port=port)
    listening = await server.serve()
    print(server.base_url, flush=True)
    await listening.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(*_parsed()))
