"""The metrics of each output type: the default ones, and the possible ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.metric import Aggregation, Metric

DEFAULT_METRICS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "generate_until": ("exact_match",),
        "loglikelihood": ("perplexity", "acc"),
        "multiple_choice": ("acc", "acc_norm"),
        "generate_image": (),
    }
)
"""The metrics of a task that names none. Tasks that draw images must name theirs."""

OUTPUT_FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        "generate_until_multi_round": "generate_until",
        "generate_until_agentic": "generate_until",
        "generate_visual_cot": "generate_until",
        "generate_with_tools": "generate_until",
    }
)

_COMPARED = frozenset({"references", "predictions", "images", "image_size"})


_BY_KEYWORD = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def output_family(output_type: str) -> str:
    """Return the output type whose metrics apply. All ways of generating (several rounds, visual, agentic) end in an
    answer.

    Raises:
        PlanError: if the output type is unknown.
    """
    family = OUTPUT_FAMILIES.get(output_type, output_type)
    if family not in DEFAULT_METRICS:
        output_types = [*DEFAULT_METRICS, *OUTPUT_FAMILIES]
        hint = did_you_mean(output_type, output_types) or f"Known: {', '.join(output_types)}."
        raise PlanError(f"There is no output type {output_type!r}.", hint=hint)
    return family


def default_metrics(output_type: str) -> tuple[str, ...]:
    """Return the names of the metrics of a task that names none.

    Raises:
        PlanError: if the output type is unknown.
    """
    return DEFAULT_METRICS[output_family(output_type)]


def check_pair(metric: Metric, output_type: str, where: str = "") -> None:
    """Check that a metric applies to an output type.

    Raises:
        PlanError: if it does not. The message names its output types.
    """
    if output_type not in metric.output_types and output_family(output_type) not in metric.output_types:
        raise PlanError(
            f"Metric {metric.name!r} cannot be computed for output type {output_type!r}.",
            where=where,
            hint=f"It is for {' and '.join(metric.output_types)}. Choose another or set its value in process_results.",
        )


def check_kwargs(metric: Metric, kwargs: Iterable[str], where: str = "") -> None:
    """Check that a metric accepts these keyword arguments.

    Raises:
        PlanError: if it does not accept one. The message names the nearest that it accepts.
    """
    keywords = keyword_names(metric)
    if keywords is None:
        return
    for name in kwargs:
        if name not in keywords:
            takes = f"It accepts {', '.join(keywords)}." if keywords else "It accepts no arguments."
            hint = did_you_mean(name, keywords) or takes
            raise PlanError(f"Metric {metric.name!r} does not accept {name!r}.", where=where, hint=hint)


def keyword_names(metric: Metric) -> list[str] | None:
    """Return the keyword arguments that a metric accepts besides the texts to compare, or ``None`` if it accepts
    any.
    """
    function = metric.score or metric.of_sets
    if function is None:
        return []
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    own = [p.name for p in parameters if p.kind in _BY_KEYWORD and p.name not in _COMPARED]
    return own + [name for name in aggregation_keywords(metric) if name not in own]


def aggregation_keywords(metric: Metric) -> list[str]:
    """Return the keyword arguments of a metric's default aggregation."""
    if metric.aggregation_with is None:
        return []
    return [p.name for p in inspect.signature(metric.aggregation_with).parameters.values() if p.kind in _BY_KEYWORD]


def aggregation_of(
    metric: Metric, kwargs: Mapping[str, Any], named: Callable[[str], Aggregation], name: str | None = None
) -> Aggregation:
    """Return the aggregation of a metric with the arguments that a task gives.

    Args:
        metric: The metric.
        kwargs: All arguments of the metric's entry.
        named: Returns an aggregation by its name.
        name: The aggregation that the task names; the metric's own by default.

    Raises:
        PlanError: if the name is unknown, an argument has no such value, or an argument is one of the metric's own
            aggregation and the task names another.
    """
    own = {key: value for key, value in kwargs.items() if key in aggregation_keywords(metric)}
    if not own or metric.aggregation_with is None:
        return named(name or metric.aggregation)
    if name not in (None, metric.aggregation):
        raise PlanError(
            f"Metric {metric.name!r} uses {next(iter(own))!r} only in its aggregation {metric.aggregation!r}, not in "
            f"{name!r}.",
            hint="Leave one of the two out.",
        )
    return metric.aggregation_with(**own)
