"""Marking what is not to be used any more."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

F = TypeVar("F", bound="Callable[..., Any]")


def deprecated(since: str, remove_in: str | None = None, alternative: str | None = None) -> Callable[[F], F]:
    """A decorator that warns when a function is called.

    Args:
        since: The version from which on.
        remove_in: The version in which it goes.
        alternative: What to use.
    """
    rest = f", goes in {remove_in}" if remove_in else ""
    hint = f"; use {alternative}" if alternative else ""

    def mark(function: F) -> F:
        @wraps(function)
        def warned(*args: Any, **kwargs: Any) -> Any:
            text = f"{function.__name__} is deprecated since {since}{rest}{hint}."
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return function(*args, **kwargs)

        return warned  # type: ignore[return-value]

    return mark
