"""Filters: what is done to a model's text before an adapter parses it.

A benchmark lists them as an ordered mapping from name to value: ``{"remove_until": "</think>"}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from polymeter.core.errors import PlanError, did_you_mean

FilterFunction = Callable[..., str]


class Filter:
    """The filters there are, by name. An author's file may add its own."""

    _registry: ClassVar[dict[str, FilterFunction]] = {}

    @classmethod
    def register(cls, name: str) -> Callable[[FilterFunction], FilterFunction]:
        """A decorator that adds a function ``(text, value) -> text``; the last one of a name counts."""

        def add(function: FilterFunction) -> FilterFunction:
            cls._registry[name] = function
            return function

        return add

    @classmethod
    def get_filter(cls, name: str) -> FilterFunction | None:
        """The filter of that name, or ``None``."""
        return cls._registry.get(name)

    @classmethod
    def apply(cls, name: str, value: str, *args: Any, **kwargs: Any) -> str:
        """The text after the filter of that name.

        Raises:
            PlanError: There is no such filter.
        """
        cls.check([name])
        return cls._registry[name](value, *args, **kwargs)

    @classmethod
    def check(cls, names: list[str]) -> None:
        """Refuse names that no filter has.

        Raises:
            PlanError: There is no such filter; the nearest ones are named.
        """
        for name in names:
            if name not in cls._registry:
                hint = did_you_mean(name, cls._registry) or f"Known: {', '.join(sorted(cls._registry))}."
                raise PlanError(f"There is no filter {name!r}.", where="filters", hint=hint)


@Filter.register("remove_until")
def remove_until(value: str, marker: str) -> str:
    """What follows the last occurrence of a marker; the whole text where there is none."""
    return value.rpartition(marker)[2] if marker else value


@Filter.register("extract")
def extract(value: str, pattern: str) -> str:
    """The first match of a pattern, whole whatever groups it has; the empty text where there is none."""
    match = re.search(pattern, value)
    return match.group(0) if match else ""
