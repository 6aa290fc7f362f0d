"""The words that adapters are written in."""

from typing import Any

from polymeter.interop.evalscope.tasks import constants as _ours
from polymeter.interop.evalscope.tasks.constants import *  # noqa: F403


def __getattr__(name: str) -> Any:
    return getattr(_ours, name)
