"""Asking for what data names: from public addresses only, also after redirects, and without credentials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from polymeter.core.errors import DataError
from polymeter.core.text.secrets import hide_secrets
from polymeter.data.fetching.addresses import UnresolvedError, public_addresses

if TYPE_CHECKING:
    import ssl

    import httpx

_HEADERS = {"User-Agent": "polymeter", "Accept-Encoding": "identity"}
_MAX_REDIRECTS = 5
_PORTS = {"http": 80, "https": 443}


@contextmanager
def answer_of(url: str, *, timeout_s: float) -> Iterator[httpx.Response]:
    """Return the response of a URL at the end of its redirects, its body not read yet.

    Each place on the way is resolved and checked, and connected to by its address. Nothing of the user's goes along:
    no user of the URL, no cookies, no ``.netrc``. Certificates and proxies of the environment count.

    Raises:
        DataError: if one of the places is not public, holds a user name, or leads from https to http.
        httpx.HTTPError: if a server cannot be reached.
    """
    import httpx

    place = httpx.URL(url)
    for _ in range(_MAX_REDIRECTS + 1):
        _check_form(place, url)
        with _asked(place, timeout_s) as response:
            if not response.has_redirect_location:
                yield response
                return
            following = place.join(response.headers["location"])
        if place.scheme == "https" and following.scheme == "http":
            raise DataError(
                f"{hide_secrets(url)} leads to {following.host} over plain http, which is not verified by TLS."
            )
        place = following
    raise DataError(f"{hide_secrets(url)} is redirected more than {_MAX_REDIRECTS} times.")


def _check_form(place: httpx.URL, url: str) -> None:
    if place.scheme not in _PORTS or not place.host:
        raise DataError(f"{hide_secrets(url)} leads to {str(place)[:120]!r}, which is not an http(s) address.")
    if place.userinfo:
        raise DataError(
            f"{hide_secrets(str(place))} holds a user name: addresses in data are fetched without credentials."
        )


@contextmanager
def _asked(place: httpx.URL, timeout_s: float) -> Iterator[httpx.Response]:
    import httpx

    proxy = _proxy_for(place)
    targets = _targets(place, is_resolved_elsewhere=proxy is not None)
    # Trusting the environment would send the user's .netrc too.
    with httpx.Client(trust_env=False, verify=_certificates(), timeout=timeout_s, proxy=proxy) as client:
        response = _first_answer(client, place, targets)
        try:
            yield response
        finally:
            response.close()


def _targets(place: httpx.URL, *, is_resolved_elsewhere: bool) -> list[httpx.URL]:
    """The URL with each address of its host in place of the name. A proxy resolves names itself, so that there what
    this machine knows of the name is checked, and no more.
    """
    try:
        addresses = public_addresses(place.host, place.port or _PORTS[place.scheme], shown=hide_secrets(str(place)))
    except UnresolvedError:
        if is_resolved_elsewhere:
            return [place]
        raise
    return [place] if is_resolved_elsewhere else [place.copy_with(host=address) for address in addresses]


def _first_answer(client: httpx.Client, place: httpx.URL, targets: Sequence[httpx.URL]) -> httpx.Response:
    import httpx

    headers = {**_HEADERS, "Host": place.netloc.decode("ascii")}
    for number, target in enumerate(targets, 1):
        request = client.build_request("GET", target, headers=headers, extensions={"sni_hostname": place.host})
        try:
            return client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            if number == len(targets):
                raise
    raise AssertionError("the last target returns or raises")


def _proxy_for(place: httpx.URL) -> str | None:
    from urllib.request import getproxies, proxy_bypass

    if proxy_bypass(place.host):
        return None
    proxies = getproxies()
    return proxies.get(place.scheme) or proxies.get("all")


# Kept for the life of the process: the machine's certificates take 20 ms to read.
@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()
