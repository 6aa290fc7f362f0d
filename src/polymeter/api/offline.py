"""Contexts without the hub, or without any network: data that is not on this machine is missing, for every library."""

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
"""Modules that store the value that ``HF_HUB_OFFLINE`` had when they were imported."""
_SWITCH = "HF_HUB_OFFLINE"
_YES = frozenset({"1", "ON", "YES", "TRUE"})
_WHY = "benchmarks are looked at without the network"


@contextmanager
def without_hub() -> Iterator[None]:
    """Fetch no data and no weights inside this context, by the environment variables that libraries honour. Endpoints
    still work.
    """
    before = {name: os.environ.get(name) for name in _VARIABLES}
    with ExitStack() as stack:
        stack.callback(_restore, before, [module for module in _SWITCHES if module not in sys.modules])
        os.environ.update(dict.fromkeys(_VARIABLES, "1"))
        for module in _SWITCHES:
            if module in sys.modules:
                stack.enter_context(_attribute_replaced(sys.modules[module], _SWITCH, True))
        yield


@contextmanager
def offline() -> Iterator[None]:
    """Refuse every connection of this process inside this context, and set the variables that libraries honour."""
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: Any) -> Any:
        if self.family == getattr(socket, "AF_UNIX", None):
            return connect(self, address)  # between processes of this machine
        raise OSError(errno.ENETUNREACH, _WHY)

    with without_hub(), ExitStack() as stack:
        stack.enter_context(_attribute_replaced(socket.socket, "connect", refuse))
        stack.enter_context(_attribute_replaced(socket.socket, "connect_ex", refuse))
        stack.enter_context(_attribute_replaced(socket, "getaddrinfo", _refuse_name))
        yield


@contextmanager
def _attribute_replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    is_own, old = name in vars(owner), vars(owner).get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if is_own:
            setattr(owner, name, old)
        else:
            delattr(owner, name)


def _restore(before: dict[str, str | None], unloaded: list[str]) -> None:
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    for module in unloaded:  # if it was imported in the meantime, it has stored the temporary value
        if module in sys.modules:
            setattr(sys.modules[module], _SWITCH, (before[_SWITCH] or "").upper() in _YES)


def _refuse_name(*args: Any, **kwargs: Any) -> Any:
    raise socket.gaierror(socket.EAI_FAIL, _WHY)
