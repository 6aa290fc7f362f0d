"""No hub, or no network at all, for a while: what is not on this machine is missing, whichever library asks for it."""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

_VARIABLES = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
_SWITCHES = ("huggingface_hub.constants", "datasets.config")
"""Modules that keep what ``HF_HUB_OFFLINE`` was when they were imported."""
_SWITCH = "HF_HUB_OFFLINE"
_YES = frozenset({"1", "ON", "YES", "TRUE"})
_WHY = "documentation pages are made without the network"


@contextmanager
def without_hub() -> Iterator[None]:
    """Nothing is fetched for data or weights inside this: libraries that know the word are told not to try. Endpoints
    can still be asked.
    """
    before = {name: os.environ.get(name) for name in _VARIABLES}
    with ExitStack() as stack:
        stack.callback(_put_back, before, [module for module in _SWITCHES if module not in sys.modules])
        os.environ.update(dict.fromkeys(_VARIABLES, "1"))
        for module in _SWITCHES:
            if module in sys.modules:
                stack.enter_context(_replaced(sys.modules[module], _SWITCH, True))
        yield


@contextmanager
def offline() -> Iterator[None]:
    """Refuse every connection of this process inside this, and tell libraries that know the word not to try."""
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: Any) -> Any:
        if self.family == getattr(socket, "AF_UNIX", None):
            return connect(self, address)  # between processes of this machine
        raise OSError(errno.ENETUNREACH, _WHY)

    with without_hub(), ExitStack() as stack:
        stack.enter_context(_replaced(socket.socket, "connect", refuse))
        stack.enter_context(_replaced(socket.socket, "connect_ex", refuse))
        stack.enter_context(_replaced(socket, "getaddrinfo", _refuse_name))
        yield


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    is_own, old = name in vars(owner), vars(owner).get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if is_own:
            setattr(owner, name, old)
        else:
            delattr(owner, name)


def _put_back(before: dict[str, str | None], unloaded: list[str]) -> None:
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    for module in unloaded:  # imported meanwhile, it has read what was said for a while as if it were for good
        if module in sys.modules:
            setattr(sys.modules[module], _SWITCH, (before[_SWITCH] or "").upper() in _YES)


def _refuse_name(*args: Any, **kwargs: Any) -> Any:
    raise socket.gaierror(socket.EAI_FAIL, _WHY)
