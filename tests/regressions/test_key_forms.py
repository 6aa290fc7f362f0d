"""Keys and passwords are hidden in whatever way a server or a library writes them, and those that cannot be sent are
refused before a request.
"""

from __future__ import annotations

import base64
import html
import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from tests.regressions.copies import here, run

__all__ = ["here"]
KEY = "sécret/key+<1>'2'"
FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "percent codes": lambda key: quote(key, ""),
    "percent codes in lower case": lambda key: re.sub("%..", lambda code: code[0].lower(), quote(key, "")),
    "percent codes of a path": quote,
    "a form": quote_plus,
    "JSON": lambda key: json.dumps(key)[1:-1],
    "HTML": html.escape,
    "Python": lambda key: ascii(key)[1:-1],
    "bytes of Python": lambda key: repr(key.encode())[2:-1],
    "UTF-8 read as Latin-1": lambda key: key.encode().decode("latin-1"),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
}


class Refusing(ThreadingHTTPServer):
    """An endpoint that refuses every question with a text."""

    said = ""
    n_asked = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Refusing

    def do_POST(self) -> None:
        self.server.n_asked += 1
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_greeting = b"Repeat" not in body
        answer = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "x", "role": "assistant"}}]}
        data = json.dumps(answer if is_greeting else {"error": {"message": self.server.said}}, ensure_ascii=False)
        self.send_response(200 if is_greeting else 400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data.encode())))
        self.end_headers()
        self.wfile.write(data.encode())

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[Refusing]:
    server = Refusing(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def written(here: Path) -> str:
    """All texts of the run folder."""
    files = [path for path in (here / "run").rglob("*") if path.is_file()]
    return "\n".join(path.read_bytes().decode(errors="replace") for path in files)


def ask(here: Path, url: str, *more: str, model: str = "openai:m", **env: str) -> tuple[int, str]:
    """The exit code and the output of a run of one question."""
    given = {"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": "k", "GOOGLE_API_KEY": "k", **env}
    words = ["--model", model, "--model-args", f"base_url='{url}'", "--limit", "1", "--max-retries", "0", "--restart"]
    ended = run(here, *words, *more, **given)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "OTHER_API_KEY"])
def test_a_key_is_hidden_however_it_is_written(here: Path, endpoint: Refusing, variable: str) -> None:
    forms = {name: write(KEY) for name, write in FORMS.items()}
    endpoint.said = " ".join(f"[{name}: {form}]" for name, form in forms.items())
    code, said = ask(here, f"http://127.0.0.1:{endpoint.server_port}/v1", **{variable: KEY})
    assert code == 1
    row = (here / "run" / "samples" / "copies.jsonl").read_text()
    assert [name for name in forms if f"[{name}: ***]" not in row] == []
    for name, form in forms.items():
        for place, text in (("output", said), ("folder", written(here))):
            assert form not in text, f"{name} in the {place}"


@pytest.mark.parametrize(
    ("key", "message", "shown"),
    [
        ("a", "a bad day at all", "a bad day at all"),
        ("k1-x", "the key k1-x is bad, k1-xy is not", "the key *** is bad, k1-xy is not"),
        ("context", "The context length is 8.", "longer than the model accepts: The *** length is 8."),
    ],
)
def test_a_short_key_hides_no_part_of_a_word(
    here: Path, endpoint: Refusing, key: str, message: str, shown: str
) -> None:
    endpoint.said = message
    assert ask(here, f"http://127.0.0.1:{endpoint.server_port}/v1", OPENAI_API_KEY=key)[0] == 1
    assert shown in (here / "run" / "samples" / "copies.jsonl").read_text()


@pytest.mark.parametrize(
    "url",
    [
        "http://me:CANARY/0001@host/v1",
        "http://me:CANARY#0001@host/v1",
        "http://me:CANARY 0001@host/v1",
        "http://me:CANARY,0001@host:x/v1",
        "http://me:12/CANARY@host/v1",
        "http//me:CANARY0001@host/v1",
        "me:CANARY0001@host/v1",
    ],
)
def test_the_password_of_an_address_that_cannot_be_used_is_not_shown(here: Path, url: str) -> None:
    code, said = ask(here, url)
    assert code == 2, said
    assert "is not valid" in said
    assert "CANARY" not in said
    assert not (here / "run").exists()


@pytest.mark.parametrize(
    ("model", "package"), [("anthropic:claude-3-haiku", "anthropic"), ("gemini:gemini-2.0-flash", "google.genai")]
)
def test_nor_is_that_of_a_provider(here: Path, model: str, package: str) -> None:
    pytest.importorskip(package)
    code, said = ask(here, "http://me:CANARY/0001@host/v1", model=model)
    assert (code, "is not valid" in said, "CANARY" in said) == (2, True, False), said


def test_what_cannot_be_sent_is_refused_before_a_request(here: Path, endpoint: Refusing) -> None:
    host = f"127.0.0.1:{endpoint.server_port}/v1"
    for url, key, words in (
        (f"http://me:CANARY0001@{host}", "CANARY0002", "The address names a user, and a key is set too"),
        (f"http://{host}", "CANARY\n0003", "The key has a line break"),
    ):
        code, said = ask(here, url, OPENAI_API_KEY=key)
        assert code == 2, said
        assert words in said
        assert "CANARY" not in said
    assert endpoint.n_asked == 0


@pytest.mark.control
@pytest.mark.parametrize("path", ["/v1/@me", "/v1/models/a@b", "/v1?x=a@b"])
def test_an_address_may_have_an_at_sign_behind_its_host(here: Path, path: str) -> None:
    code, said = ask(here, f"http://nowhere.invalid{path}")
    assert (code, "cannot be reached" in said, f"at http://nowhere.invalid{path}" in said) == (2, True, True), said


def test_a_setting_in_a_variable_hides_no_words(here: Path) -> None:
    variables = {"X_CREDENTIALS": "admin:password", "SESSION_COOKIE": "mode=complete; id=CANARY000001"}
    missing = "password-complete-CANARY000001-admin:password"
    code, said = ask(here, "http://host/v1", "--include-path", missing, **variables)
    assert (code, "password-complete-***-***" in said) == (2, True), said
