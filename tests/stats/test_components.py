"""The spread between conditions, apart from sampling error."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polymeter.stats.components import condition_spread


def test_a_layout_by_hand() -> None:
    # Means 1/3, 2/3 and 1; the mean squares of condition and residual are 1/3 and 1/6.
    found = condition_spread([[1, 1, 1], [0, 1, 1], [0, 0, 1]])
    assert found is not None
    assert found.observed == pytest.approx(1 / 3)
    assert found.beyond_sampling == pytest.approx(math.sqrt((1 / 3 - 1 / 6) / 3))


@pytest.mark.parametrize("sd", [0.0, 0.03, 0.1])
def test_simulated_effects_are_found_whatever_the_items(sd: float) -> None:
    generator = np.random.default_rng(5)
    n_items, n_conditions, squares = 400, 4, []
    for _ in range(400):
        items = generator.normal(0.6, 0.3, (n_items, 1))
        conditions = generator.normal(0, sd, n_conditions) if sd else np.zeros(n_conditions)
        table = items + conditions + generator.normal(0, 0.4, (n_items, n_conditions))
        found = condition_spread(table.tolist())
        assert found is not None
        observed = found.observed**2
        # Unclipped, so that the mean of the estimates shows their bias.
        residual = table - table.mean(1, keepdims=True) - table.mean(0) + table.mean()
        squares.append(observed - (residual**2).sum() / ((n_items - 1) * (n_conditions - 1)) / n_items)
        assert found.beyond_sampling == pytest.approx(math.sqrt(max(0, squares[-1])), abs=1e-9)
    error = np.std(squares) / math.sqrt(len(squares))
    assert np.mean(squares) == pytest.approx(sd**2, abs=4 * error)


def test_right_and_wrong_answers_of_a_model_that_prefers_a_place() -> None:
    # It is right with probability 0.9 where the right choice is first, else 0.4: the keys' places set the true means.
    generator = np.random.default_rng(6)
    shares = np.array([0.7, 0.1, 0.1, 0.1])
    keys = np.repeat(np.arange(4), (shares * 1000).astype(int))
    chance = np.where((keys[:, None] + np.arange(4)) % 4 == 0, 0.9, 0.4)
    true = chance.mean(0).std(ddof=1)
    found = [condition_spread((generator.random(chance.shape) < chance).tolist()) for _ in range(200)]
    assert np.mean([one.beyond_sampling for one in found if one is not None]) == pytest.approx(true, rel=0.02)


def test_items_that_share_a_cluster_count_once() -> None:
    table = [[1, 0], [0, 1], [1, 1]]
    alone = condition_spread(table)
    twice = condition_spread([row for row in table for _ in range(2)], ["a", "a", "b", "b", "c", "c"])
    assert alone is not None
    assert twice is not None
    assert (twice.observed, twice.beyond_sampling) == pytest.approx((alone.observed, alone.beyond_sampling))


@pytest.mark.parametrize("table", [[], [[1, 0]], [[1], [0]]])
def test_too_few(table: list[list[float]]) -> None:
    assert condition_spread(table) is None
    assert condition_spread([[1, 0], [0, 1]], ["a", "a"]) is None
