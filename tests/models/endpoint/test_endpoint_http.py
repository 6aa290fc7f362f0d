"""Connections: proxies of the environment, one session for each loop, errors that say what happened."""

from __future__ import annotations

import asyncio
import ssl

import aiohttp
import pytest

from polymeter.core.errors import ModelError
from polymeter.models.endpoint.http import Connections, UnreachedError, proxy_for
from tests.helpers.openai_stub import OpenAIStub


def test_proxies_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "inside.example.org")
    assert proxy_for("https://api.example.org/v1") == "http://proxy:3128"
    assert proxy_for("http://api.example.org/v1") is None
    assert proxy_for("https://inside.example.org/v1") is None
    monkeypatch.setenv("ALL_PROXY", "http://other:1")
    assert proxy_for("http://api.example.org/v1") == "http://other:1"
    for here in ("http://localhost:8000", "http://127.0.0.1:1/v1", "http://[::1]:1/v1"):
        assert proxy_for(here) is None


def test_each_loop_has_a_session_and_closes_its_own() -> None:
    with OpenAIStub() as stub:
        connections = Connections(stub.base_url, {"X-A": "b"}, where="m")

        async def ask() -> int:
            answers = [await connections.post(f"{stub.base_url}/chat/completions", [b"{}"]) for _ in range(2)]
            await connections.aclose()
            await connections.aclose()
            return answers[-1].status

        assert [asyncio.run(ask()), asyncio.run(ask())] == [200, 200]
        assert connections._sessions == {}
        assert {received.headers["X-A"] for received in stub.received} == {"b"}


def test_a_long_body_arrives_whole_from_its_pieces() -> None:
    with OpenAIStub() as stub:
        connections = Connections(stub.base_url, {}, where="m")

        async def ask() -> int:
            pieces = [b'{"prompt":"', bytearray(b"a" * 1_500_000), b'"}']
            answer = await connections.post(f"{stub.base_url}/chat/completions", pieces)
            await connections.aclose()
            return answer.status

        assert asyncio.run(ask()) == 200
        (received,) = stub.received
        assert received.headers["Content-Length"] == str(1_500_000 + 13)
        assert received.body == {"prompt": "a" * 1_500_000}


def test_what_never_helps_is_not_asked_again() -> None:
    connections = Connections("http://localhost", {}, where="m")
    key = aiohttp.client_reqrep.ConnectionKey("h", 443, True, True, None, None, None)
    certificate = aiohttp.ClientConnectorCertificateError(key, ssl.SSLCertVerificationError("self-signed"))
    error = connections._error(certificate)
    assert (type(error), error.kind) == (ModelError, "permanent")
    assert error.what.startswith("The server's certificate is not trusted: ")
    error = connections._error(aiohttp.InvalidURL("http://a b"))
    assert (error.kind, error.what) == ("permanent", "The base URL is not valid: http://a b.")


def test_secrets_of_an_address_are_not_shown() -> None:
    connections = Connections("http://localhost", {}, where="m")
    error = connections._error(aiohttp.ClientPayloadError("at http://user:hunter2@host/v1"))
    assert isinstance(error, UnreachedError)
    assert error.has_connected
    assert "hunter2" not in str(error)
