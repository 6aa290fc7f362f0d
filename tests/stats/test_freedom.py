"""Degrees of freedom of clusters."""

from __future__ import annotations

import numpy as np
import pytest

from polymeter.stats.intervals import t_quantile
from polymeter.stats.means.freedom import clustered_freedom


def test_equal_clusters_have_one_less_than_their_number() -> None:
    assert clustered_freedom(np.full(10, 5.0), 0.3) == (9.0, 1.0)


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
def test_nearly_equal_clusters_have_nearly_as_many(correlation: float) -> None:
    df, bias = clustered_freedom(np.array([100.0] * 9 + [101.0]), correlation)
    assert df == pytest.approx(9, rel=0.02)
    assert bias == pytest.approx(1, abs=0.01)


def test_the_quantile_of_unequal_clusters_is_that_of_a_simulation() -> None:
    sizes, correlation = np.maximum(1.0, 60 // np.arange(1, 13)), 0.4
    df, bias = clustered_freedom(sizes, correlation)
    rng = np.random.default_rng(1)
    sums = rng.normal(size=(40_000, sizes.size)) * np.sqrt(sizes * (1 + (sizes - 1) * correlation))
    means = sums.sum(axis=1) / sizes.sum()
    shares = sizes / sizes.sum()
    squares = np.square(sums - means[:, None] * sizes) / (1 - shares)
    errors = np.sqrt(bias * squares.sum(axis=1)) / sizes.sum()
    assert np.quantile(np.abs(means) / errors, 0.95) == pytest.approx(t_quantile(0.975, df), rel=0.02)
