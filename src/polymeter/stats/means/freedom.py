"""Degrees of freedom of the variance of a mean of clusters."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from polymeter.stats.intervals import LEVEL, t_quantile

_GRID = np.geomspace(1e-6, 1e3, 46)
"""The range of ``y``, as multiples of the inverse of the mean variance of a cluster's sum."""
_MOST = 1e6
"""A number of degrees of freedom that is as good as infinite."""


def clustered_freedom(sizes: NDArray[np.float64], correlation: float) -> tuple[float, float]:
    """Compute the degrees of freedom of the variance with the CR2 correction, and the factor that removes its bias.

    For normal values with an intraclass correlation, the mean and its estimated variance are quadratic forms of the
    clusters' sums. So the quantile ``q`` can be computed that the ratio of error and standard error exceeds with
    probability 0.05. The degrees of freedom are those of the Student's t with this quantile. Satterthwaite's
    approximation assumes that the two are independent. It is far off if a few clusters hold most samples, because these
    then move both.

    Let ``τ`` be the variance of a cluster's sum, ``w`` its share of the values and ``κ = q² · bias``. The error exceeds
    ``q`` standard errors if a form with a single positive eigenvalue ``λ`` is positive. This has the probability
    ``2/π ∫ Π (1 + λ_j / (λ sin² θ))^-½ dθ`` over the other eigenvalues ``-λ_j``, for θ from 0 to π/2 (by Craig's form
    of the normal distribution function, 1991). The matrix is diagonal except for two columns. This gives the product
    and ``κ`` for each ``y = κ / λ`` without solving for eigenvalues.

    Args:
        sizes: The number of values in each cluster, shape ``(clusters,)``, at least two clusters.
        correlation: The intraclass correlation.
    """
    sizes, counts = np.unique(sizes, return_counts=True)
    if sizes.size == 1:  # the integral gives the same, apart from rounding
        return float(counts[0] - 1), 1.0
    shares = sizes / float(sizes @ counts)
    weights = 1 / (1 - shares)
    own = sizes * (1 + (sizes - 1) * correlation)
    total = float(own @ counts)
    expected = float((weights * (own + np.square(shares) * (total - 2 * own / shares))) @ counts)
    bias = total / expected
    columns = counts * own
    pulls = weights * shares
    left = float((counts * weights) @ np.square(shares))

    def determinants(y: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Return the logarithm of the diagonal's determinant, and the parts of that of the columns: the second is over
        κ.
        """
        diagonal = 1 + y[..., None] * (weights * own)
        first, mixed, second = ((columns * pulls**power / diagonal).sum(axis=-1) for power in range(3))
        of_columns = (1 + y * (left * first - mixed)) * (1 - y * mixed) - y**2 * (second - left * mixed) * first
        return np.log(diagonal) @ counts, of_columns, y * first

    def misses(y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the logarithm of the probability that the error is greater, and that of q."""
        _, whole, over = determinants(y)
        kappa = over / whole
        logarithm, whole, over = determinants(y[:, None] / squared_sines)
        product = np.maximum(over / kappa[:, None] - whole, 1e-300) * squared_sines / (1 - squared_sines)
        missed = np.exp(-0.5 * (logarithm + np.log(product))) @ node_weights / 2
        return np.log(np.maximum(missed, 1e-300)), np.log(kappa / bias) / 2

    squared_sines, node_weights = _quadrature()
    grid = _GRID / (total / float(counts.sum()))
    goal = math.log(1 - LEVEL)
    logarithms, _ = misses(grid)
    after = min(max(int(np.searchsorted(-logarithms, -goal)), 1), grid.size - 1)
    logarithms, quantiles = misses(np.linspace(grid[after - 1], grid[after], 16))
    quantile = math.exp(float(np.interp(-goal, -logarithms, quantiles)))
    if quantile <= t_quantile((1 + LEVEL) / 2, _MOST):
        return math.inf, bias
    from scipy.special import stdtridf

    return float(stdtridf((1 + LEVEL) / 2, quantile)), bias


# Kept for the life of the process: a table of constants that takes 0.4 ms to compute.
@lru_cache(maxsize=1)
def _quadrature() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the squared sines of the angles at which the integral is evaluated, and their weights (Gauss and
    Legendre).
    """
    nodes, weights = np.polynomial.legendre.leggauss(32)
    return np.square(np.sin((nodes + 1) * math.pi / 4)), weights
