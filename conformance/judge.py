"""A judge on this machine: an OpenAI-compatible endpoint whose verdicts depend on nothing but the request's content.

Both tools reach the same one, so that equal questions get equal verdicts. The form of a verdict is taken from words of
the question, as far as they tell it.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def verdict(text: str) -> str:
    """What the judge says about a question."""
    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:4], "big")
    words = text.lower()
    keys = list(dict.fromkeys(re.findall(r"[\"']([A-Za-z_]\w*)[\"']\s*:", text)))
    if keys and ("json" in words or "{" in words):
        return json.dumps({key: _value(key, number >> position) for position, key in enumerate(keys[:8])})
    if re.search(r"[\"'`]?\b[01]\b[\"'`]?\s*(or|/)\s*[\"'`]?\b[01]\b", text):
        return str(number % 2)
    if "incorrect" in words and "correct" in words:
        return "CORRECT" if number % 2 else "INCORRECT"
    if re.search(r"\[\[[A-C]\]\]", text):
        return f"[[{'ABC'[number % 3]}]]"
    if re.search(r"\byes\b", words) and re.search(r"\bno\b", words):
        return "yes" if number % 2 else "no"
    if re.search(r"\b0\b", words) and re.search(r"\b1\b", words) and not re.search(r"\b([2-9]|10|100)\b", words):
        return str(number % 2)
    if "score" in words or "rating" in words or "rate" in words:
        return f"{number % 5 + 1}"
    return "yes" if number % 2 else "no"


def _value(key: str, number: int) -> Any:
    if re.search(r"score|rating|grade|points|mark", key, re.I):
        return number % 5 + 1
    if re.search(r"reason|explanation|analysis|comment|rationale", key, re.I):
        return "as the answer says"
    if re.search(r"correct|match|valid|is_|pass", key, re.I):
        return bool(number % 2)
    return "yes" if number % 2 else "no"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "judge", "object": "model"}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        text = verdict("\n".join(_texts(asked.get("messages") or asked.get("prompt") or "")))
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        choice = {"index": 0, "message": message, "text": text, "finish_reason": "stop"}
        self._send(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": "judge",
                "choices": [choice],
                "usage": usage,
            }
        )

    def _send(self, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing is logged."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that hangs up is no error here."""


def _texts(messages: Any) -> Iterator[str]:
    if isinstance(messages, str):
        yield messages
    elif isinstance(messages, list):
        for one in messages:
            yield from _texts(one)
    elif isinstance(messages, dict):
        yield from _texts(messages.get("content") or messages.get("text") or "")


@contextmanager
def judge_endpoint() -> Iterator[str]:
    """Serve verdicts; the address, up to ``/v1``."""
    server = _Server(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
