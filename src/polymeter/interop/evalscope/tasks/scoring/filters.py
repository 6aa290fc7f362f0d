"""Filters: what is done to a model's text before an adapter parses it.

A benchmark lists them as an ordered mapping from name to setting: ``{"remove_until": "</think>"}``.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.guest_context import guest_context
from polymeter.metrics.patterns import applied, first_match

FilterFunction = Callable[..., str]
Parse = Callable[..., Any]
_PARSING_THREADS = "_parsing_threads"
_PARSE = "parse_pred_result"


class Filter:
    """The filters there are, by name. An author's file may add its own."""

    _registry: ClassVar[dict[str, FilterFunction]] = {}

    @classmethod
    def register(cls, name: str) -> Callable[[FilterFunction], FilterFunction]:
        """A decorator that adds a function ``(text, setting) -> text``; the last one of a name counts."""

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
            PlanError: if there is no such filter.
        """
        cls.check([name])
        return cls._registry[name](value, *args, **kwargs)

    @classmethod
    def check(cls, names: list[str]) -> None:
        """Refuse names that no filter has.

        Raises:
            PlanError: if there is no such filter; the nearest ones are named.
        """
        for name in names:
            if name not in cls._registry:
                hint = did_you_mean(name, cls._registry) or f"Known: {', '.join(sorted(cls._registry))}."
                raise PlanError(f"There is no filter {name!r}.", where="filters", hint=hint)


@Filter.register("remove_until")
def remove_until(value: str, marker: str) -> str:
    """Return the text after the last occurrence of a marker; the whole text if there is no marker."""
    return value.rpartition(marker)[2] if marker else value


@Filter.register("extract")
def extract(value: str, pattern: str) -> str:
    """The first match of a pattern, whole whatever groups it has; the empty text if none matches."""
    return applied(first_match, re.compile(pattern), value)


def apply_filters(adapter: Any, answer: Any) -> Any:
    """Apply the filters of an adapter to an answer, in their order. Answers that are not text are unchanged."""
    for name, setting in (adapter.config_kwargs.get("filters") or {}).items():
        if isinstance(answer, str):
            answer = Filter.apply(name, answer, setting)
    return answer


def _n_times_there(adapter: Any, method: Parse) -> int:
    """Return the number of times that EvalScope applies the filters when it calls this method. It wraps the method of
    each class, also an inherited one, so they are applied once for each class from the one that is asked down to the
    one that defines the method; the base class of all adapters wraps nothing.
    """
    methods = {kind: vars(kind)[_PARSE] for kind in type(adapter).__mro__ if _PARSE in vars(kind)}
    definers = list(methods)
    lineage = [kind for kind in type(adapter).__mro__ if issubclass(kind, definers[-1])]
    at = next((at for at, kind in enumerate(definers) if methods[kind] is method), 0)
    # Who is asked: the adapter's own class, or in a chain of super() calls the class above the last definer.
    asked = 0 if at == 0 else lineage.index(definers[at - 1]) + 1
    return lineage.index(definers[at]) - asked + (0 if at == len(definers) - 1 else 1)


def preprocess_decorator(parse: Parse) -> Parse:
    """Decorates a method that parses answers: they pass through the adapter's ``filters`` first; ``None`` becomes the
    empty text.

    Filters are applied once to an answer, however many methods of an adapter and its ancestors parse it in turn; with
    parity as often as there, see ``_n_times_there``.
    """
    if getattr(parse, "applies_filters", False):
        return parse

    @wraps(parse)
    def parse_filtered(self: Any, result: Any, raw_input_d: Any = None, *args: Any, **kwargs: Any) -> Any:
        if result is None:
            result = ""
        if guest_context().parity.on("filters"):
            for _ in range(_n_times_there(self, parse_filtered)):
                result = apply_filters(self, result)
            return parse(self, result, raw_input_d, *args, **kwargs)
        # The adapter itself remembers on which threads one of its methods is at work, since an author's super() call
        # passes nothing on. Threads, because hooks that wait run side by side.
        parsing_threads = vars(self).setdefault(_PARSING_THREADS, set())
        thread = threading.get_ident()
        if thread in parsing_threads:
            return parse(self, result, raw_input_d, *args, **kwargs)
        parsing_threads.add(thread)
        try:
            return parse(self, apply_filters(self, result), raw_input_d, *args, **kwargs)
        finally:
            parsing_threads.discard(thread)

    parse_filtered.applies_filters = True  # type: ignore[attr-defined]
    return parse_filtered
