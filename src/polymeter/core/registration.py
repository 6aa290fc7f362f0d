"""Adding models, metrics, aggregations and detectors from a user's own code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from polymeter.core.metric import Aggregation, Metric, Uncertainty
from polymeter.core.registries import AGGREGATIONS, DETECTORS, METRICS, MODELS
from polymeter.core.registry import place_of

F = TypeVar("F", bound=Callable[..., Any])


def register_model(name: str) -> Callable[[F], F]:
    """Make a model class, or a function that makes a model, known by a name. Its keyword parameters are what
    ``--model-args`` may set.

    Raises:
        PlanError: if another definition of the user has that name.
    """

    def add(factory: F) -> F:
        MODELS.register(name, factory, place=place_of(factory))
        return factory

    return add


def register_metric(
    metric: str,
    *,
    aggregation: str = "mean",
    higher_is_better: bool = True,
    output_type: str | tuple[str, ...] = "generate_until",
    version: str = "1",
) -> Callable[[F], F]:
    """Make a per-sample function a metric: ``fn(references=[…], predictions=[…], **kwargs)`` gives a number.

    Raises:
        PlanError: if another definition of the user has that name.
    """

    def add(function: F) -> F:
        types = (output_type,) if isinstance(output_type, str) else tuple(output_type)
        made = Metric(metric, aggregation, higher_is_better, function, types, version)
        METRICS.register(metric, made, place=place_of(function))
        return function

    return add


def register_aggregation(name: str, *, uncertainty: Uncertainty = "none") -> Callable[[F], F]:
    """Make a function of all values, in sample order, an aggregation.

    Args:
        name: Its name in YAML.
        uncertainty: ``bootstrap`` only if the function is pure and cheap enough to be called many times.

    Raises:
        PlanError: if another definition of the user has that name.
    """

    def add(function: F) -> F:
        AGGREGATIONS.register(name, Aggregation(name, function, uncertainty), place=place_of(function))
        return function

    return add


def register_detector(name: str) -> Callable[[F], F]:
    """Make a ``Detector`` class, or a function that makes a detector, known by a name.

    If it has a parameter ``place``, it is called as ``NAME:PLACE`` and given what follows the colon: the hub id or
    folder of its weights.

    Raises:
        PlanError: if another definition of the user has that name.
    """

    def add(factory: F) -> F:
        DETECTORS.register(name, factory, place=place_of(factory))
        return factory

    return add
