"""Estimation of one number and its uncertainty, from values and an aggregation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeter.core.errors import ScoreError, boundary
from polymeter.core.metric import Aggregation
from polymeter.core.records.spread import UNBOUNDED, Bounds, Spread
from polymeter.core.text.codec import is_nan, jsonable
from polymeter.core.text.finite import is_finite_number
from polymeter.stats.additive import Additive
from polymeter.stats.bootstrap import bootstrap, bootstrap_additive, bootstrap_error, bootstrap_interval
from polymeter.stats.errors import clustered_standard_error, standard_error
from polymeter.stats.intervals import Interval, within
from polymeter.stats.means.clusters import Partition
from polymeter.stats.means.mean_intervals import MeanInterval, mean_interval
from polymeter.stats.means.moments import known_bounds, mean_spread

_UNKNOWN = "the uncertainty of this aggregation is not known"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its uncertainty.

    Attributes:
        value: The number (or JSON value); ``None`` if it is missing.
        stderr: Standard error.
        interval: 95 % interval.
        method: How the error was computed: ``mean``, ``clustered`` or ``bootstrap``.
        ci_method: How the interval was computed; see ``docs/uncertainty.md``.
        no_interval: Why a number has no interval; empty if it has one.
        spread: The moments behind the interval of a mean, for groups.
    """

    value: Any
    stderr: float | None = None
    interval: Interval | None = None
    method: str | None = None
    ci_method: str | None = None
    no_interval: str = ""
    spread: Spread | None = field(default=None, repr=False, compare=False)


def estimate(
    values: Sequence[Any],
    aggregation: Aggregation,
    *,
    clusters: Partition | None = None,
    seed: int = 0,
    label: str = "",
    bounds: Bounds = UNBOUNDED,
) -> Estimate:
    """Aggregate values and estimate the uncertainty of the result.

    An aggregation whose uncertainty is ``none`` is called exactly once. If it returns NaN, the value is ``None``.

    Args:
        values: In sample order, without unscored ones; at least one.
        aggregation: The function that turns them into one number.
        clusters: The values that belong together, if any.
        seed: For resampling.
        label: The name of the values in messages.
        bounds: The range of the values, if their metric declares one.

    Raises:
        ScoreError: if the aggregation raises.
    """
    action = f"Aggregation {aggregation.name!r}{label and ' of '}{label}"
    if aggregation.uncertainty == "bootstrap":
        return _bootstrapped(values, aggregation, clusters, seed, action)
    with boundary(ScoreError, action):
        value = _value_or_none(aggregation.aggregate(values))
    if aggregation.uncertainty == "mean" and is_finite_number(value):
        return _estimate_of_mean(value, np.asarray(values, dtype=np.float64), clusters, bounds)
    return Estimate(value, no_interval=_UNKNOWN if is_finite_number(value) else "")


def _estimate_of_mean(value: float, data: NDArray[np.float64], clusters: Partition | None, bounds: Bounds) -> Estimate:
    """Estimate a mean in closed form, from data of shape ``(n,)``.

    The standard error is the one that other systems print. The interval uses its own moments.
    """
    if not math.isclose(value, float(data.mean()), rel_tol=1e-9, abs_tol=1e-12):
        # The aggregation is called a mean but computes something else, so its error is unknown.
        return Estimate(value, no_interval=_UNKNOWN)
    if clusters is None or clusters.count < 2:
        stderr, method = standard_error(data), "mean"
    else:
        stderr, method = clustered_standard_error(data, clusters), "clustered"
    if not np.isfinite(data).all():
        return Estimate(value, stderr, no_interval="a value is infinite")
    spread = mean_spread(data, clusters, known_bounds(data, bounds))
    found = mean_interval(spread)
    return Estimate(
        value, stderr, found.interval, None if stderr is None else method, found.method, found.problem, spread
    )


def _bootstrapped(
    values: Sequence[Any], aggregation: Aggregation, clusters: Partition | None, seed: int, action: str
) -> Estimate:
    aggregate = aggregation.aggregate
    terms = None
    with boundary(ScoreError, action):
        if isinstance(aggregate, Additive):
            terms = aggregate.terms(values)
            value = _value_or_none(aggregate.total(terms))
        else:
            value = _value_or_none(aggregate(values))
    if not is_finite_number(value):
        return Estimate(value)
    n_units = len(values if terms is None else terms)
    if n_units < 2:
        return Estimate(value, no_interval="a single sample")
    if clusters is not None and (clusters.count < 2 or (terms is not None and len(terms) != len(values))):
        # One cluster cannot be resampled, and terms per larger unit do not match the values' clusters.
        clusters = None
    generator = np.random.default_rng(seed)
    try:
        with boundary(ScoreError, action):
            if isinstance(aggregate, Additive) and terms is not None:
                replicates = bootstrap_additive(
                    aggregate, terms, generator=generator, resamples=aggregation.resamples, clusters=clusters
                )
            else:
                replicates = bootstrap(
                    aggregate, values, generator=generator, resamples=aggregation.resamples, clusters=clusters
                )
    except ScoreError:
        # The aggregation has a value for the measured samples but not for every resample. Keep it, without an error.
        return Estimate(value, no_interval="some resamples have no value")
    stderr = bootstrap_error(value, replicates)
    if stderr is None:
        return Estimate(value, no_interval="some resamples have no value")
    if isinstance(aggregate, Additive) and aggregate.of_ratio is not None and terms is not None:
        found = _ratio_interval(terms, aggregate.of_ratio, clusters, aggregation.bounds)
    else:
        found = bootstrap_interval(
            value,
            replicates,
            n_units if clusters is None else clusters.count,
            bounds=aggregation.bounds,
            is_clustered=clusters is not None and clusters.count < n_units,
        )
    return Estimate(value, stderr, found.interval, "bootstrap", found.method, found.problem)


def _ratio_interval(
    terms: NDArray[np.float64], transform: Callable[[float], float], clusters: Partition | None, bounds: Bounds
) -> MeanInterval:
    """Return the interval of a monotone function of a ratio of sums: the transformed interval of the ratio, cut at the
    ends of the function's range.

    Except for terms of the order 1/n, a ratio of sums is a mean of linearised values (Woodruff 1971).
    """
    over, under = math.fsum(terms[:, 0].tolist()), math.fsum(terms[:, 1].tolist())
    ratio = over / under
    linear = ratio + (terms[:, 0] - ratio * terms[:, 1]) * (len(terms) / under)
    found = mean_interval(mean_spread(linear, clusters))
    if found.interval is None:
        return found
    ends = sorted(transform(end) for end in found.interval)
    if not all(math.isfinite(end) for end in ends):
        return MeanInterval(problem="its bounds are too large")
    return replace(found, interval=within((ends[0], ends[1]), bounds))


def _value_or_none(value: Any) -> Any:
    """Return plain data, with ``None`` for NaN."""
    value = jsonable(value)
    return None if is_nan(value) else value
