"""A server that says what a test tells it to say, and remembers what it was asked."""

from __future__ import annotations

import base64
import io
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """An answer: plain data is sent as JSON, text and bytes as they are. One that comes later holds up no other."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    after_s: float = 0.0


@dataclass(frozen=True)
class Received:
    """A request."""

    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        """The JSON."""
        return json.loads(self.raw)  # type: ignore[no-any-return]

    @property
    def form(self) -> list[tuple[str, str | None, str, bytes]]:
        """The fields of a form: name, name of the file, MIME type, content."""
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        parts: Any = BytesParser().parsebytes(head + self.raw).get_payload()
        return [
            (
                part.get_param("name", header="content-disposition"),
                part.get_filename(),
                part.get_content_type(),
                part.get_payload(decode=True),
            )
            for part in parts
        ]


Respond = Callable[[Received], Any]


def chat(text: str | None = "ok", *, n: int = 1, **more: Any) -> dict[str, Any]:
    """A chat's answer; ``more`` goes into the message."""
    message = {"role": "assistant", "content": text, **more}
    return {
        "object": "chat.completion",
        "choices": [{"index": place, "finish_reason": "stop", "message": message} for place in range(n)],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    }


def png(colour: Any = "red", size: tuple[int, int] = (8, 4)) -> bytes:
    """A picture of one colour."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, "PNG")
    return buffer.getvalue()


def images(*data: bytes | Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """An answer with images: encoded ones, or what the server says of one."""
    said = [one if isinstance(one, Mapping) else {"b64_json": base64.b64encode(one).decode()} for one in data]
    return {"created": 1, "data": said, **more}


def failure(message: str, status: int, **more: Any) -> Reply:
    """A failure in OpenAI's words; ``more`` goes into the error."""
    return Reply({"error": {"message": message, **more}}, status)


class OpenAIStub:
    """Listens while the ``with`` block lasts.

    Args:
        respond: Gives a ``Reply`` or plain data for a request; a list gives one after the other, the last for ever.
    """

    def __init__(self, respond: Respond | list[Any] | None = None) -> None:
        self.respond = respond or (lambda received: chat())
        self.received: list[Received] = []
        self._lock = threading.Lock()

    @property
    def base_url(self) -> str:
        """What goes before ``/chat/completions``."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """All bodies that were sent."""
        return [one.body for one in self.received if one.raw.startswith(b"{")]

    def answer(self, received: Received) -> Reply:
        """What to say next."""
        with self._lock:
            self.received.append(received)
            if isinstance(self.respond, list):
                given = self.respond.pop(0) if len(self.respond) > 1 else self.respond[0]
            else:
                given = self.respond(received)
        return given if isinstance(given, Reply) else Reply(given)

    def __enter__(self) -> OpenAIStub:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                reply = stub.answer(Received(self.path, dict(self.headers), self.rfile.read(length)))
                time.sleep(reply.after_s)
                if reply.body is None:  # hang up without a word
                    self.close_connection = True
                    return
                data = reply.body if isinstance(reply.body, (bytes, str)) else json.dumps(reply.body)
                data = data.encode() if isinstance(data, str) else data
                self.send_response(reply.status)
                for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
