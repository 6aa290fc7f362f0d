"""Aggregations that are a function of sums, so that resampling them is cheap.

A mean, a perplexity or a corpus BLEU is computed from totals (of values, of log-probabilities and words, of n-gram
matches). The terms of each sample are computed once, and a resample only adds up rows of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Additive:
    """The aggregation ``value(Σ terms)``, which is callable like any other.

    Attributes:
        terms: A function from ``n`` values to the terms that each adds to the ``k`` totals, shape ``(n, k)``. Fewer
            rows than values mean that the values form larger independent units (the answers to one question), which are
            then resampled.
        value: A function from the totals, shape ``(k,)``, to the aggregate.
        of_ratio: If the aggregate is a monotone function of the first total over the second, this function. The
            interval is then the transformed interval of the ratio.
    """

    terms: Callable[[Sequence[Any]], NDArray[np.float64]]
    value: Callable[[Sequence[float]], float]
    of_ratio: Callable[[float], float] | None = None

    def __call__(self, values: Sequence[Any]) -> float:
        """Return the aggregate of all values."""
        return self.total(self.terms(values))

    def total(self, terms: NDArray[np.float64]) -> float:
        """Return the aggregate of terms, shape ``(n, k)``. Sums are exactly rounded, so the order of rows does not
        matter.
        """
        return self.value([math.fsum(column) for column in terms.T.tolist()])
