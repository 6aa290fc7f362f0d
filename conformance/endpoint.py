"""The server behind the scripted endpoints of the suites: OpenAI-compatible, on this machine, as long as needed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar


class ChatHandler(BaseHTTPRequestHandler):
    """Answers one request. Subclasses define ``do_POST``."""

    protocol_version = "HTTP/1.1"
    models: ClassVar[Sequence[str]] = ()

    def do_GET(self) -> None:
        """List the models."""
        self.send_content({"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})

    def read_body(self) -> bytes:
        """The body of the request."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send_text(self, text: str, model: str, n: int = 1) -> None:
        """Answer with a text, ``n`` times, for chats and completions alike."""
        message = {"role": "assistant", "content": text}
        choices = [{"index": i, "message": message, "text": text, "finish_reason": "stop"} for i in range(n)]
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self.send_content(
            {"id": "x", "object": "chat.completion", "created": 0, "usage": usage, "choices": choices, "model": model}
        )

    def send_content(self, content: Mapping[str, Any]) -> None:
        """Answer with JSON."""
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Requests are not shown."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that hangs up is no error here."""


@contextmanager
def serving(handler: type[ChatHandler], **attributes: Any) -> Iterator[str]:
    """Serve; yields the address, up to ``/v1``.

    Args:
        handler: Answers requests.
        **attributes: Attributes of its class, such as a script.
    """
    server = _Server(("127.0.0.1", 0), type(handler.__name__, (handler,), attributes))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
