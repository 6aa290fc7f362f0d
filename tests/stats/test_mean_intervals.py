"""Intervals of shares in clusters, and of functions of a mean."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from polymeter.core.names.registries import AGGREGATIONS
from polymeter.stats import Partition, estimate
from polymeter.stats.intervals import Interval

CLUSTERS = Partition.of([i // 5 for i in range(100)])


def interval(failures: Sequence[int], clusters: Partition | None = CLUSTERS) -> Interval:
    values = np.ones(100)
    values[list(failures)] = 0
    found = estimate(values.tolist(), AGGREGATIONS.get("mean"), clusters=clusters).interval
    assert found is not None
    return found


def test_scattered_failures_have_a_nearer_bound_than_bunched_ones() -> None:
    scattered, bunched = interval([0, 20, 40, 60]), interval([0, 1, 2, 3])
    assert scattered[1] < bunched[1] - 0.01
    assert scattered[1] > 0.96


def test_few_failures_keep_the_far_bound_far() -> None:
    """Two failures in two clusters do not tell that the members of a cluster are independent."""
    clustered, independent = interval([0, 20]), interval([0, 20], None)
    assert clustered[0] < independent[0] - 0.01
    assert clustered[1] == pytest.approx(independent[1], abs=0.003)


def test_the_near_bound_of_independent_failures_is_that_of_the_mid_p_test() -> None:
    found = interval([0, 20])[1]
    expected = brentq(lambda p: binom.sf(2, 100, p) + binom.pmf(2, 100, p) / 2 - 0.05, 1e-6, 0.02)
    assert 1 - found == pytest.approx(expected, rel=0.2)  # the negative correlation makes them worth more than 100


@pytest.mark.parametrize("failures", [[], [0], [0, 1], [0, 7, 33], [0, 1, 2, 3, 4], list(range(0, 100, 2))])
def test_failures_are_treated_as_successes_are(failures: list[int]) -> None:
    low, high = interval(failures)
    others = interval([i for i in range(100) if i not in failures])
    assert others == pytest.approx((1 - high, 1 - low), abs=1e-9)
    assert 0 <= low <= 1 - len(failures) / 100 <= high <= 1
    assert low < high


def test_each_further_failure_moves_the_near_bound() -> None:
    found = [interval(range(0, 5 * k, 5))[1] for k in range(12)]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == len(found)


def test_perplexity_has_the_interval_of_the_mean_log_likelihood() -> None:
    values = (-np.random.default_rng(4).exponential(size=60)).tolist()
    mean = estimate(values, AGGREGATIONS.get("mean")).interval
    found = estimate(values, AGGREGATIONS.get("perplexity"))
    assert mean is not None
    assert found.ci_method == "hall"
    assert found.interval == pytest.approx((math.exp(-mean[1]), math.exp(-mean[0])))
    weighted = estimate([(3 * value, 3) for value in values], AGGREGATIONS.get("weighted_perplexity")).interval
    assert weighted == pytest.approx(found.interval)
    bits = estimate([(value, 1) for value in values], AGGREGATIONS.get("bits_per_byte")).interval
    assert bits == pytest.approx((-mean[1] / math.log(2), -mean[0] / math.log(2)))


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_an_infinite_bound_is_not_shown() -> None:
    aggregation = replace(AGGREGATIONS.get("perplexity"), resamples=2)  # with more, one of them is infinite
    found = estimate([-664.0 - 72 * (i % 2) for i in range(40)], aggregation)
    assert (found.interval, found.no_interval) == (None, "its bounds are too large")
    assert found.value is not None
