"""Classes of model wrappers by name: ULMEvalKit's own, each over the backend that runs its model, and those of users'
files.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from polymeter.interop.ulmeval.models.native import NativeModel
from polymeter.interop.ulmeval.models.zoo import CLASSES, ENTRIES


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
    """The subclass of a base class that somebody has defined under a name, the latest where there are several."""
    waiting = [base]
    while waiting:
        below: list[type] = type.__subclasses__(waiting.pop())
        for found in reversed(below):
            if found.__name__ == name and not found.__module__.startswith("polymeter."):
                return found
        waiting.extend(below)
    return None
