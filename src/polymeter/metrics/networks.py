"""Networks that metrics read from a folder or from the Hugging Face hub."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

from polymeter.core.errors import PlanError, boundary
from polymeter.core.guest_context import weights_place
from polymeter.core.registry import missing_package

Network = TypeVar("Network")


def kept(read: Callable[[str], Network]) -> Callable[[str], Network]:
    """Keep what a function reads from a place, the last two of them. Of several threads one reads, and all get it."""
    remembered, lock = lru_cache(maxsize=2)(read), threading.Lock()

    @wraps(read)
    def read_once(place: str) -> Network:
        with lock:
            return remembered(place)

    return read_once


def check_network(place: str, wanted_by: str, argument: str) -> None:
    """See whether a network of Transformers can be had, by its small configuration file alone.

    Args:
        place: Hub id or folder; ``--weights ID=PATH`` puts a folder in place of an id.
        wanted_by: What needs it, for messages.
        argument: The argument that names it, for messages.

    Raises:
        PlanError: torch or Transformers is not installed, or there is no such network.
    """
    try:
        import torch  # noqa: F401
        from transformers import AutoConfig
    except ModuleNotFoundError as error:
        raise missing_package(error.name or "transformers", wanted_by, "hf") from error
    with boundary(
        PlanError,
        f"Looking for the network {place!r} of {wanted_by}",
        hint=f"Name a folder that holds it: {argument}: PATH.",
    ):
        AutoConfig.from_pretrained(weights_place(place))
