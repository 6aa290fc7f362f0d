"""Names that adapters of EvalScope 1.x give to their metrics, filters, aggregations and model interfaces.

A file that is loaded again replaces its own; two files, or one file twice, cannot use one name.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from polymeter.core.errors import did_you_mean
from polymeter.interop.evalscope.tasks.registration import registering_file

T = TypeVar("T")
_SCORING = "polymeter.interop.evalscope.v1.scoring"


class Registry(dict[str, Any]):
    """Objects of one kind by name.

    Args:
        kind: The kind, for messages.
        home: The module that registers ours; it is imported when the first name is looked up or given.
    """

    def __init__(self, kind: str, *, home: str = "", **options: Any) -> None:
        super().__init__()
        self.kind = kind
        self._home = home
        self._on_register: Callable[[Any, list[str]], None] | None = options.get("on_register")
        self._places: dict[str, tuple[Path, Any]] = {}

    def register(self, name: str | Sequence[str]) -> Callable[[T], T]:
        """A decorator that makes an object known under one or more names.

        Raises:
            ValueError: if there is no name; when it decorates, if one is taken by something else.
        """
        names = [name] if isinstance(name, str) else list(name)
        if not names:
            raise ValueError(f"{self.kind} registration requires at least one name.")

        def add(obj: T) -> T:
            caller = sys._getframe(1)
            file, _ = registering_file(caller)
            if not str(caller.f_globals.get("__name__", "")).startswith("polymeter.interop."):
                self.load_ours()
            for one in names:
                earlier, space = self._places.get(one, (file, None))
                # Code that runs anew has other globals: a file that is loaded again replaces its own.
                if one in self and (earlier != file or space is caller.f_globals):
                    raise ValueError(f"{self.kind} '{one}' is already registered (by {earlier}).")
            if self._on_register is not None:
                self._on_register(obj, names)
            for one in names:
                self[one] = obj
                self._places[one] = (file, caller.f_globals)
            return obj

        return add

    def load_ours(self) -> None:
        """Register Polymeter's own."""
        home, self._home = self._home, ""
        if home:
            importlib.import_module(home)

    def is_registered(self, name: str, registering_module: str | None = None) -> bool:
        """Return whether a name is taken."""
        self.load_ours()
        return name in self

    def lookup(self, name: str) -> Any:
        """Return the object of a name.

        Raises:
            ValueError: if there is none; the nearest names are given.
        """
        self.load_ours()
        if name not in self:
            hint = did_you_mean(name, self) or f"Known: {', '.join(sorted(self))}."
            raise ValueError(f"{self.kind} '{name}' is not registered. {hint}")
        return self[name]

    def list_keys(self) -> list[str]:
        """All names, sorted."""
        self.load_ours()
        return sorted(self)


# Of the process, because a decorator registers without naming a run.
MODEL_APIS = Registry("Model API")
METRIC_REGISTRY = Registry("Metric", home=_SCORING)
FILTER_REGISTRY = Registry("Filter", home=_SCORING)
AGGREGATION_REGISTRY = Registry("Aggregation function", home=_SCORING)
EVALUATOR_REGISTRY = Registry("Evaluator")


def register_model_api(name: str | Sequence[str]) -> Callable[[T], T]:
    """A decorator that makes a model interface known."""
    return MODEL_APIS.register(name)


def get_model_api(name: str) -> Any:
    """Return a model interface; a function is called for it."""
    found = MODEL_APIS.lookup(name)
    return found if isinstance(found, type) else found()


def register_metric(name: str | Sequence[str]) -> Callable[[T], T]:
    """A decorator that makes a metric known."""
    return METRIC_REGISTRY.register(name)


def get_metric(name: str) -> Any:
    """Return a metric's class."""
    return METRIC_REGISTRY.lookup(name)


def register_filter(name: str | Sequence[str]) -> Callable[[T], T]:
    """A decorator that makes a filter known."""
    return FILTER_REGISTRY.register(name)


def get_filter(name: str) -> Any:
    """Return a filter's class."""
    return FILTER_REGISTRY.lookup(name)


def register_aggregation(name: str | Sequence[str]) -> Callable[[T], T]:
    """A decorator that makes an aggregation known."""
    return AGGREGATION_REGISTRY.register(name)


def get_aggregation(name: str) -> Any:
    """Return an aggregation's class."""
    return AGGREGATION_REGISTRY.lookup(name)


def register_evaluator(name: str | Sequence[str]) -> Callable[[T], T]:
    """A decorator that makes an evaluator known. Polymeter's own engine evaluates, whatever is registered."""
    return EVALUATOR_REGISTRY.register(name)


def get_evaluator(name: str) -> Any:
    """Return an evaluator's class."""
    return EVALUATOR_REGISTRY.lookup(name)
