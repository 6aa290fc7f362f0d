"""The words that adapters are written in."""

from typing import Any

from polymeter.dialects.adapter import constants as _ours
from polymeter.dialects.adapter.constants import *  # noqa: F403


def __getattr__(name: str) -> Any:
    return getattr(_ours, name)
