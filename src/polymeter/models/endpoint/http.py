"""Connections to an endpoint over plain HTTP: one session per event loop with connections that stay open, and the
bodies of forms with files. The dispatcher handles concurrency and deadlines.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from polymeter.core.errors import ModelError, PlanError
from polymeter.core.media.sources import digest
from polymeter.core.text.secrets import hide_secrets
from polymeter.data.fetching.addresses import (
    PRIVATE_HINT,
    NotPublicError,
    UnresolvedError,
    public_addresses,
    public_socket,
)

if TYPE_CHECKING:
    from aiohttp import ClientSession, StreamReader

JSON = "application/json"
MAX_ANSWER_MB = 64.0
"""Maximum size of an answer and of a fetched file, in MiB; the largest images that models make are a tenth of it."""

_CONNECT_S = 10.0
_IDLE_S = 4.0
_DNS_S = 300
_LARGE = 1 << 20
_BLOCK = 1 << 18
_ERROR_BYTES = 1 << 20
"""The number of bytes read of an answer that reports an error."""
_SHOWN = 200
_HERE = ("localhost", "::1")


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A server's answer, successful or not.

    Attributes:
        status: HTTP status.
        headers: By name; names are case-insensitive.
        body: The whole body.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """Return the body as text; bytes that are not UTF-8 are replaced."""
        return self.body.decode(errors="replace")


class Connections:
    """Sends requests to one server. Each event loop has its own session, made when it sends its first request.

    Redirects are not followed: a POST would become a GET, and another server would receive the key.

    Args:
        base_url: Address of the server; the proxies for it come from the environment.
        headers: Sent with every request.
        where: The endpoint, for messages.
        max_answer_mb: Maximum size of an answer in MiB, after decompression.
    """

    def __init__(
        self, base_url: str, headers: Mapping[str, str], *, where: str, max_answer_mb: float = MAX_ANSWER_MB
    ) -> None:
        self._max_answer_mb = max_answer_mb
        self._proxy = proxy_for(base_url)
        self._base_url = base_url
        self._origin = _origin(base_url)
        self._headers = dict(headers)
        self._where = where
        self._sessions: dict[asyncio.AbstractEventLoop, ClientSession] = {}

    async def post(self, url: str, body: Sequence[bytes], *, kind: str = JSON) -> HttpAnswer:
        """Send a body, which is given in pieces; ``kind`` is its MIME type.

        Raises:
            ModelError: if no answer came, only a part of one, or one that is too large.
        """
        return await self._send("POST", url, body, kind)

    async def get(self, url: str) -> HttpAnswer:
        """Fetch a URL of the server.

        Raises:
            ModelError: if no answer came, or only a part of one.
        """
        return await self._send("GET", url, None)

    async def fetch(self, url: str, *, is_named_by_data: bool = False) -> bytes:
        """Fetch a file by its URL. Another server than this one does not receive the key, and redirects to and from it
        are followed, as far as they lead to public addresses. The host of this server need not be public.

        Args:
            url: Its URL.
            is_named_by_data: A dataset names the file, and not this server: this server is then treated like any other.

        Raises:
            ModelError: if the server cannot be reached, does not have the file, or sends more than the limit.
        """
        import aiohttp

        is_ours = _origin(url) == self._origin and not is_named_by_data
        is_trusted = is_ours or (not is_named_by_data and _host(url) == _host(self._base_url))
        shown = hide_secrets(url.partition("?")[0])[
            :_SHOWN
        ]  # the query may be a signature that gives access to the file
        proxy = self._proxy if is_ours else proxy_for(url)
        try:
            if not is_ours and "@" in urlsplit(url).netloc:
                raise ModelError(f"The file at {shown} is not fetched: it contains a user name.", where=self._where)
            if not is_trusted and proxy:
                await asyncio.to_thread(_check_public, url, shown)
            async with (
                aiohttp.ClientSession(
                    connector=None if is_trusted or proxy else aiohttp.TCPConnector(socket_factory=public_socket),
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
                    headers=self._headers if is_ours else None,
                    cookie_jar=aiohttp.DummyCookieJar(),
                ) as session,
                session.get(url, proxy=proxy, allow_redirects=not is_trusted) as response,
            ):
                if response.status >= 300:
                    raise ModelError(
                        f"The file at {shown} cannot be fetched: HTTP {response.status}.",
                        kind="transient" if response.status in (408, 429) or response.status >= 500 else "permanent",
                        where=self._where,
                    )
                return await at_most(response.content, self._max_answer_mb, where=self._where)
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError):
            raise ModelError(f"{shown!r} is not a web address, and no such file exists.", where=self._where) from None
        except NotPublicError as error:
            raise ModelError(error.what, where=self._where, hint=PRIVATE_HINT) from None
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
            refused = _refusal(error)
            if refused is not None:
                raise ModelError(
                    f"{shown} is not fetched: {refused.what}.", where=self._where, hint=PRIVATE_HINT
                ) from None
            raise self._error(error) from error

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    async def _send(self, method: str, url: str, body: Sequence[bytes] | None, kind: str = JSON) -> HttpAnswer:
        import aiohttp

        session = self._session()
        sent = {"Content-Type": kind}
        data: Any = None
        if body is not None and (n_bytes := sum(map(len, body))) > _LARGE:
            data, sent["Content-Length"] = _in_blocks(body), str(n_bytes)
        elif body is not None:
            data = b"".join(body)
        try:
            async with session.request(
                method, url, data=data, headers=sent, proxy=self._proxy, allow_redirects=False
            ) as response:
                is_error = response.status >= 300
                answer = await at_most(response.content, self._max_answer_mb, where=self._where, is_error=is_error)
                return HttpAnswer(response.status, response.headers, answer)
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
            raise self._error(error) from error

    def _session(self) -> ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            import aiohttp

            session = self._sessions[loop] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_S, ttl_dns_cache=_DNS_S),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return session

    def _error(self, error: Exception) -> ModelError:
        import aiohttp

        text = hide_secrets(" ".join(str(error).split())) or type(error).__name__
        if isinstance(error, (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError)):
            return ModelError(
                f"The server's certificate is not trusted: {text}.",
                where=self._where,
                hint="To trust further authorities, name their file with SSL_CERT_FILE.",
            )
        if isinstance(error, (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError)):
            return ModelError(f"The base URL is not valid: {text}.", where=self._where)
        if isinstance(error, aiohttp.ServerDisconnectedError):
            text = "the server closed the connection"
        elif isinstance(error, asyncio.TimeoutError):
            text = f"no connection within {_CONNECT_S:g} s"
        elif isinstance(error, aiohttp.ClientConnectorError):
            text = f"cannot connect to {error.host}:{error.port} ({error.strerror or error.os_error})"
        return UnreachedError(
            text,
            where=self._where,
            has_connected=not isinstance(error, (aiohttp.ClientConnectorError, asyncio.TimeoutError)),
        )


async def _in_blocks(body: Sequence[bytes]) -> AsyncIterator[memoryview]:
    """A long body, a little at a time: sending it does not block the event loop, and no piece is copied whole."""
    for piece in body:
        view = memoryview(piece)
        for start in range(0, len(view), _BLOCK):
            yield view[start : start + _BLOCK]
            await asyncio.sleep(0)


class UnreachedError(ModelError):
    """A request got no answer, which may be transient.

    Args:
        reason: Why, in a few words.
        where: The endpoint.
        has_connected: Whether a server accepted a connection at all.
    """

    def __init__(self, reason: str, *, where: str, has_connected: bool) -> None:
        super().__init__(
            f"The request failed in transit: {reason}.", kind="transient", where=where, is_unpaid=not has_connected
        )
        self.reason = reason
        self.has_connected = has_connected


def _check_public(url: str, shown: str) -> None:
    """Check this machine's own address of a host that a proxy resolves.

    Raises:
        NotPublicError: if it is not public.
    """
    parts = urlsplit(url)
    with suppress(UnresolvedError):
        public_addresses(parts.hostname or "", parts.port or 443, shown=shown)


def _refusal(error: BaseException | None) -> NotPublicError | None:
    """The refusal of an address behind an error of a connection."""
    while error is not None and not isinstance(error, NotPublicError):
        error = error.__cause__ or getattr(error, "os_error", None) or error.__context__
    return error


async def at_most(content: StreamReader, max_mb: float, *, where: str, is_error: bool = False) -> bytes:
    """Read a body as it streams in, decompressed; hold no more of it than is allowed.

    Args:
        content: The body.
        max_mb: The limit, in MiB.
        where: The endpoint, for the message.
        is_error: Whether the body reports an error. Its beginning is then enough.

    Raises:
        ModelError: if it is larger.
    """
    limit = int(max_mb * (1 << 20))
    limit = min(limit, _ERROR_BYTES) if is_error else limit
    blocks: list[bytes] = []
    size = 0
    async for block in content.iter_any():
        size += len(block)
        blocks.append(block)
        if size > limit:
            if is_error:
                break
            raise too_large(max_mb, where=where)
    return b"".join(blocks)[:limit] if size > limit else b"".join(blocks)


def checked_size(max_answer_mb: Any) -> float:
    """Return the limit of an answer's size that a user gave.

    Raises:
        PlanError: if it is not a positive number.
    """
    if isinstance(max_answer_mb, bool) or not isinstance(max_answer_mb, (int, float)) or not max_answer_mb > 0:
        raise PlanError(f"max_answer_mb must be a number above 0, not {max_answer_mb!r}.", where="--model-args")
    return max_answer_mb


def too_large(max_mb: float, *, where: str) -> ModelError:
    """Return the error for an answer beyond the limit. Another attempt would not make it smaller."""
    return ModelError(
        f"The endpoint's answer is larger than {max_mb:g} MB.",
        where=where,
        hint=f"To allow it, set a higher limit: max_answer_mb={max_mb * 4:g} among the model's arguments.",
    )


def _origin(url: str) -> tuple[str, str]:
    """Scheme and server of a URL."""
    parts = urlsplit(url)
    return parts.scheme.lower(), parts.netloc.rpartition("@")[2].lower()


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").lower()


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for a URL; ``None`` for this machine. Call it once and not per request,
    because it is slow.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if not host or host in _HERE or host.startswith("127.") or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxies: dict[str, Any] = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


@dataclass(frozen=True, slots=True)
class File:
    """A file of a form.

    Attributes:
        key: Name of the field.
        name: Name of the file.
        mime: MIME type.
        data: Its bytes.
    """

    key: str
    name: str
    mime: str
    data: bytes = field(repr=False)


def form(fields: Mapping[str, Any], files: Sequence[File]) -> tuple[bytes, str]:
    """A form with files (``multipart/form-data``) as bytes, and its content type. Equal forms give equal bytes.

    Args:
        fields: Texts are sent unchanged, other values as JSON.
        files: Sent unchanged, in order.
    """
    boundary = f"polymeter-{digest(b''.join(digest(file.data).encode() for file in files))}"
    pieces: list[bytes] = []
    for name, value in fields.items():
        text = value if isinstance(value, str) else json.dumps(value)
        pieces += [_field_head(boundary, name), b"\r\n\r\n", text.encode("utf-8", "backslashreplace"), b"\r\n"]
    for file in files:
        pieces += [_field_head(boundary, file.key), f'; filename="{file.name}"\r\nContent-Type: {file.mime}'.encode()]
        pieces += [b"\r\n\r\n", file.data, b"\r\n"]
    pieces.append(f"--{boundary}--\r\n".encode())
    return b"".join(pieces), f"multipart/form-data; boundary={boundary}"


def _field_head(boundary: str, name: str) -> bytes:
    quoted = name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    return f'--{boundary}\r\nContent-Disposition: form-data; name="{quoted}"'.encode()
