"""The meaning of a failure at an endpoint: status, headers and body become a ``ModelError`` that states whether a retry
can help.

The body decides, because servers disagree about statuses: an exhausted quota is reported as 429, a filter as 400, and
some proxies report failures of the servers behind them with status 200.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Awaitable, Collection, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from polymeter.core.errors import ErrorKind, ErrorScope, ModelError, PolymeterError
from polymeter.core.request import Response
from polymeter.core.text.finite import finite_number
from polymeter.core.text.secrets import HIDDEN, hide_secrets, scrubbed

_LONGEST_MESSAGE = 300
_MOST_SEARCHED = 8192
"""The number of characters of a body that are searched for secrets and for the message."""
_TRANSIENT = (408, 409, 425)
_PERMANENT = (501, 505)
_MILLISECONDS = 1e12
_EPOCH = 1e9

_UNPAID = ("insufficient_quota", "billing", "insufficient_credit", "payment")
_UNPAID_WORDS = ("credit balance is too low",)
_BAD_KEY = ("api_key_invalid", "api_key_expired", "invalid_api_key", "consumer_suspended", "consumer_invalid")
_FILTERED = ("content_filter", "content_policy", "moderation", "responsibleai", "safety")
_FILTERED_WORDS = ("content management policy", "content policy", "safety system", "flagged by moderation")
_TOO_LONG = ("context_length", "string_above_max_length", "request_too_large")
_TOO_LONG_WORDS = (
    "context length", "context window", "prompt is too long", "too many tokens", "max_model_len",
    "request too large",  # with status 429: it alone exceeds the tokens of a minute
)  # fmt: skip
_BY_TYPE: Sequence[tuple[str, int]] = (
    ("rate_limit", 429),
    ("ratelimit", 429),
    ("too_many_requests", 429),
    ("toomanyrequests", 429),
    ("resource_exhausted", 429),
    ("overloaded", 503),
    ("unavailable", 503),
    ("timeout", 504),
    ("server_error", 500),
    ("internal", 500),
    ("authentication", 401),
    ("invalid_api_key", 401),
    ("unauthorized", 401),
    ("permission", 403),
    ("not_found", 404),
    ("notfound", 404),
    ("invalid", 400),
    ("bad_request", 400),
    ("badrequest", 400),
)
_HINTS: Mapping[int, str] = {
    401: "Check the key.",
    402: "Check the account's plan and billing.",
    403: "Check the key and what it may use.",
    404: "Check the model's name and the base URL.",
}
_SCOPES: Mapping[int, ErrorScope] = {403: "unclear", 404: "unclear", 405: "unclear", 410: "unclear"}
_KEY_LIKE = re.compile(r"\b(?:sk|pk|gsk|hf|xai|AIza)[-_]?[\w*-]{12,}|(?<=Bearer )\S+")
_TITLE = re.compile(r"(?i)<title>([^<]*)</title>")
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|[dhms])")
_SPAN_UNITS: Mapping[str, float] = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


class EndpointError(ModelError):
    """An endpoint's answer that is an error.

    Args:
        what: What happened.
        status: HTTP status, or the equivalent of the body's code.
        kind: See ``ModelError``.
        where: The endpoint.
        hint: What to do.
        retry_after_s: The wait that the endpoint asked for, if it did.
        scope: See ``ModelError``.
        is_unpaid: See ``ModelError``.
    """

    def __init__(
        self,
        what: str,
        *,
        status: int,
        kind: ErrorKind = "permanent",
        where: str = "",
        hint: str = "",
        retry_after_s: float | None = None,
        scope: ErrorScope = "request",
        is_unpaid: bool | None = None,
    ) -> None:
        super().__init__(
            what, kind=kind, where=where, hint=hint, retry_after_s=retry_after_s, scope=scope, is_unpaid=is_unpaid
        )
        self.status = status


def error_of(
    status: int, headers: Mapping[str, str], body: str, *, where: str, secrets: Collection[str] = ()
) -> EndpointError:
    """The error that an answer reports.

    429 is a rate limit; 408, 409, 425 and everything from 500 are transient (except 501 and 505); every other status
    from 400 is permanent. An exhausted quota is permanent whatever its status, a filter's verdict is a refusal, and a
    prompt that is too long is reported as such. With status 200, the code or type in the body's ``error`` decides; an
    error without either is transient.

    A rejected key and an exhausted quota, also one for a day, concern the whole endpoint. A 403 may concern one request
    (a firewall in front of the server reads prompts too), and so may a 404 (a file that the request names).

    Args:
        status: HTTP status.
        headers: Of the answer; names in any case.
        body: Of the answer, JSON or not.
        where: The endpoint and model, for the message.
        secrets: Keys to hide if the server repeats them.
    """
    report = _report_in(body)
    text = report.message or _without_page(body)
    words = text[:_LONGEST_MESSAGE].lower()  # before anything is hidden: a key may be a word, such as "context"
    if len(text) > _MOST_SEARCHED:  # cut between words, so that no half of a secret stays
        text = text[:_MOST_SEARCHED].rpartition(" ")[0]
    message = _hidden(text, secrets)[:_LONGEST_MESSAGE] or "no message"
    wait_s = retry_after_s(headers) if status != 200 else None
    # Not those that a filter or their length stopped, nor 408: Azure may charge for them (its page on pricing).
    is_declined = 400 <= status < 500 and status not in _TRANSIENT
    wait_s = report.retry_delay_s if wait_s is None else wait_s
    status = report.status if status < 400 and report.status else status
    is_unpaid = _has(report.codes, _UNPAID) or any(word in words for word in _UNPAID_WORDS)
    if is_unpaid or report.is_day_used_up or status == 402:
        what = f"The quota is used up: {message}"
        return EndpointError(what, status=402, where=where, hint=_HINTS[402], scope="endpoint", is_unpaid=is_declined)
    if _has(report.codes, _FILTERED) or any(word in words for word in _FILTERED_WORDS) or report.is_flagged:
        what = f"The endpoint's filter declined: {message}"
        return EndpointError(what, status=status, kind="refused", where=where)
    if _has(report.codes, _TOO_LONG) or (400 <= status < 500 and any(word in words for word in _TOO_LONG_WORDS)):
        return EndpointError(
            f"The request is longer than the model accepts: {message}",
            status=status,
            where=where,
            hint="Send fewer or smaller media, or request fewer new tokens.",
        )
    kind = kind_of(status)
    can_retry = kind in ("rate_limit", "transient")
    what = f"HTTP {status}: {message}" if status >= 400 else f"The endpoint reports an error: {message}"
    return EndpointError(
        what,
        status=status,
        kind=kind,
        where=where,
        hint=_HINTS.get(status, ""),
        retry_after_s=wait_s if can_retry else None,
        scope="endpoint" if status == 401 or _has(report.codes, _BAD_KEY) else _SCOPES.get(status, "request"),
        is_unpaid=is_declined,
    )


async def response_or_error(answering: Awaitable[Response]) -> Response:
    """The answer to one of several requests that are awaited together, or its error as a response."""
    try:
        return await answering
    except PolymeterError as error:
        return Response.failed(error)


def kind_of(status: int) -> ErrorKind:
    """The kind of failure by HTTP status alone. An error with a status below 400 counts as transient."""
    if status == 429:
        return "rate_limit"
    is_theirs = 400 <= status < 500 and status not in _TRANSIENT
    return "permanent" if is_theirs or status in _PERMANENT else "transient"


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the number of seconds that an endpoint asks to wait: from ``retry-after-ms``, ``Retry-After`` (seconds or
    a date), or the time until an exhausted limit is reset (``x-ratelimit-reset…``); ``None`` without a valid one. A
    finite number, at least 0. The engine decides how long it waits.
    """
    lowered = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = finite_number(lowered.get("retry-after-ms", ""))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    retry_after = lowered.get("retry-after", "")
    if retry_after:
        seconds = finite_number(retry_after)
        return max(0.0, seconds) if seconds is not None else _until_date(retry_after)
    resets = [
        _until(lowered[f"x-ratelimit-reset{of}"])
        for of in ("", "-requests", "-tokens")
        if lowered.get(f"x-ratelimit-remaining{of}", "0") == "0" and f"x-ratelimit-reset{of}" in lowered
    ]
    return max((seconds for seconds in resets if seconds is not None), default=None)


class _Report:
    """The facts in the body of a failure.

    Attributes:
        message: Its message; empty if there is none.
        codes: Codes and types, in lower case.
        status: The HTTP status that the codes mean; 0 if they mean none.
        retry_delay_s: How long to wait.
        is_flagged: Whether a moderation service lists its objections.
        is_day_used_up: Whether a quota for a whole day is used up.
    """

    __slots__ = ("codes", "is_day_used_up", "is_flagged", "message", "retry_delay_s", "status")

    def __init__(self) -> None:
        self.message = ""
        self.codes: list[str] = []
        self.status = 0
        self.retry_delay_s: float | None = None
        self.is_flagged = self.is_day_used_up = False


def _report_in(body: str) -> _Report:
    report = _Report()
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):  # RecursionError: nested without end
        return report
    if isinstance(value, list) and value:  # Google's compatible endpoint wraps its error in a list
        value = value[0]
    if isinstance(value, str):
        report.message = value
    if not isinstance(value, dict):
        return report
    error = value.get("error") or value
    if not isinstance(error, dict):
        error = {"message": error}
    report.message = _error_text(error) or _error_text(value)
    inner = error.get("innererror") or error.get("inner_error") or {}
    named = [error.get("code"), error.get("type"), error.get("status"), value.get("type")]
    named.append(inner.get("code") if isinstance(inner, dict) else None)
    report.codes = [item.lower() for item in named if isinstance(item, str)]
    report.status = _status(error.get("code"), report.codes)
    metadata = error.get("metadata")
    report.is_flagged = isinstance(metadata, dict) and "flagged_input" in metadata
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        if not isinstance(detail, dict):
            continue
        if isinstance(detail.get("retryDelay"), str):
            report.retry_delay_s = _span(detail["retryDelay"])
        if isinstance(detail.get("reason"), str):
            report.codes.append(detail["reason"].lower())
        violations = detail.get("violations")
        for violation in violations if isinstance(violations, list) else ():
            is_of_day = isinstance(violation, dict) and "perday" in str(violation.get("quotaId")).lower()
            report.is_day_used_up = report.is_day_used_up or is_of_day
    return report


def _error_text(value: Mapping[str, Any]) -> str:
    for name in ("message", "detail", "msg", "error"):
        text = value.get(name)
        if text and not (name == "error" and isinstance(text, dict)):
            return " ".join((text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)).split())
    return ""


def _without_page(body: str) -> str:
    """Return a body that is not JSON; of an HTML page only the title."""
    if "<html" not in body[:1000].lower():
        return " ".join(body.split())
    title = _TITLE.search(body)
    return f"a page ({' '.join(title[1].split())})" if title else "a page"


def _status(code: Any, codes: Sequence[str]) -> int:
    number = finite_number(code) if isinstance(code, str) else code
    if isinstance(number, (int, float)) and 400 <= number < 600:
        return int(number)
    return next((status for word, status in _BY_TYPE if any(word in code_text for code_text in codes)), 0)


def _has(codes: Sequence[str], words: Sequence[str]) -> bool:
    return any(word in code for word in words for code in codes)


def _hidden(text: str, secrets: Collection[str]) -> str:
    return _KEY_LIKE.sub(HIDDEN, hide_secrets(scrubbed(text, secrets)))


def _until_date(text: str) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def _until(text: str) -> float | None:
    """Return the seconds until a reset that is given as a duration (``1m30s``), in seconds, or as a time in seconds or
    milliseconds since 1970.
    """
    number = finite_number(text)
    if number is None:
        return _span(text)
    if number > _EPOCH:
        number = (number / 1000 if number > _MILLISECONDS else number) - time.time()
    return max(0.0, number)


def _span(text: str) -> float | None:
    pieces = _SPAN.findall(text)
    seconds = sum(float(count) * _SPAN_UNITS[unit] for count, unit in pieces) if pieces else math.inf
    return seconds if math.isfinite(seconds) else None
