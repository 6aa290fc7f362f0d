"""``ulmeval.ulm``, ``ulmeval.api`` and ``vlmeval.vlm``: classes of model wrappers by name, those of users' files and
ULMEvalKit's own, each run by one of Polymeter's backends.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from polymeter.interop.ulmeval.models.base import BaseAPI, BaseModel
from polymeter.interop.ulmeval.models.native import NativeModel
from polymeter.interop.ulmeval.models.zoo import CLASSES, ENTRIES
from polymeter.interop.ulmeval.shim.ulmeval import LateNames
from polymeter.interop.ulmeval.shim.vlmeval import base as vlm_base

_DRAWING = ("GPTIMAGE1", "GeminiFlashGeneration", "Imagen")


# Kept for the life of the process: a name has to be the same class each time.
@cache
def model_class(name: str) -> type[NativeModel]:
    """One of ULMEvalKit's classes; it can be called and subclassed.

    Args:
        name: One of ``CLASSES``.
    """
    model = CLASSES[name]

    def __init__(self: NativeModel, model_path: str = ENTRIES[model].model_path, **arguments: Any) -> None:
        NativeModel.__init__(self, model, model_path, **arguments)

    return type(
        name, (NativeModel,), {"__init__": __init__, "__doc__": f"{model}, run by one of Polymeter's backends."}
    )


def defined_class(base: type, name: str) -> type | None:
    """The subclass of a base class with that name, outside Polymeter; of several, the latest."""
    bases = [base]
    while bases:
        subclasses: list[type] = type.__subclasses__(bases.pop())
        for cls in reversed(subclasses):
            if cls.__name__ == name and not cls.__module__.startswith("polymeter."):
                return cls
        bases.extend(subclasses)
    return None


def _class_named(base: type, own: Sequence[str], name: str) -> type | None:
    return defined_class(base, name) or (model_class(name) if name in own else None)


ULM = LateNames("ulmeval.ulm", partial(_class_named, BaseModel, tuple(CLASSES)), tuple(CLASSES))
API = LateNames("ulmeval.api", partial(_class_named, BaseAPI, _DRAWING), _DRAWING)
VLM = LateNames("vlmeval.vlm", partial(_class_named, vlm_base.BaseModel, ()))
