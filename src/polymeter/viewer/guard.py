"""The guard between a browser and the pages: it checks each request, and limits what a page may do.

A page that somebody else wrote can make a browser send requests to this machine. Three things stop it: the host header
must name this server (a foreign name that was made to resolve to this machine does not), a request that changes
something must come from a page of this server, and other addresses than loopback require a token. With the headers, a
page runs and loads only the server's own files, even if a text of a model slipped through as markup.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    # With no-referrer, browsers send forms of the same page with the origin "null".
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_METHODS = ("GET", "HEAD", "POST")
_TOKEN = "token"
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")


class Guard:
    """Passes allowed requests on, and adds the headers.

    Args:
        app: The application that is guarded.
        hosts: The server's host names, in lower case.
        token: The token that a browser must have; empty: none.
        has_addresses: Whether any IP address counts as a name of the server, for one that listens on several. A name
            that was made to resolve to this machine is not an address.
    """

    def __init__(
        self, app: App, hosts: Collection[str] = LOOPBACK, token: str = "", *, has_addresses: bool = False
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._token = token
        self._has_addresses = has_addresses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        sender = _with_headers(send)
        if scope["method"] not in _METHODS:
            await _refuse(sender, 405, "The viewer answers only GET and POST.")
        elif not self.is_own_host(headers.get("host", "")):
            await _refuse(
                sender, 421, "This is not an address of the viewer. Open the one that 'polymeter view' printed."
            )
        elif self._token and not self._has_token(headers):
            await self._ask_for_token(scope, headers, sender)
        elif scope["method"] == "POST" and not self.is_own_page(headers):
            await _refuse(
                sender, 403, "This request did not come from a page of the viewer. Reload the page and try again."
            )
        else:
            await self._app(scope, receive, sender)

    def is_own_host(self, host: str) -> bool:
        """Return whether a host header names this server. The port does not matter: a tunnel may have another."""
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found["name"].strip("[]").lower()
        return name in self._hosts or (self._has_addresses and _is_address(name))

    def is_own_page(self, headers: Mapping[str, str]) -> bool:
        """Return whether a request was made by one of the server's own pages."""
        origin = headers.get("origin")
        if origin is None:
            return headers.get("sec-fetch-site") == "same-origin"
        return origin.partition("://")[2].lower() == headers.get("host", "").lower()

    def _has_token(self, headers: Mapping[str, str]) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie(headers))
        except CookieError:
            return False
        return cookie is not None and self._is_token(cookie.value)

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())

    def _cookie(self, headers: Mapping[str, str]) -> str:
        """The name of the cookie. Cookies do not distinguish ports, and another viewer may run at another port."""
        port = headers.get("host", "").rpartition(":")[2]
        return f"polymeter_view_{port if port.isdigit() else 0}"

    async def _ask_for_token(self, scope: Scope, headers: Mapping[str, str], send: Send) -> None:
        """Take the token from the address into a cookie, and lead to the same address without it."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        told = next((value for name, value in query if name == _TOKEN), "")
        if scope["method"] != "GET" or not self._is_token(told):
            await _refuse(send, 401, "This viewer requires a token: open the address that 'polymeter view' printed.")
            return
        rest = urlencode([(name, value) for name, value in query if name != _TOKEN])
        path = f"/{quote(scope['path'].lstrip('/'))}" + (f"?{rest}" if rest else "")
        cookie = f"{self._cookie(headers)}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        await _answer(send, 303, "", {"location": path, "set-cookie": cookie, "cache-control": "no-store"})


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _with_headers(send: Send) -> Send:
    async def sender(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            told = {name for name, _ in message.get("headers", ())}
            added = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in told]
            message["headers"] = [*message.get("headers", ()), *added]
        await send(message)

    return sender


async def _refuse(send: Send, status: int, why: str) -> None:
    await _answer(send, status, f"{why}\n", {"content-type": "text/plain; charset=utf-8", "cache-control": "no-store"})


async def _answer(send: Send, status: int, text: str, headers: Mapping[str, str]) -> None:
    body = text.encode()
    encoded = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*encoded, length]})
    await send({"type": "http.response.body", "body": body})
