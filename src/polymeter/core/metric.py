"""Metrics: a registered, pure way from per-sample values to a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from polymeter.core.parts import Modality

Uncertainty = Literal["mean", "bootstrap", "none"]


@dataclass(frozen=True, slots=True)
class Aggregation:
    """How values become one number.

    Attributes:
        name: Its name.
        aggregate: ``values in sample order → number``. Pure.
        uncertainty: How its standard error is had: ``mean`` in closed form (clustered where the task names clusters),
            ``bootstrap`` by resampling, ``none`` where neither makes sense.
        resamples: How many bootstrap resamples are worth their time.
    """

    name: str
    aggregate: Callable[[Sequence[Any]], Any]
    uncertainty: Uncertainty = "bootstrap"
    resamples: int = 1000


@dataclass(frozen=True, slots=True)
class Metric:
    """A named metric.

    Attributes:
        name: Its name.
        aggregation: Name of its default aggregation.
        higher_is_better: Direction.
        score: ``(references=…, predictions=…, **kwargs) → number or {name: number}`` of one sample; ``None`` for a
            metric whose per-sample value is made elsewhere (by the task, or from log-probabilities) and passes
            through.
        output_types: The asks it makes sense for.
        version: Changes whenever its numbers may.
        reference: Of which modality its references are, where a target may hold several; ``None``: of any.
        of_sets: ``(images, references, **kwargs) → number`` of all pictures and all their references, each an iterable
            that is drawn from once, for a metric that has no value of one sample; ``None`` for all others.
        check: Called with the metric's keyword arguments before anything is asked; raises PlanError where weights or
            packages that it needs are missing.
    """

    name: str
    aggregation: str = "mean"
    higher_is_better: bool = True
    score: Callable[..., Any] | None = None
    output_types: tuple[str, ...] = ("generate_until",)
    version: str = "1"
    reference: Modality | None = None
    of_sets: Callable[..., float] | None = None
    check: Callable[..., None] | None = None
