"""A scripted endpoint on this machine: the judge, and the scripted models for runs that ask an endpoint."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from conformance.evalscope.answers import MODELS
from conformance.evalscope.stand_ins import MARK, Script

JUDGES = ("judge", "judge-that-rambles", "judge-of-numbers")

# What the prompt of a benchmark contains, and what the judge says to it.
_FORMS: Sequence[tuple[str, Sequence[str]]] = (
    ("model_identifier", ("m", "M", "M\n", " m", "The best one is M", "M")),
    ("[[A>>B]]", ("[[A>>B]]", "[[A>B]]", "Both are fine. [[A=B]]", "My final verdict is: [[B>A]]", "[[B>>A]]", "A")),
    ("[[score]]", ("[[10]]", "[[7]]", "Score: [[3]]", "[[1]]", "[[5]] because of the reference", "[[8]]")),
    ("YES", ("YES", "NO", "YES.", "NO", "The answer is NO", "no")),
    ('"A", "B", or "C"', ("A", "B", "C", "A", "B\n", "C")),
    ("【未尝试】", ("A", "B", "C", "A", "B\n", "C")),
)
# What the judge says to a prompt that is no benchmark's own.
_DEFAULTS = {
    "judge": ("A", "B", "A\n", "B", " A", "B", "B.", "**A**"),
    "judge-that-rambles": ("Based on both answers: B", "Both are fine.", "Grade: B", "I would say B", "correct", "A"),
    "judge-of-numbers": ("[[1]]", "Rating: [[0.5]]", "Fine. [[0.25]]", "[[0]]", "Rating: [[0.75]]\n"),
}


@contextmanager
def serve(script: Script) -> Iterator[str]:
    """The endpoint's address, as long as it is needed.

    Args:
        script: What the scripted models say.
    """

    class Handler(_Handler):
        said = script

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def verdict(judge: str, prompt: str, script: Script) -> str:
    """What a judge says to all text of a request: by the whole text where it is the benchmark's own; otherwise by
    question and answer, because the two tools word the question differently.
    """
    for hint, said in _FORMS:
        if hint in prompt:
            return said[zlib.crc32(prompt.encode()) % len(said)]
    marks = MARK.findall(prompt)
    contained = [model for model in MODELS if str(script.said(marks[-1], model)) in prompt] if marks else []
    said = _DEFAULTS[judge]
    return said[zlib.crc32(repr((marks[-1:], contained)).encode()) % len(said)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    said: Script

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model = asked["model"]
        if model in MODELS:
            text = self.said.answer(model, {"messages": asked["messages"]})
        else:
            text = verdict(model, "\n".join(_text(message["content"]) for message in asked["messages"]), self.said)
        message = {"role": "assistant", "content": text}
        count = asked.get("n") or 1
        choices = [{"index": i, "message": message, "finish_reason": "stop"} for i in range(count)]
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self._answer(
            {"id": "x", "object": "chat.completion", "created": 0, "usage": usage, "choices": choices, "model": model}
        )

    def do_GET(self) -> None:
        self._answer({"data": [{"id": name, "object": "model"} for name in (*MODELS, *JUDGES)]})

    def log_message(self, *_: Any) -> None:
        """Requests are not shown."""

    def _answer(self, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
