"""Comparing two models, and planning a comparison."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.stats import (
    achieved_power,
    detectable_effect,
    difference_variance,
    needed_samples,
    paired_difference,
    repeated_variance,
    t_test_p_value,
)

RNG = np.random.default_rng(11)
HARD = RNG.normal(size=60)
FIRST = HARD + RNG.normal(0.3, 0.5, size=60)
SECOND = HARD + RNG.normal(0, 0.5, size=60)


def test_is_scipys_paired_t_test() -> None:
    from scipy.stats import ttest_rel

    found, expected = paired_difference(FIRST.tolist(), SECOND.tolist()), ttest_rel(FIRST, SECOND)
    assert found.t == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.df == expected.df
    interval = expected.confidence_interval()
    assert found.interval is not None
    assert found.interval[0] <= interval.low + 1e-9
    assert found.interval[1] >= interval.high - 1e-9
    assert found.interval == pytest.approx((interval.low, interval.high), abs=0.02)
    assert found.ci_method == "hall"
    assert found.correlation == pytest.approx(np.corrcoef(FIRST, SECOND)[0, 1])


def test_two_proportions_have_tangos_interval() -> None:
    # Tango 1998, table III: the airway reactivity of children before and after stem cell transplantation, 21 pairs.
    first = [1.0] * 1 + [1.0] * 1 + [0.0] * 7 + [0.0] * 12
    second = [1.0] * 1 + [0.0] * 1 + [1.0] * 7 + [0.0] * 12
    found = paired_difference(first, second)
    assert found.interval == pytest.approx((-0.5173, -0.0259), abs=2e-3)
    assert found.ci_method == "tango"
    assert paired_difference(first[:10], second[:10]).no_interval == "fewer than 20 samples"
    same = paired_difference([1.0] * 30, [1.0] * 30)
    assert same.interval is not None
    assert same.interval[0] < 0 < same.interval[1]


def test_swapping_the_models_flips_the_sign() -> None:
    one, other = paired_difference(FIRST.tolist(), SECOND.tolist()), paired_difference(SECOND.tolist(), FIRST.tolist())
    assert one.difference == pytest.approx(-other.difference if other.difference is not None else None)
    assert one.p_value == pytest.approx(other.p_value)


def test_clusters_widen() -> None:
    copied = paired_difference(FIRST.tolist() * 3, SECOND.tolist() * 3, clusters=list(range(60)) * 3)
    once = paired_difference(FIRST.tolist(), SECOND.tolist())
    assert copied.stderr == pytest.approx(once.stderr)
    assert copied.df == pytest.approx(once.df)
    assert copied.n == 180


def test_unscored_pairs_are_left_out() -> None:
    found = paired_difference([1.0, math.nan, 0.0, 1.0], [0.0, 1.0, math.nan, 1.0], clusters=["a", "b", "c", "d"])
    assert found.n == 2
    assert found.difference == 0.5


def test_no_difference_and_constant_difference() -> None:
    same = paired_difference([1.0, 0.0], [1.0, 0.0])
    assert (same.difference, same.t, same.p_value) == (0.0, 0.0, 1.0)
    constant = paired_difference([1.0, 1.0], [0.0, 0.0])
    assert (constant.t, constant.p_value, constant.correlation) == (math.inf, 0.0, None)


def test_too_few_pairs() -> None:
    assert paired_difference([], []).difference is None
    one = paired_difference([1.0], [0.0])
    assert (one.difference, one.n, one.stderr, one.p_value) == (1.0, 1, None, None)
    with pytest.raises(ValueError, match="differ in length"):
        paired_difference([1.0], [1.0, 0.0])


def test_p_value_of_nothing() -> None:
    assert t_test_p_value(0.0, 5) == 1.0


def test_needed_samples_of_a_known_case() -> None:
    """Two independent means, effect of half a deviation: the textbooks' 63 (normal approximation)."""
    assert needed_samples(0.5, std_a=1, std_b=1, correlation=0) == 63


@given(st.floats(0.01, 0.5), st.floats(0.05, 0.5), st.floats(-0.9, 0.9))
def test_power_undoes_itself(effect: float, std: float, correlation: float) -> None:
    n = needed_samples(effect, std_a=std, std_b=std, correlation=correlation)
    shape = {"std_a": std, "std_b": std, "correlation": correlation}
    assert detectable_effect(n, **shape) <= effect + 1e-12
    assert achieved_power(effect, n, **shape) >= 0.8 - 1e-9
    if n > 1:
        assert detectable_effect(n - 1, **shape) >= effect - 1e-12


def test_power_by_simulation() -> None:
    n = needed_samples(0.2, std_a=1, std_b=1, correlation=0.5)
    differences = np.random.default_rng(4).normal(0.2, math.sqrt(difference_variance(1, 1, 0.5)), size=(2000, n))
    z = differences.mean(axis=1) / (differences.std(axis=1, ddof=1) / math.sqrt(n))
    assert np.mean(np.abs(z) > 1.96) == pytest.approx(0.8, abs=0.03)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="zero"):
        needed_samples(0)
    with pytest.raises(ValueError, match="At least one"):
        detectable_effect(0)
    with pytest.raises(ValueError, match="At least one"):
        achieved_power(0.1, 0)
    with pytest.raises(ValueError, match="correlation"):
        difference_variance(correlation=2)
    with pytest.raises(ValueError, match="negative"):
        difference_variance(std_a=-1)
    with pytest.raises(ValueError, match="alpha"):
        needed_samples(0.1, alpha=0)


def test_the_variance_of_shares_is_taken_apart() -> None:
    generator = np.random.default_rng(8)
    chances = generator.beta(2, 2, size=40_000)
    shares = generator.binomial(5, chances) / 5
    found = repeated_variance(shares.tolist(), 5)
    assert found is not None
    assert found.between == pytest.approx(chances.var(), rel=0.02)
    assert found.within == pytest.approx((chances * (1 - chances)).mean(), rel=0.02)
    assert found.at(5) == pytest.approx(shares.var(ddof=1))
    assert found.at(np.inf) == found.between


@pytest.mark.parametrize(("values", "repeats"), [([0.5, 1.0], 1), ([0.3, 0.5], 4), ([0.0, 1.0], 4), ([0.5], 4)])
def test_values_that_are_no_shares_of_repeats_tell_nothing(values: list[float], repeats: int) -> None:
    assert repeated_variance(values, repeats) is None


def test_a_difference_as_large_as_said_is_found_four_times_of_five() -> None:
    """Right and wrong answers of two models whose true difference is the one that so many samples detect."""
    generator = np.random.default_rng(9)
    n, n_runs, gap = 400, 600, 0.06
    hard = generator.random((n_runs, n))
    first = (hard + generator.normal(0, 0.1, hard.shape) < 0.6).astype(float)
    second = (hard + generator.normal(0, 0.1, hard.shape) < 0.6 + gap).astype(float)
    spread = float((second - first).std())
    true_gap = float((second - first).mean())
    power = achieved_power(true_gap, n, std_a=spread, std_b=0.0, correlation=0.0)
    found = [paired_difference(b.tolist(), a.tolist()).p_value for a, b in zip(first, second, strict=True)]
    assert np.mean([p is not None and p <= 0.05 for p in found]) == pytest.approx(power, abs=0.04)
    needed = needed_samples(true_gap, std_a=spread, std_b=0.0, correlation=0.0, power=power)
    assert needed == pytest.approx(n, abs=1)
