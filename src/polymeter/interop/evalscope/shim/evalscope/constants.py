"""``evalscope.constants`` of both generations. They differ in one word, that for a checkpoint, which is the word of the
generation that the importing code is written for; either is equal to both.
"""

from __future__ import annotations

from typing import Any

from polymeter.interop.evalscope.shim.generation import is_imported_by_1x
from polymeter.interop.evalscope.v1 import constants


def __getattr__(name: str) -> Any:
    """A constant."""
    if name == "EvalType" and not is_imported_by_1x():
        return constants.EarlierEvalType
    return getattr(constants, name)


def __dir__() -> list[str]:
    """The names of all constants, so that a star import binds them."""
    return dir(constants)
