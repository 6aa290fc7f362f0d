"""Failures of endpoints are told apart by status, headers and body."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from typing import Any

import pytest

from polymeter.models.endpoint import errors
from polymeter.models.endpoint.errors import EndpointError, error_of, retry_after_s


def found(status: int, error: Any = "", headers: dict[str, str] | None = None, **more: Any) -> EndpointError:
    """The error of a body in OpenAI's form, or of a text."""
    body = error if isinstance(error, str) else json.dumps({"error": error})
    return error_of(status, headers or {}, body, where="m at host", **more)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "permanent"),
        (401, "permanent"),
        (403, "permanent"),
        (404, "permanent"),
        (422, "permanent"),
        (501, "permanent"),
        (408, "transient"),
        (409, "transient"),
        (425, "transient"),
        (500, "transient"),
        (502, "transient"),
        (503, "transient"),
        (529, "transient"),
        (429, "rate_limit"),
    ],
)
def test_a_status_alone(status: int, kind: str) -> None:
    error = found(status, {"message": "why"})
    assert (error.kind, error.status, error.what) == (kind, status, f"HTTP {status}: why")
    assert error.where == "m at host"


@pytest.mark.parametrize(
    ("status", "error", "kind", "what"),
    [
        (429, {"message": "Pay.", "code": "insufficient_quota"}, "permanent", "The quota is used up: Pay."),
        (429, {"message": "Pay.", "type": "billing_not_active"}, "permanent", "The quota is used up: Pay."),
        (402, {"message": "Pay."}, "permanent", "The quota is used up: Pay."),
        (400, {"message": "No.", "code": "content_filter"}, "refused", "The endpoint's filter declined: No."),
        (
            400,
            {"message": "No.", "code": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}},
            "refused",
            "The endpoint's filter declined: No.",
        ),
        (
            403,
            {"message": "No.", "code": 403, "metadata": {"flagged_input": "…"}},
            "refused",
            "The endpoint's filter declined: No.",
        ),
        (
            400,
            {"message": "Too long.", "code": "context_length_exceeded"},
            "permanent",
            "The request is longer than the model accepts: Too long.",
        ),
        (
            429,
            {"message": "Request too large for m on TPM: Limit 3, Requested 4.", "code": "rate_limit_exceeded"},
            "permanent",
            "The request is longer than the model accepts: Request too large for m on TPM: Limit 3, Requested 4.",
        ),
        (
            400,
            {"message": "This model's maximum context length is 8 tokens."},
            "permanent",
            "The request is longer than the model accepts: This model's maximum context length is 8 tokens.",
        ),
    ],
)
def test_the_body_has_the_last_word(status: int, error: dict[str, Any], kind: str, what: str) -> None:
    assert (found(status, error).kind, found(status, error).what) == (kind, what)


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        ({"message": "x", "code": 429}, "rate_limit", 429),
        ({"message": "x", "code": "502"}, "transient", 502),
        ({"message": "x", "type": "overloaded_error"}, "transient", 503),
        ({"message": "x", "type": "server_error", "code": None}, "transient", 500),
        ({"message": "x", "type": "invalid_request_error"}, "permanent", 400),
        ({"message": "x", "status": "RESOURCE_EXHAUSTED"}, "rate_limit", 429),
        ({"message": "x", "code": "invalid_api_key"}, "permanent", 401),
        ({"message": "x"}, "transient", 200),
    ],
)
def test_an_error_with_status_200(error: dict[str, Any], kind: str, status: int) -> None:
    assert (found(200, error).kind, found(200, error).status) == (kind, status)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ('{"message": "flat"}', "HTTP 400: flat"),
        ('{"error": "a text"}', "HTTP 400: a text"),
        ('[{"error": {"message": "in a list"}}]', "HTTP 400: in a list"),
        (
            '{"detail": [{"loc": ["body", "seed"], "msg": "no"}]}',
            'HTTP 400: [{"loc": ["body", "seed"], "msg": "no"}]',
        ),
        ("no\n  healthy upstream", "HTTP 400: no healthy upstream"),
        ("<html><head><title>502 Bad\nGateway</title></head></html>", "HTTP 400: a page (502 Bad Gateway)"),
        ("<!doctype html><html></html>", "HTTP 400: a page"),
        ("", "HTTP 400: no message"),
        ("x" * 1000, "HTTP 400: " + "x" * 300),
    ],
)
def test_messages_are_found_wherever_servers_put_them(body: str, what: str) -> None:
    assert found(400, body).what == what


def test_keys_are_not_shown() -> None:
    told = "Incorrect API key provided: sk-abc***************wxyz. You sent hunter2 and token=t0ken"
    shown = str(found(401, {"message": told}, secrets=["hunter2", ""]))
    assert shown == ("HTTP 401: Incorrect API key provided: ***. You sent *** and token=*** [m at host] Check the key.")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"Retry-After": "-1"}, 0.0),
        ({"Retry-After": "9", "Retry-After-Ms": "250"}, 0.25),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "1e10"}, 1e10),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "9" * 400}, None),
        ({"Retry-After": "Mon, 01 Jan 0001 00:00:00 GMT"}, 0.0),
        ({"Retry-After": "Mon, 99 Jan 2030 00:00:00 GMT"}, None),
        ({"Retry-After-Ms": "-inf", "Retry-After": "2"}, 2.0),
        ({"x-ratelimit-reset-tokens": f"{'9' * 400}s"}, None),
        ({"x-ratelimit-reset-requests": "1m30s", "x-ratelimit-remaining-requests": "0"}, 90.0),
        ({"x-ratelimit-reset-requests": "1m30s", "x-ratelimit-remaining-requests": "5"}, None),
        ({"x-ratelimit-reset-requests": "20ms", "x-ratelimit-reset-tokens": "6s"}, 6.0),
        ({"x-ratelimit-reset": "3"}, 3.0),
        ({}, None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds
    assert found(429, {"message": "x"}, headers).retry_after_s == seconds


def test_how_long_to_wait_until_an_instant() -> None:
    then = time.time() + 100
    for headers in (
        {"Retry-After": formatdate(then, usegmt=True)},
        {"x-ratelimit-reset": str(then)},
        {"x-ratelimit-reset": str(then * 1000)},
    ):
        assert retry_after_s(headers) == pytest.approx(100, abs=5)
    assert retry_after_s({"Retry-After": formatdate(0, usegmt=True)}) == 0


def test_waiting_is_told_only_where_it_helps() -> None:
    assert found(400, {"message": "x"}, {"Retry-After": "7"}).retry_after_s is None
    delay = {"message": "x", "code": 429, "details": [{"@type": "…RetryInfo", "retryDelay": "39s"}]}
    assert found(429, delay).retry_after_s == 39


@pytest.mark.parametrize(
    ("status", "error", "scope"),
    [
        (401, {"message": "x"}, "endpoint"),
        (402, {"message": "x"}, "endpoint"),
        (429, {"message": "x", "code": "insufficient_quota"}, "endpoint"),
        (400, {"message": "Your credit balance is too low to access the API."}, "endpoint"),
        (400, {"message": "x", "details": [{"reason": "API_KEY_INVALID"}]}, "endpoint"),
        (429, {"message": "x", "details": [{"violations": [{"quotaId": "GenerateRequestsPerDay"}]}]}, "endpoint"),
        (200, {"message": "x", "code": 401}, "endpoint"),
        (403, {"message": "x"}, "unclear"),
        (404, {"message": "x"}, "unclear"),
        (403, {"message": "x", "metadata": {"flagged_input": "…"}}, "request"),
        (429, {"message": "x", "details": [{"violations": [{"quotaId": "GenerateRequestsPerMinute"}]}]}, "request"),
        (429, {"message": "x"}, "request"),
        (400, {"message": "x"}, "request"),
        (500, {"message": "x"}, "request"),
    ],
)
def test_whom_an_error_concerns(status: int, error: dict[str, Any], scope: str) -> None:
    assert found(status, error).scope == scope


def test_what_an_error_means_is_read_before_anything_is_hidden() -> None:
    error = found(400, {"message": "The context length is 4096."}, secrets=["context"])
    assert str(error).startswith("The request is longer than the model accepts: The *** length is 4096.")
    assert "declined: " in str(found(400, {"message": "By the content policy"}, secrets=["policy"]))
    assert "quota" in str(found(400, {"message": "Your credit balance is too low"}, secrets=["credit"]))


def test_only_the_beginning_of_a_message_is_searched_and_no_half_of_a_key_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []
    hide = errors.hide_secrets

    def measured(text: str) -> str:
        sizes.append(len(text))
        return hide(text)

    monkeypatch.setattr(errors, "hide_secrets", measured)
    key = "secret/1" * 200
    for message in ("://a:" * 6000, "http://a:x," * 4000, f"{key} " * 40, key * 40):
        shown = str(found(400, {"message": message}, secrets=[key]))
        assert "secret" not in shown
        assert len(shown) < 400
    assert max(sizes) <= 8192
    assert "HTTP 400: no message" in shown


def test_the_title_of_a_page_ends_at_the_next_tag() -> None:
    assert str(found(502, "<html><title>a<title>b</title>")) == "HTTP 502: a page (b) [m at host]"
