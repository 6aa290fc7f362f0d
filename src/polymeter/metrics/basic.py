"""Aggregations of plain numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polymeter.core.metric import Aggregation
from polymeter.stats.additive import Additive


def mean(values: Sequence[float]) -> float:
    """Compute the arithmetic mean ``Σ x / n``. The sum is exactly rounded, so the order of values does not matter.

    Raises:
        ZeroDivisionError: if ``values`` is empty.
    """
    return math.fsum(values) / len(values)


def median(values: Sequence[float]) -> float:
    """Return the middle one of the sorted values, or the mean of the middle two.

    lmms-eval takes the middle one of the unsorted values, which depends on their order.

    Raises:
        ValueError: if ``values`` is empty.
    """
    data = np.asarray(values, dtype=np.float64)
    if data.size == 0:
        raise ValueError("A median needs at least one value.")
    return float(np.median(data))


def numbers(values: Sequence[float]) -> NDArray[np.float64]:
    """Return values as one column, shape ``(n, 1)``."""
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
# Resampling cannot estimate the error of an extreme, because no resample goes beyond the extreme of the sample.
MAX = Aggregation("max", _largest, uncertainty="none")
MIN = Aggregation("min", _smallest, uncertainty="none")
