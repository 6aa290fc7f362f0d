"""Metrics: a registered, pure way from per-sample values to a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from polymeter.core.content import Modality
from polymeter.core.records.spread import UNBOUNDED, Bounds

Uncertainty = Literal["mean", "bootstrap", "none"]


@dataclass(frozen=True, slots=True)
class Aggregation:
    """A way to combine values into one result.

    Attributes:
        name: Its name.
        aggregate: ``values in sample order → number``. Pure.
        uncertainty: How its standard error is computed: ``mean`` in closed form (clustered if the task names clusters),
            ``bootstrap`` by resampling, ``none`` if neither makes sense.
        resamples: Number of bootstrap resamples.
        bounds: The range of its number, which its interval never leaves; ``None`` for an end that it does not have. A
            mean has the range of its values.
    """

    name: str
    aggregate: Callable[[Sequence[Any]], Any]
    uncertainty: Uncertainty = "bootstrap"
    resamples: int = 1000
    bounds: Bounds = UNBOUNDED


@dataclass(frozen=True, slots=True)
class Metric:
    """A named metric.

    Attributes:
        name: Its name.
        aggregation: Name of its default aggregation.
        higher_is_better: Whether a higher value is better.
        score: ``(references=…, predictions=…, **kwargs) → number or {name: number}`` of one sample; ``None`` for a
            metric whose per-sample value comes from elsewhere (the task, or log-probabilities).
        values: The output types it applies to, each with a phrase that describes the value of one sample, unless
            the task defines it differently. The phrase may be empty, as for a function that a user registers.
        version: Changes whenever its results may.
        reference: The modality of its references, for targets that hold several; ``None``: any.
        of_sets: ``(images, references, **kwargs) → number`` over all images and all their references, each an iterable
            that is consumed once, for a metric that has no value per sample; ``None`` for all others.
        takes_all: Whether it scores all answers of a reading together; others score the first.
        runs_code: Whether it runs code that the model writes.
        bounds: The range of the value of one sample, which the interval of its mean never leaves; ``None`` for an end
            that it does not have.
        aggregation_with: ``(**kwargs) → aggregation``, for a metric whose default aggregation has arguments of its own;
            ``score`` does not get these.
        takes_image_size: ``(**kwargs) → whether`` the score also gets ``image_size``, the width and height of the
            image in the row in pixels; ``None``: it never does.
        extract: ``(prediction, **kwargs) → text``: the part of an answer that it compares with references, in the form
            in which it does; its result is ``None`` if it finds none. ``None``: it compares no such part.
        only_computed: Whether all of this holds only for values that the metric computes. Values of the same name that
            a task computes itself then have the aggregation and the bounds of an unknown name.
        check: Called with the metric's keyword arguments before any request is made; raises PlanError if weights or
            packages that it needs are missing.
    """

    name: str
    aggregation: str = "mean"
    higher_is_better: bool = True
    score: Callable[..., Any] | None = None
    # Left out of the hash, because a mapping has none; equality still compares it.
    values: Mapping[str, str] = field(default_factory=lambda: {"generate_until": ""}, hash=False)
    version: str = "1"
    reference: Modality | None = None
    of_sets: Callable[..., float] | None = None
    check: Callable[..., None] | None = None
    bounds: Bounds = UNBOUNDED
    takes_all: bool = False
    runs_code: bool = False
    aggregation_with: Callable[..., Aggregation] | None = None
    takes_image_size: Callable[..., bool] | None = None
    only_computed: bool = False
    extract: Callable[..., str | None] | None = None

    @property
    def output_types(self) -> tuple[str, ...]:
        """The output types it applies to, in the order of ``values``."""
        return tuple(self.values)
