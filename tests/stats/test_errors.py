"""Standard errors, intervals, clusters, against closed forms, SciPy and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.stats import (
    Partition,
    clustered_standard_error,
    normal_interval,
    pooled_standard_error,
    standard_error,
    t_interval,
    t_quantile,
    weighted_standard_error,
    wilson_interval,
)

NUMBERS = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40)


@given(NUMBERS)
def test_standard_error_is_scipys(values: list[float]) -> None:
    from scipy.stats import sem

    assert standard_error(values) == pytest.approx(float(sem(values)), abs=1e-9)


def test_too_little_to_say_anything() -> None:
    assert standard_error([1.0]) is None
    assert standard_error([]) is None
    assert clustered_standard_error([1.0, 0.0], Partition.of(["a", "a"])) is None


@given(NUMBERS)
def test_clusters_of_one_change_nothing(values: list[float]) -> None:
    for labels in (range(len(values)), [None] * len(values)):
        assert clustered_standard_error(values, Partition.of(labels)) == pytest.approx(standard_error(values), abs=1e-9)


def test_clustered_error_is_the_liang_zeger_double_sum() -> None:
    values, labels = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.5]), ["a", "a", "b", None, "b", "a"]
    deviations = values - values.mean()
    same = [
        deviations[i] * deviations[j]
        for i in range(6)
        for j in range(6)
        if i == j or (labels[i] is not None and labels[i] == labels[j])
    ]
    expected = math.sqrt(3 / 2 * sum(same)) / 6
    assert clustered_standard_error(values, Partition.of(labels)) == pytest.approx(expected)


def test_copies_of_samples_add_no_certainty() -> None:
    values = [1.0, 0.0, 1.0, 1.0, 0.0]
    copied = clustered_standard_error(values * 4, Partition.of(list("abcde") * 4))
    assert copied == pytest.approx(standard_error(values))


def test_partition_numbers_by_first_appearance() -> None:
    partition = Partition.of(["b", None, "a", "b", None])
    assert partition.codes.tolist() == [0, 1, 2, 0, 3]
    assert partition.count == 4
    assert [list(m) for m in partition.members()] == [[0, 3], [1], [2], [4]]
    assert partition.sums(np.array([[1.0], [2.0], [3.0], [4.0], [5.0]]))[:, 0].tolist() == [5.0, 2.0, 3.0, 5.0]


@pytest.mark.parametrize("df", [1, 2, 7, 29, 30, 45, 100, 1000, 1e6])
@pytest.mark.parametrize("probability", [0.9, 0.95, 0.975, 0.995])
def test_t_quantile_is_scipys(df: float, probability: float) -> None:
    from scipy.stats import t

    assert t_quantile(probability, df) == pytest.approx(float(t.ppf(probability, df)), abs=1e-6)
    assert t_quantile(1 - probability, df) == pytest.approx(-t_quantile(probability, df), abs=1e-9)


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (5, 5), (1, 3), (37, 50), (0, 1)])
def test_wilson_is_scipys(successes: int, n: int) -> None:
    from scipy.stats import binomtest

    expected = binomtest(successes, n).proportion_ci(method="wilson")
    assert wilson_interval(successes / n, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


@given(st.integers(1, 500), st.floats(0, 1))
def test_wilson_holds_the_proportion_and_stays_inside(n: int, share: float) -> None:
    proportion = round(share * n) / n
    low, high = wilson_interval(proportion, n)
    assert 0 <= low <= proportion <= high <= 1
    assert high > low


def test_intervals_are_centred() -> None:
    assert normal_interval(1.0, 0.5) == pytest.approx((1 - 0.979982, 1 + 0.979982), abs=1e-6)
    low, high = t_interval(1.0, 0.5, 4)
    assert (low + high) / 2 == pytest.approx(1.0)
    assert high - low > 2 * 0.979982


def test_coverage_of_the_t_interval() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        values = rng.normal(3.0, 2.0, size=12)
        error = standard_error(values)
        assert error is not None
        low, high = t_interval(float(values.mean()), error, 11)
        hits += low <= 3.0 <= high
    assert hits / 2000 == pytest.approx(0.95, abs=0.015)


def test_coverage_under_clusters() -> None:
    """The clustered interval covers; the plain one, blind to the clusters, does not."""
    rng = np.random.default_rng(2)
    clustered = plain = 0
    partition = Partition.of(np.repeat(np.arange(40), 5).tolist())
    for _ in range(1000):
        values = np.repeat(rng.normal(0, 1, size=40), 5) + rng.normal(0, 0.5, size=200)
        mean, error, naive = float(values.mean()), clustered_standard_error(values, partition), standard_error(values)
        assert error is not None
        assert naive is not None
        low, high = t_interval(mean, error, partition.count - 1)
        clustered += low <= 0 <= high
        low, high = t_interval(mean, naive, 199)
        plain += low <= 0 <= high
    assert clustered / 1000 == pytest.approx(0.95, abs=0.025)
    assert plain / 1000 < 0.75


def test_coverage_of_wilson() -> None:
    rng = np.random.default_rng(3)
    hits = [low <= 0.9 <= high for low, high in (wilson_interval(k / 20, 20) for k in rng.binomial(20, 0.9, size=4000))]
    assert np.mean(hits) == pytest.approx(0.95, abs=0.03)


def test_pooled_error_of_equal_groups_is_that_of_their_union() -> None:
    values = np.array([1.0, 0.0, 1.0, 1.0])
    one = standard_error(values)
    assert one is not None
    within = values.var(ddof=1)
    assert pooled_standard_error([one] * 3, [4] * 3) == pytest.approx(math.sqrt(within / 12))
    assert pooled_standard_error([0.0, 0.0], [1, 1]) is None
    with pytest.raises(ValueError):
        pooled_standard_error([0.1], [3, 4])


def test_weighted_error() -> None:
    assert weighted_standard_error([0.3, 0.4], [1, 1]) == pytest.approx(0.25)
    assert weighted_standard_error([0.3, 0.4], [1, 0]) == pytest.approx(0.3)
    assert weighted_standard_error([0.3], [0]) is None
