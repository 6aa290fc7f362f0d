"""The sum over a finite population of which a random sample is known: what a run will come to, after a pilot.

The values of the sample are known and added. The rest is predicted from the sample, if that helps with a quantity that
is known of every unit (the size of its prompt). The formulas are those of model-based survey sampling (Royall 1970;
Valliant, Dorfman and Royall 2000, chapters 2 and 5): the error of a prediction has a part from the sample and a part
from the rest, which vanishes as the sample becomes the population.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymeter.stats.intervals import Interval, t_quantile

FEWEST = 3
"""The fewest values from which a range is made."""
_LEVELS = (0.90, 0.99)
_NARROW = math.log(2) / 2
"""The half width, in logarithms, of a range whose upper end is twice its lower end."""
_WIDEST = 50.0
_FEWEST_FOR_SLOPE = 6
_LARGEST_LEVERAGE = 0.9


@dataclass(frozen=True, slots=True)
class Predicted:
    """A predicted sum. Independent ones can be added.

    Attributes:
        value: The sum.
        variance: The variance of the error of the prediction; infinite if too few values are known.
        df: The degrees of freedom of the variance; infinite if it is 0.
    """

    value: float = 0.0
    variance: float = 0.0
    df: float = math.inf

    def __add__(self, other: Predicted) -> Predicted:
        variance = self.variance + other.variance
        spent = sum(one.variance**2 / one.df for one in (self, other) if 0 < one.variance < math.inf)
        if not math.isfinite(variance):
            df = 1.0
        else:
            df = variance**2 / spent if spent > 0 else math.inf  # Satterthwaite
        return Predicted(self.value + other.value, variance, df)

    def interval(self) -> Interval | None:
        """Return a range that holds the sum in at least nine of ten cases; ``None`` if it is unknown.

        The sum is positive and its values are skewed, so the range is symmetric on the scale of logarithms. With twenty
        skewed values, Student's quantile covers some percent less than it says. So the range is computed at 99 % as
        long as its upper end is at most twice its lower end, and at 90 % at least.
        """
        if self.variance == 0:
            return self.value, self.value
        if not math.isfinite(self.variance) or self.value <= 0:
            return None
        error, df = math.sqrt(self.variance) / self.value, max(self.df, 1.0)
        least, most = (t_quantile((1 + level) / 2, df) * error for level in _LEVELS)
        factor = math.exp(min(max(least, min(most, _NARROW)), _WIDEST))
        return self.value / factor, self.value * factor


def predict_rest(known: Sequence[tuple[float, float]], rest: Sequence[float]) -> Predicted:
    """Predict the sum of the unknown values.

    A straight line in the known quantity is used if it predicts the sample better than the mean does, each value by a
    line through the others. The variance allows for values that vary more where they are larger (MacKinnon and White
    1985, HC3).

    Args:
        known: For each unit of the sample, the quantity that is known of all units, and the value.
        rest: The quantity of each other unit.
    """
    n, n_rest = len(known), len(rest)
    if not n_rest:
        return Predicted()
    if not n:
        return Predicted(0.0, math.inf, 1.0)
    sizes, values = (np.array(column, dtype=np.float64) for column in zip(*known, strict=True))
    by_mean = _Fit.of(np.ones((n, 1)), values, np.ones(1))
    fits = [by_mean]
    if n >= _FEWEST_FOR_SLOPE and np.ptp(sizes) > 1e-9 * max(float(np.abs(sizes).max()), 1.0):
        scale = float(np.abs(sizes).max())
        design = np.column_stack([np.ones(n), sizes / scale])
        fits.append(_Fit.of(design, values, np.array([1.0, float(np.mean(rest)) / scale])))
    best = min(fits, key=lambda fit: fit.left_out)
    if best.mean <= 0:  # a line through a few values may lead below zero
        best = by_mean
    if n < FEWEST:
        return Predicted(best.mean * n_rest, math.inf, 1.0)
    variance = n_rest**2 * best.mean_variance + n_rest * best.residual_variance
    exact = (best.mean * n_rest) ** 2 * 1e-24  # what rounding leaves where all values are equal
    return Predicted(best.mean * n_rest, variance if variance > exact else 0.0, best.df)


def total(parts: Iterable[Predicted]) -> Predicted:
    """Add predicted sums that are independent of each other."""
    return sum(parts, Predicted())


@dataclass(frozen=True, slots=True)
class _Fit:
    """A prediction of the mean of the rest. ``left_out``: the sum of squared errors of each value, predicted from the
    others.
    """

    mean: float
    mean_variance: float
    residual_variance: float
    left_out: float
    df: float

    @classmethod
    def of(cls, design: NDArray[np.float64], values: NDArray[np.float64], at: NDArray[np.float64]) -> _Fit:
        inverse = np.linalg.inv(design.T @ design)
        weights = design @ inverse @ at
        errors = values - design @ (inverse @ (design.T @ values))
        leverages = np.minimum(np.einsum("ij,jk,ik->i", design, inverse, design), _LARGEST_LEVERAGE)
        apart = errors / (1 - leverages)
        df = max(len(values) - design.shape[1], 1)
        return cls(
            mean=float(weights @ values),
            mean_variance=float(np.square(weights) @ np.square(apart)),
            residual_variance=float(np.square(errors).sum()) / df,
            left_out=float(np.square(apart).sum()),
            df=float(df),
        )
