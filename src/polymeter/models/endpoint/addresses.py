"""Checks of an endpoint's address and headers before anything is sent: no message repeats a secret in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from polymeter.core.errors import PlanError
from polymeter.core.text.secrets import hidden_address

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_NEVER_PLAIN = re.compile(r"[\s#\\]")
_ENCODED = (
    "Percent-encode special characters in users, passwords and paths: @ is %40, / is %2F, # is %23, a space is %20."
)


def checked_address(url: str, where: str) -> SplitResult:
    """The parts of an address whose user, host and port are beyond doubt.

    Raises:
        PlanError: if it is malformed. The message hides what may be a password, and the parser's reason, which repeats
            parts of it.
    """
    what = f"The base URL {hidden_address(url)!r} is not valid"
    try:
        parts = urlsplit(url)
        is_named = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        if "@" in url:
            raise PlanError(f"{what}.", where=where, hint=_ENCODED) from None
        raise PlanError(f"{what}: {error}.", where=where) from None
    if not is_named:
        hint = "Write it with its scheme, as in http://localhost:8000/v1"
        raise PlanError(f"{what}.", where=where, hint=hint)
    before = url.partition("//")[2].rpartition("@")[0]
    is_unclear = ":" in before and "@" in url.replace(parts.netloc, "", 1)  # a port, or a password with a slash
    if is_unclear or ("@" in url and _NEVER_PLAIN.search(url)):
        raise PlanError(f"{what}.", where=where, hint=_ENCODED)
    return parts


def check_headers(headers: Mapping[str, str], parts: SplitResult, where: str) -> None:
    """Check the headers of every request, the key among them.

    Raises:
        PlanError: if a value has a line break, or the address and a header name different users.
    """
    for name, value in headers.items():
        check_line(str(value), f"The value of the header {name!r}", where)
    if "@" in parts.netloc and any(name.lower() == "authorization" for name in headers):
        raise PlanError(
            "The address names a user, and a key is set too: only one of them can be sent.",
            where=where,
            hint="Leave the user out of the address, or set the key to an empty text.",
        )


def check_line(text: str, what: str, where: str) -> None:
    """Check that a text can be sent in a header.

    Raises:
        PlanError: if it has a line break or another control character.
    """
    if _CONTROL.search(text):
        raise PlanError(
            f"{what} has a line break or another control character.", where=where, hint="Set it again, as one line."
        )
