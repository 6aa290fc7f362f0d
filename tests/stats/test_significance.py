"""What paired tests do with clusters, ties and nothing to test; ``test_oracles.py`` compares their numbers."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.stats import Partition, holm, paired_difference, paired_test, permutation_test


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
        more = np.mean([total > abs(sum(totals)) + 1e-9 for total in signed])
        as_far = np.mean([abs(total - abs(sum(totals))) <= 1e-9 for total in signed])
        found = permutation_test(values, Partition.of(labels))
        assert found.method == "permutation of clusters, mid-p"
        assert found.p_value == pytest.approx(more + as_far / 2 if any(totals) else 1.0, abs=1e-12)


def test_of_0_and_1_the_permutation_test_is_mcnemars() -> None:
    generator = np.random.default_rng(6)
    for _ in range(100):
        first, second = generator.integers(0, 2, size=(2, 90)).astype(float)
        permuted, paired = permutation_test(first - second), paired_test(first, second)
        assert permuted.p_value == pytest.approx(paired.p_value, abs=1e-12)
        assert permuted.false_positive_rate == pytest.approx(paired.false_positive_rate, abs=1e-12)


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
    assert permutation_test(generator.uniform(1, 2, 500)).p_value == 0.5 / 10_000


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
    assert (same.p_value, same.odds_ratio, same.effect_size, same.false_positive_rate) == (1.0, None, None, 0.0)
    assert paired_test([1.0, 1.0], [0.0, 0.0]).odds_ratio == math.inf
    with pytest.raises(ValueError, match="differ in length"):
        paired_test([1.0], [1.0, 0.0])


def test_the_tests_err_as_often_as_they_say() -> None:
    """Of two equal models, 5 % of comparisons find a difference; benchmarks/honesty.py has many more kinds."""
    generator = np.random.default_rng(9)
    found = []
    for _ in range(400):
        labels = generator.integers(0, 30, 90)
        hard = generator.normal(size=30)[labels]
        first, second = hard + generator.normal(size=(2, 90))
        found.append(permutation_test(first - second, Partition.of(labels.tolist()))[0])
    assert np.mean(np.array(found) <= 0.05) == pytest.approx(0.05, abs=0.033)  # three standard errors
