"""The addresses that data may name are those of the public internet. So a dataset cannot make this machine ask others
of its own network, or the metadata service of a cloud.

A name is resolved once, all of its addresses are checked, and the connection goes to one of these: a name that resolves
differently a moment later gains nothing. The user may allow private addresses.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from polymeter.core.errors import DataError
from polymeter.core.machine.environment import environment_set

SWITCH = "POLYMETER_ALLOW_PRIVATE_URLS"
_ON = ("1", "true", "yes", "on")
PRIVATE_HINT = f"If you trust the data, allow it with --allow-private-urls or {SWITCH}=1."
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
_SPECIAL = tuple(
    map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "2001::/32", "2002::/16"))
)
"""Ranges that Python counts as public and that are not plainly so: protocol assignments, relays, tunnels, and the
address at which Azure answers its own machines."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_private_allowed() -> bool:
    """Return whether the user allows data to name addresses that are not public."""
    return os.environ.get(SWITCH, "").strip().lower() in _ON


@contextmanager
def private_allowed() -> Iterator[None]:
    """Allow private addresses inside the block."""
    with environment_set({SWITCH: "1"}):
        yield


def is_public(text: str) -> bool:
    """Return whether an IP address is one of the public internet. Loopback, link-local, private, shared, multicast,
    reserved and unspecified addresses are not, nor are IPv6 addresses that stand for such an IPv4 address.
    """
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return _is_public(_meant(address))


def public_addresses(host: str, port: int, *, shown: str) -> list[str]:
    """The IP addresses of a host, all of which are public or allowed.

    Args:
        host: A name or an address.
        port: The port.
        shown: The URL, for messages.

    Raises:
        DataError: if one of them is not public, or there is none.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnresolvedError(f"{shown}: the host {host!r} has no address ({error}).") from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    check_addresses(addresses, shown=shown)
    return addresses


def check_addresses(addresses: list[str], *, shown: str) -> None:
    """Refuse addresses that are not public, unless the user allows them.

    Raises:
        DataError: if one of them is not.
    """
    private = [address for address in addresses if not is_public(address)]
    if private and not is_private_allowed():
        raise NotPublicError(
            f"{shown} leads to {private[0]}, which is not a public address: what data names is fetched from public "
            "addresses only.",
            hint=PRIVATE_HINT,
        )


class UnresolvedError(DataError):
    """A host has no address, as far as this machine knows."""


class NotPublicError(DataError, PermissionError):
    """An address is not public, and data may name public ones only."""


def public_socket(entry: tuple[Any, ...]) -> socket.socket:
    """A socket for an entry of ``getaddrinfo``, refused if its address is not public: for connectors that resolve
    themselves.

    Raises:
        NotPublicError: if it is not.
    """
    family, kind, protocol, _, place = entry
    if not is_public(str(place[0])) and not is_private_allowed():
        raise NotPublicError(f"{place[0]} is not a public address", hint=PRIVATE_HINT)
    return socket.socket(family=family, type=kind, proto=protocol)


def _is_public(address: Address) -> bool:
    is_special = (
        address.is_multicast
        or address.is_reserved
        or address.is_unspecified
        or address.is_loopback
        or address.is_link_local
        or address.is_private
        or (isinstance(address, ipaddress.IPv6Address) and address.is_site_local)
    )
    return address.is_global and not is_special and not any(address in network for network in _SPECIAL)


def _meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, if it does: mapped, or translated by the network (NAT64)."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _TRANSLATED:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address
