"""Registrations of task code: metrics, aggregations and filters, by the decorators of lmms-eval.

A definition in task code counts for the tasks whose code it belongs to, where it wins over everything else of its
name, and for no others: two task folders may define one name each, and neither changes what a built-in name means
elsewhere. A definition in a file that the user loads (``--import``) counts for all tasks, and wins over a
built-in one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Generic, TypeVar

from polymeter.core.errors import GUEST_PREFIX, PlanError
from polymeter.core.metric import Aggregation, Metric
from polymeter.core.names.registries import AGGREGATIONS, METRICS
from polymeter.core.names.registry import Registry
from polymeter.core.task import TaskSpec

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
USERS = "user"
"""Version of a metric that a guest defines: its code is among the task's sources, which are hashed."""
_OUTPUT_TYPES = ("generate_until", "loglikelihood", "multiple_choice")


class Definitions(Generic[T]):
    """Definitions of one kind, by name and file.

    Args:
        registry: Where definitions in files that the user loads are registered; ``None``: they are kept here.
    """

    def __init__(self, registry: Registry[T] | None) -> None:
        self._registry = registry
        self._by_name: dict[str, dict[Path, T]] = {}
        self._for_all: dict[str, T] = {}

    def add(self, name: str, value: T, code: Any) -> None:
        """Add a definition. A file that is loaded again replaces its own.

        Raises:
            PlanError: if it is not from a task folder, and the user has another definition of that name.
        """
        file = file_of(code)
        self._by_name.setdefault(name, {})[file] = value
        # Modules of task folders have private names: what they register stays with the tasks whose code they are.
        if str(getattr(code, "__module__", "")).startswith(GUEST_PREFIX):
            return
        if self._registry is None:
            self._for_all[name] = value
        else:
            self._registry.register(name, value, place=str(file))

    def of(self, name: str, files: Collection[Path]) -> T | None:
        """The definition of that name in one of these files."""
        definitions = self._by_name.get(name, {})
        return next((value for file, value in definitions.items() if file in files), None)

    def find(self, name: str, files: Collection[Path]) -> T | None:
        """The definition of that name in one of these files, else the one for all tasks if it is kept here."""
        own = self.of(name, files)
        return own if own is not None else self._for_all.get(name)

    def __contains__(self, value: object) -> bool:
        return any(value is other for files in self._by_name.values() for other in files.values())


# Of the process, because decorators register what they decorate without naming a run. A file that is loaded again
# replaces its own.
METRIC_DEFINITIONS: Definitions[Metric] = Definitions(METRICS)
AGGREGATION_DEFINITIONS: Definitions[Aggregation] = Definitions(AGGREGATIONS)
FILTER_DEFINITIONS: Definitions[Callable[..., Any]] = Definitions(None)


def register_metric(**args: Any) -> Callable[[F], F]:
    """Make a function a metric.

    For generation it is called for each sample as ``fn(references=[…], predictions=[…], **kwargs)``. For multiple
    choice it is a name only: the sample's value is ``(reference, prediction)``, and the aggregation decides what to
    make of it.

    Args:
        **args: ``metric``, its name; ``higher_is_better``; ``output_type``, one or a list; ``aggregation``, the name of
            its default one.

    Raises:
        PlanError: if there is no ``metric``, or an argument is unknown.
    """
    parameters = {"metric", "higher_is_better", "output_type", "aggregation"}
    unknown = sorted(set(args) - parameters)
    if "metric" not in args or unknown:
        problem = f"does not take {unknown[0]!r}" if unknown else "needs 'metric', the name"
        raise PlanError(f"register_metric {problem}.", hint=f"It takes {', '.join(sorted(parameters))}.")
    types = args.get("output_type") or _OUTPUT_TYPES

    def add(function: F) -> F:
        metric = Metric(
            str(args["metric"]),
            str(args.get("aggregation") or "mean"),
            bool(args.get("higher_is_better", True)),
            function,
            dict.fromkeys((types,) if isinstance(types, str) else types, ""),
            version=USERS,
        )
        METRIC_DEFINITIONS.add(metric.name, metric, function)
        return function

    return add


def register_aggregation(name: str) -> Callable[[F], F]:
    """Make a function of all values, in sample order, an aggregation. It is called exactly once for each result."""

    def add(function: F) -> F:
        AGGREGATION_DEFINITIONS.add(name, Aggregation(name, function, "none"), function)
        return function

    return add


def register_filter(name: str) -> Callable[[F], F]:
    """Register a filter class under a name that ``filter_list`` can use."""

    def add(filter_class: F) -> F:
        FILTER_DEFINITIONS.add(name, filter_class, filter_class)
        return filter_class

    return add


def file_of(code: Any) -> Path:
    """The file that holds a function or class; the working directory if there is none."""
    own = getattr(getattr(code, "__code__", None), "co_filename", None)
    module = sys.modules.get(str(getattr(code, "__module__", "")))
    return Path(own or getattr(module, "__file__", None) or ".").resolve()


def code_files(spec: TaskSpec) -> frozenset[Path]:
    """The files of a task's code, as definitions know them."""
    return frozenset(file.resolve() for file in spec.sources)
