"""Names that can be imported and that cannot be used: whoever calls one learns what to do instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from polymeter.core.errors import PlanError


def absent_class(name: str, instead: str, *, kit: str) -> type:
    """A class that can be named and subclassed; making an instance is refused.

    Args:
        name: Its name.
        instead: What it needs, or what to do in its place: a sentence.
        kit: Whose it is.
    """

    def refuse(self: object, *args: Any, **kwargs: Any) -> NoReturn:
        raise _refusal(name, instead, kit)

    return type(name, (), {"__init__": refuse, "__doc__": f"Not provided. {instead}"})


def absent_function(name: str, instead: str, *, kit: str) -> Callable[..., Any]:
    """A function that refuses to be called; see ``absent_class``."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise _refusal(name, instead, kit)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Not provided. {instead}"
    return refuse


def _refusal(name: str, instead: str, kit: str) -> PlanError:
    return PlanError(f"{name} of {kit} is not provided.", where=f"{kit.lower()} {name}", hint=instead)
