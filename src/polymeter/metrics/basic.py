"""Aggregations of plain numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polymeter.core.metric import Aggregation
from polymeter.stats.additive import Additive


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean ``Σ x / n``, of an exactly rounded sum: the order of values does not matter.

    Raises:
        ZeroDivisionError: if there are no values.
    """
    return math.fsum(values) / len(values)


def median(values: Sequence[float]) -> float:
    """The middle one of the sorted values, or the mean of the middle two.

    lmms-eval takes the middle one of the unsorted values, which depends on their order.

    Raises:
        ValueError: if there are no values.
    """
    data = np.asarray(values, dtype=np.float64)
    if data.size == 0:
        raise ValueError("There is no median of no values.")
    return float(np.median(data))


def numbers(values: Sequence[float]) -> NDArray[np.float64]:
    """Values as one column, shape ``(n, 1)``."""
    return np.asarray(values, dtype=np.float64).reshape(-1, 1)


def _only(totals: Sequence[float]) -> float:
    return totals[0]


def _largest(values: Sequence[float]) -> float:
    return float(max(values))


def _smallest(values: Sequence[float]) -> float:
    return float(min(values))


MEAN = Aggregation("mean", mean, uncertainty="mean")
MEDIAN = Aggregation("median", median)
SUM = Aggregation("sum", Additive(numbers, _only))
# An extreme of a resample is never beyond that of the sample: resampling says nothing about it.
MAX = Aggregation("max", _largest, uncertainty="none")
MIN = Aggregation("min", _smallest, uncertainty="none")
