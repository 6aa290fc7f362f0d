"""Neural networks that metrics load from a folder or from the Hugging Face hub."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

from polymeter.core.errors import PlanError, boundary
from polymeter.core.guest_context import weights_place
from polymeter.core.names.registry import missing_package

Network = TypeVar("Network")


def kept(read: Callable[[str], Network]) -> Callable[[str], Network]:
    """Cache the last two networks that a function reads. If several threads need one, only one of them reads it."""
    # Kept for the life of the process: reading weights takes seconds, and the next run needs the same.
    cached_read, lock = lru_cache(maxsize=2)(read), threading.Lock()

    @wraps(read)
    def read_once(location: str) -> Network:
        with lock:
            return cached_read(location)

    return read_once


def check_network(location: str, wanted_by: str, argument: str) -> None:
    """Check that a network of Transformers is available, reading only its small configuration file.

    Args:
        location: Hub id or folder; ``--weights ID=PATH`` replaces an id by a folder.
        wanted_by: The metric or detector that needs it, for messages.
        argument: The argument that names it, for messages.

    Raises:
        PlanError: if torch or Transformers is not installed, or the network does not exist.
    """
    try:
        import torch  # noqa: F401
        from transformers import AutoConfig
    except ModuleNotFoundError as error:
        raise missing_package(error.name or "transformers", wanted_by, "hf") from error
    with boundary(
        PlanError,
        f"Looking for the network {location!r} of {wanted_by}",
        hint=f"Name a folder that holds it: {argument}: PATH.",
    ):
        AutoConfig.from_pretrained(weights_place(location))
