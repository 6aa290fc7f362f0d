"""Paired tests against scipy and statsmodels on 1,000 random cases each, and against published examples."""

import gc
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.stats import Partition, holm, mcnemar_test, paired_difference, paired_test, permutation_test

CASES = 1_000


def test_mcnemar_is_scipys_binomial_test() -> None:
    from scipy.stats import binomtest

    generator = np.random.default_rng(1)
    for one, other in generator.integers(0, 60, size=(CASES, 2)).tolist():
        expected = binomtest(one, one + other, 0.5).pvalue if one + other else 1.0
        assert mcnemar_test(one, other) == pytest.approx(expected, abs=1e-12)


def test_mcnemar_is_that_of_statsmodels() -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    generator = np.random.default_rng(2)
    for both, one, other, neither in generator.integers(0, 80, size=(CASES, 4)).tolist():
        expected = tables.mcnemar([[both, one], [other, neither]], exact=True).pvalue
        assert mcnemar_test(one, other) == pytest.approx(expected, abs=1e-12)


def test_holm_is_that_of_statsmodels(monkeypatch: pytest.MonkeyPatch) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    monkeypatch.setattr(gc, "collect", lambda: 0)  # which it calls for each case, over all that other tests have left
    generator = np.random.default_rng(3)
    for _ in range(CASES):
        p_values = generator.beta(0.4, 1.5, size=generator.integers(1, 25)).tolist()
        expected = multitest.multipletests(p_values, method="holm")[1]
        assert holm(p_values) == pytest.approx(expected.tolist(), abs=1e-12)


def test_permutations_are_those_of_scipy() -> None:
    from scipy.stats import permutation_test as scipys

    generator = np.random.default_rng(4)
    for case in range(CASES):
        size = int(generator.integers(2, 9))
        # Whole numbers, quarters and any numbers: the exact distribution is computed in one way or the other.
        differences = [
            generator.integers(-4, 5, size),
            generator.integers(-4, 5, size) / 4,
            generator.normal(size=size),
        ]
        values = differences[case % 3].astype(float)
        expected = scipys((values,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=True)
        found, method = permutation_test(values)
        assert method == "permutation, exact"
        assert found == pytest.approx(expected.pvalue, abs=1e-12), values


def test_whole_clusters_change_their_sign() -> None:
    generator = np.random.default_rng(5)
    for _ in range(200):
        values = generator.integers(-1, 2, 14).astype(float)
        labels = generator.integers(0, 5, 14).tolist()
        totals = [sum(v for v, label in zip(values, labels, strict=True) if label == own) for own in set(labels)]
        signed = [
            abs(sum(sign * total for sign, total in zip(signs, totals, strict=True)))
            for signs in itertools.product((-1, 1), repeat=len(totals))
        ]
        expected = np.mean([total >= abs(sum(totals)) - 1e-9 for total in signed])
        found, method = permutation_test(values, Partition.of(labels))
        assert method == "permutation of clusters, exact"
        assert found == pytest.approx(expected, abs=1e-12)


def test_of_0_and_1_the_permutation_test_is_mcnemars() -> None:
    generator = np.random.default_rng(6)
    for _ in range(100):
        first, second = generator.integers(0, 2, size=(2, 90)).astype(float)
        assert permutation_test(first - second)[0] == pytest.approx(paired_test(first, second).p_value, abs=1e-12)


def test_drawn_signs_come_close_to_the_t_test_and_repeat() -> None:
    generator = np.random.default_rng(7)
    for shift in (0.0, 0.1, 0.2):
        first = generator.normal(shift, 1, 300)
        second = generator.normal(0, 1, 300)
        found = paired_test(first, second, seed=1)
        assert found.method == "permutation, 9999 resamples"
        assert found.p_value == pytest.approx(paired_difference(first, second).p_value, abs=0.02)
        assert found == paired_test(first, second, seed=1)
        assert found.effect_size == pytest.approx((first - second).mean() / (first - second).std(ddof=1))


def test_a_drawn_p_value_is_never_zero() -> None:
    generator = np.random.default_rng(8)
    assert permutation_test(generator.uniform(1, 2, 500))[0] == 1 / 10_000


def test_mcnemar_of_agrestis_approval_ratings() -> None:
    # Agresti 2002, Categorical Data Analysis, table 10.1: 1,600 voters; 150 approved at first only, 86 later only. His
    # z is -4.17 without a continuity correction, so p is 0.00003; the exact binomial test has the same magnitude.
    assert mcnemar_test(150, 86) == pytest.approx(3.7e-5, abs=0.5e-5)
    first = [1.0] * (794 + 150) + [0.0] * (86 + 570)
    second = [1.0] * 794 + [0.0] * 150 + [1.0] * 86 + [0.0] * 570
    found = paired_test(first, second)
    assert found.odds_ratio == pytest.approx(150 / 86)
    assert found.method == "McNemar, exact"


def test_permutations_of_darwins_maize() -> None:
    # Fisher 1935, The Design of Experiments, section 21: heights of 15 pairs of plants, in eighths of an inch. Of the
    # 32,768 assignments of signs, 863 have a sum of 314 or more and as many one of -314 or less: 5.267 %.
    eighths = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    assert permutation_test(np.array(eighths, dtype=float)) == (2 * 863 / 32_768, "permutation, exact")


def test_holm_by_hand() -> None:
    # Wright 1992, Biometrics 48, 1005-1013: the step-down arithmetic for four ordered p-values, done by hand.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([None, 0.04, None, 0.5]) == [None, 0.08, None, 0.5]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=30))
def test_holm_keeps_the_order_and_never_shrinks(p_values: list[float]) -> None:
    corrected = holm(p_values)
    for one, other in itertools.combinations(range(len(p_values)), 2):
        if p_values[one] < p_values[other]:
            assert corrected[one] <= corrected[other]
    assert all(after >= before for before, after in zip(p_values, corrected, strict=True))


def test_nothing_to_test() -> None:
    assert paired_test([], []).p_value is None
    assert paired_test([math.nan], [1.0]).p_value is None
    same = paired_test([1.0, 0.0], [1.0, 0.0])
    assert (same.p_value, same.odds_ratio, same.effect_size) == (1.0, None, None)
    assert paired_test([1.0, 1.0], [0.0, 0.0]).odds_ratio == math.inf
    with pytest.raises(ValueError, match="differ in length"):
        paired_test([1.0], [1.0, 0.0])


def test_the_tests_err_as_often_as_they_say() -> None:
    """Of two equal models, at most 5 % of comparisons find a difference, and for graded values hardly fewer."""
    generator = np.random.default_rng(9)
    found = []
    for _ in range(400):
        labels = generator.integers(0, 30, 90)
        hard = generator.normal(size=30)[labels]
        first, second = hard + generator.normal(size=(2, 90))
        found.append(permutation_test(first - second, Partition.of(labels.tolist()))[0])
    assert np.mean(np.array(found) <= 0.05) == pytest.approx(0.05, abs=0.033)  # three standard errors
