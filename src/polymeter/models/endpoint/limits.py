"""The limit on an answer's size for SDKs that read whole bodies themselves: their HTTP libraries' classes, with a
reader that counts what streams in, after decompression.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polymeter.core.errors import ModelError
from polymeter.models.endpoint.http import at_most, too_large

if TYPE_CHECKING:
    from aiohttp import ClientResponse

_CODINGS = ("", "identity", "gzip", "deflate")
"""Accepted one at a time: a block of them grows at most a thousandfold, of several codings a millionfold."""
_ERROR_BYTES = 1 << 20


def limited_response(max_mb: float, *, where: str) -> type[ClientResponse]:
    """The response of aiohttp with a limit; only the beginning of an answer that reports an error is read."""
    from aiohttp import ClientResponse

    class LimitedResponse(ClientResponse):
        async def read(self) -> bytes:
            if self._body is None:
                try:
                    is_error = self.status >= 300
                    self._body = await at_most(self.content, max_mb, where=where, is_error=is_error)
                except BaseException:
                    self.close()
                    raise
            return self._body

    return LimitedResponse


def limited_client(client: type[Any], max_mb: float, *, where: str) -> Any:
    """A client of httpx, or of a library with its interface, that reads no more than allowed.

    Args:
        client: The SDK's class of asynchronous clients.
        max_mb: The limit, in MiB.
        where: The endpoint, for messages.
    """

    class LimitedClient(client):  # type: ignore[misc]
        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            response = await super().send(request, stream=True, **options)
            if stream:
                return response
            try:
                body = await _read_body(response, max_mb, where)
            finally:
                await response.aclose()
            # The body is decompressed and whole now, so nothing in the headers may say otherwise.
            kept = [
                (name, value)
                for name, value in response.headers.multi_items()
                if name.lower() not in ("content-encoding", "content-length", "transfer-encoding")
            ]
            return type(response)(response.status_code, headers=kept, content=body, request=request)

    return LimitedClient(headers={"Accept-Encoding": "gzip, deflate"})


async def _read_body(response: Any, max_mb: float, where: str) -> bytes:
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in _CODINGS:
        raise ModelError(f"The endpoint's answer is compressed with {coding[:80]!r}.", kind="transient", where=where)
    is_error = response.status_code >= 300
    limit = min(int(max_mb * (1 << 20)), _ERROR_BYTES) if is_error else int(max_mb * (1 << 20))
    blocks: list[bytes] = []
    size = 0
    async for block in response.aiter_bytes():
        size += len(block)
        blocks.append(block)
        if size > limit and is_error:
            break
        if size > limit:
            raise too_large(max_mb, where=where)
    return b"".join(blocks)[:limit]
