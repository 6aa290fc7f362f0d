"""Names that can be imported and cannot be used: whoever calls one learns what it needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from polymeter.core.errors import PlanError


def absent_class(name: str, needs: str, *, kit: str = "ULMEvalKit") -> type:
    """A class that can be named and subclassed; making an instance is refused.

    Args:
        name: Its name.
        needs: What it needs or what to use in its place, a sentence.
        kit: Whose it is.
    """

    def refuse(self: object, *args: Any, **kwargs: Any) -> NoReturn:
        raise _refusal(name, needs, kit)

    return type(name, (), {"__init__": refuse, "__doc__": f"Not provided. {needs}"})


def absent_function(name: str, needs: str, *, kit: str = "ULMEvalKit") -> Callable[..., Any]:
    """A function that refuses to be called; see ``absent_class``."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise _refusal(name, needs, kit)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Not provided. {needs}"
    return refuse


def _refusal(name: str, needs: str, kit: str) -> PlanError:
    return PlanError(f"{name} of {kit} is not provided.", where=name, hint=needs)
