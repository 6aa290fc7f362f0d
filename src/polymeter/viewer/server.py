"""Serves the viewer: on this machine alone by default, and to others only with a token."""

from __future__ import annotations

import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polymeter.core.errors import PlanError
from polymeter.core.names.registry import missing_package
from polymeter.viewer.guard import LOOPBACK, Guard

if TYPE_CHECKING:
    from types import FrameType

    import uvicorn

    from polymeter.viewer.site import Services

PORT = 8642
_PORTS_TRIED = 20
_EVERYWHERE = ("0.0.0.0", "::", "")


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """The address to serve at.

    Attributes:
        host: The address to listen at.
        port: The port; ``None``: the first that is free, from ``PORT`` on.
        token: The token to ask for; ``None``: one is made if the address can be reached from elsewhere.
        names: Further host names of the machine.
    """

    host: str = "127.0.0.1"
    port: int | None = None
    token: str | None = None
    names: Sequence[str] = ()

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can reach it."""
        return self.host in LOOPBACK or self.host.startswith("127.")


def serve(
    folders: Sequence[Path],
    services: Services,
    address: ListenAddress,
    *,
    journal_dirs: Sequence[Path] = (),
    is_read_only: bool = False,
    when_ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve the runs below some folders until the process is interrupted.

    Args:
        folders: The folders.
        services: Functions that pages need beside run folders.
        address: The address to serve at.
        journal_dirs: Folders outside these in which journals may lie.
        is_read_only: Whether nothing can be written.
        when_ready: Called with the address to open once the server listens.

    Raises:
        PlanError: if a package is missing, there is no run, or the address is not available.
    """
    try:
        import uvicorn
        from starlette.applications import Starlette  # noqa: F401  (both are needed, and named if they are missing)
    except ImportError as error:
        package = (error.name or "starlette").partition(".")[0]
        raise missing_package(package, "'polymeter view'", "viewer") from None
    from polymeter.viewer.indexes import Indexes, cache_folder
    from polymeter.viewer.shelf import Shelf
    from polymeter.viewer.site import Viewer, find_pages, make_site

    shelf = Shelf(folders, journal_dirs)
    if not shelf.runs():
        raise PlanError(
            f"No run was found in {', '.join(map(str, folders))}.",
            hint="Name a run folder, or a folder with run folders: 'polymeter run' creates them in runs/.",
        )
    token = address.token or ("" if address.is_loopback else secrets.token_urlsafe(24))
    listener = _listen(address)
    port = listener.getsockname()[1]
    indexes = Indexes(cache_folder())
    guarded = Guard(
        make_site(Viewer(shelf, indexes, services, find_pages(), is_read_only)),
        _names(address),
        token,
        has_addresses=address.host in _EVERYWHERE,
    )
    # Without uvicorn's own log the terminal shows the address and nothing else.
    config = uvicorn.Config(guarded, log_config=None, access_log=False, lifespan="off", server_header=False)
    server = uvicorn.Server(config)
    when_ready(_url(address, port, token))
    try:
        with _ended_by_signals(server):
            server.run(sockets=[listener])
    finally:
        indexes.close()
        listener.close()


@contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Let Ctrl-C and a request to terminate end the server inside this. A signal is the usual way to end it; uvicorn,
    which handles signals while it runs, raises it once more.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _names(address: ListenAddress) -> set[str]:
    names = {*LOOPBACK, *(name.lower() for name in address.names)}
    if not address.is_loopback:
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    return names | ({address.host.lower()} - set(_EVERYWHERE))


def _url(address: ListenAddress, port: int, token: str) -> str:
    host = socket.gethostname() if address.host in _EVERYWHERE else address.host
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/" + (f"?token={token}" if token else "")


def _listen(address: ListenAddress) -> socket.socket:
    """A socket at the address.

    Raises:
        PlanError: if it is not available.
    """
    tried = [address.port] if address.port is not None else [*range(PORT, PORT + _PORTS_TRIED), 0]
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    for port in tried:
        listener = socket.socket(family, socket.SOCK_STREAM)
        if sys.platform != "win32":  # there it would let two servers have one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address.host, port))
            listener.listen(128)
        except socket.gaierror as error:
            listener.close()
            raise PlanError(
                f"{address.host!r} is not an address of this machine: {error.strerror}.", where="--host"
            ) from None
        except (OSError, OverflowError) as error:
            listener.close()
            if port == tried[-1]:
                raise _refused(address, error) from None
        else:
            return listener
    raise AssertionError("the last port raises")


def _refused(address: ListenAddress, error: Exception) -> PlanError:
    reason = getattr(error, "strerror", None) or str(error)
    return PlanError(
        f"The viewer cannot listen at {address.host}, port {address.port}: {reason}.",
        where="--host, --port",
        hint="Another program, perhaps another viewer, may use the port. Leave --port out to get a free one.",
    )
