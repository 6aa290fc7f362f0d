"""Aggregations that are a function of sums, which makes resampling them cheap.

A mean, a perplexity or a corpus BLEU is computed from totals (of values, of log-probabilities and words, of n-gram
matches). What a sample adds to the totals is computed once; a resample then only adds up rows of numbers.
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
    """``value(Σ terms)``: callable like any aggregation.

    Attributes:
        terms: From ``n`` values, what each adds to the ``k`` totals, shape ``(n, k)``. Fewer rows than values mean that
            the values form larger independent units (the answers to one question), which are then resampled.
        value: From the totals, shape ``(k,)``, the aggregate.
        of_ratio: If that is a monotone function of the first total over the second, this function: the interval is then
            that of the ratio, transformed.
    """

    terms: Callable[[Sequence[Any]], NDArray[np.float64]]
    value: Callable[[Sequence[float]], float]
    of_ratio: Callable[[float], float] | None = None

    def __call__(self, values: Sequence[Any]) -> float:
        """The aggregate of all values."""
        return self.total(self.terms(values))

    def total(self, terms: NDArray[np.float64]) -> float:
        """The aggregate of terms, shape ``(n, k)``; sums are exactly rounded, so the order of rows does not matter."""
        return self.value([math.fsum(column) for column in terms.T.tolist()])
