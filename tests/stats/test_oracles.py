"""Everything that ``polymeter compare`` computes, against scipy and statsmodels on 1,000 random cases each."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polymeter.stats import (
    Partition,
    achieved_power,
    clustered_standard_error,
    detectable_effect,
    effect_size,
    holm,
    mcnemar_test,
    mean_spread,
    needed_samples,
    paired_difference,
    paired_test,
    permutation_test,
    unpaired_difference,
)
from polymeter.stats.comparisons import welch_p_value
from tests.helpers.recorded import References

CASES = 1_000


def test_mcnemar_is_statsmodels_exact_test_less_half_of_the_ties(references: References) -> None:
    from scipy.stats import binom

    def exact_test(counts: np.ndarray) -> float:
        from statsmodels.stats.contingency_tables import mcnemar

        both, one, other, neither = counts.tolist()
        return float(mcnemar([[both, one], [other, neither]], exact=True).pvalue) if one + other else 1.0

    generator = np.random.default_rng(2)
    counts = generator.integers(0, [80, 80, 80, 80], size=(CASES, 4))
    counts[: CASES // 4, 1:3] //= 10  # few pairs differ
    observed = binom.pmf(counts[:, 1], counts[:, 1] + counts[:, 2], 0.5)
    exact_values = references.of(counts, exact_test)
    for (_, one, other, _), share, exact in zip(counts.tolist(), observed.tolist(), exact_values, strict=True):
        if one + other:
            # Fagerland, Lydersen and Laake 2013, equation 2 of the supplement: of an even split half of it.
            expected = 1 - share / 2 if one == other else exact - share
        else:
            expected = 1.0
        assert mcnemar_test(one, other).p_value == pytest.approx(expected, abs=1e-12)


def test_how_often_mcnemar_errs_is_the_sum_of_scipys_binomial_shares() -> None:
    from scipy.stats import binom

    for n in range(1, 120):
        counts = np.arange(n + 1)
        shown = [mcnemar_test(int(k), n - int(k)).p_value <= 0.05 for k in counts]
        expected = float(binom.pmf(counts, n, 0.5)[shown].sum())
        assert mcnemar_test(0, n).false_positive_rate == pytest.approx(expected, abs=1e-12)
    assert [mcnemar_test(0, n).false_positive_rate for n in (0, 4, 5)] == [0.0, 0.0, 0.0625]


def test_permutations_are_scipys_less_half_of_the_ties(references: References) -> None:
    def by_scipy(case: tuple[np.ndarray]) -> tuple[float, float]:
        from scipy.stats import permutation_test as scipys

        (values,) = case
        expected = scipys((values,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=True)
        distances = np.abs(expected.null_distribution)
        ties = np.isclose(distances, abs(values.sum()), rtol=0, atol=1e-9).mean()
        mids = [(distances > one + 1e-9).mean() + (np.abs(distances - one) <= 1e-9).mean() / 2 for one in distances]
        return expected.pvalue - ties / 2, float(np.mean(np.array(mids) <= 0.05))

    generator = np.random.default_rng(4)
    cases = []
    for case in range(CASES):
        size = int(generator.integers(2, 9))
        # Whole numbers, quarters and any numbers: the exact distribution is computed in one way or the other.
        values = (
            generator.integers(-4, 5, size).astype(float),
            generator.integers(-4, 5, size) / 4,
            generator.normal(size=size),
        )[case % 3]
        cases.append((values,))
    for (values,), (p_value, rate) in zip(cases, references.of(cases, by_scipy), strict=True):
        found = permutation_test(values)
        assert found.method == "permutation, mid-p"
        if values.any():
            assert found.p_value == pytest.approx(p_value, abs=1e-12), values
        assert found.false_positive_rate == pytest.approx(rate if values.any() else 0.0, abs=1e-12)


def test_drawn_permutations_come_close_to_the_exact_ones() -> None:
    generator = np.random.default_rng(5)
    values = generator.normal(0.35, 1, (20, 16))
    for row in values:
        exact = permutation_test(row)
        drawn = permutation_test(np.append(row, 1e-7))  # one more unit: too many to list
        assert (exact.method, drawn.method) == ("permutation, mid-p", "permutation, 9999 resamples")
        assert drawn.p_value == pytest.approx(exact.p_value, abs=4 * math.sqrt(exact.p_value / 9_999))
        assert drawn.false_positive_rate == pytest.approx(0.05, abs=0.002)


def test_holm_is_that_of_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    generator = np.random.default_rng(3)
    for _ in range(CASES):
        p_values = generator.beta(0.4, 1.5, size=generator.integers(1, 25)).tolist()
        expected = multitest.multipletests(p_values, method="holm")[1]
        assert holm(p_values) == pytest.approx(expected.tolist(), abs=1e-12)


def test_the_t_test_the_correlation_and_the_effect_of_pairs_are_scipys(references: References) -> None:
    def by_scipy(case: tuple[np.ndarray, np.ndarray]) -> tuple[float, float, float]:
        from scipy.stats import pearsonr, ttest_rel

        test = ttest_rel(*case)
        return test.statistic, test.pvalue, pearsonr(*case).statistic

    generator = np.random.default_rng(6)
    cases = []
    for _ in range(CASES):
        n = int(generator.integers(3, 60))
        hard = generator.normal(size=n)
        first, second = hard + generator.normal(0.2, 0.7, n), hard + generator.normal(0, 0.7, n)
        cases.append((first, second))
    for (first, second), (t, p_value, correlation) in zip(cases, references.of(cases, by_scipy), strict=True):
        found = paired_difference(first.tolist(), second.tolist())
        assert found.t == pytest.approx(t, rel=1e-9)
        assert found.p_value == pytest.approx(p_value, abs=1e-12)
        assert found.correlation == pytest.approx(correlation, abs=1e-12)
        # t of pairs is their d times the root of their number (Cohen 1988, equation 2.5.3 with one sample).
        assert effect_size(first - second) == pytest.approx(t / math.sqrt(len(first)), rel=1e-9)


def test_the_odds_are_those_of_mantel_and_haenszel_over_pairs(references: References) -> None:
    def by_statsmodels(case: tuple[np.ndarray, np.ndarray]) -> float:
        from statsmodels.stats.contingency_tables import StratifiedTable

        first, second = case
        # Each pair is a stratum: its rows are the models, its columns right and wrong (Agresti 2002, section 10.2.3).
        return float(StratifiedTable(np.array([[first, 1 - first], [second, 1 - second]])).oddsratio_pooled)

    generator = np.random.default_rng(7)
    cases = []
    for _ in range(CASES):
        n = int(generator.integers(6, 20))
        first, second = generator.integers(0, 2, (2, n)).astype(float)
        first[0], second[0], first[1], second[1] = 1, 0, 0, 1  # neither is 0
        cases.append((first, second))
    for (first, second), expected in zip(cases, references.of(cases, by_statsmodels), strict=True):
        assert paired_test(first.tolist(), second.tolist()).odds_ratio == pytest.approx(expected, rel=1e-12)


def test_errors_of_clusters_are_those_of_statsmodels(references: References) -> None:
    def by_statsmodels(case: tuple[np.ndarray, np.ndarray]) -> float:
        from statsmodels.regression.linear_model import OLS

        values, labels = case
        fit = OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": labels})
        return float(fit.bse[0])

    generator = np.random.default_rng(8)
    cases = []
    for _ in range(CASES):
        n = int(generator.integers(8, 60))
        labels = np.append(generator.integers(0, n // 3, n - 2), [n, n + 1])
        values = generator.normal(size=n) + generator.normal(size=n + 2)[labels]
        cases.append((values, labels))
    for (values, labels), expected in zip(cases, references.of(cases, by_statsmodels), strict=True):
        assert clustered_standard_error(values, Partition.of(labels.tolist())) == pytest.approx(expected, rel=1e-9)


def welch_by_scipy(case: tuple[np.ndarray, np.ndarray]) -> tuple[float, float]:
    """The p value of Welch's test, and the statistic of Student's."""
    from scipy.stats import ttest_ind

    return ttest_ind(*case, equal_var=False).pvalue, ttest_ind(*case).statistic


def test_welchs_test_is_scipys(references: References) -> None:
    generator = np.random.default_rng(9)
    cases = []
    for _ in range(CASES):
        sizes = generator.integers(2, 60, 2)
        first, second = generator.normal(0.2, 1, sizes[0]), generator.normal(0, 2, sizes[1])
        cases.append((first, second))
    for (first, second), (p_value, _) in zip(cases, references.of(cases, welch_by_scipy), strict=True):
        assert welch_p_value(mean_spread(first), mean_spread(second)) == pytest.approx(p_value, abs=1e-9)


def test_few_unpaired_samples_have_welchs_test_and_cohens_d(references: References) -> None:
    generator = np.random.default_rng(10)
    cases = []
    for _ in range(CASES):
        one, other = (int(n) for n in generator.integers(2, 10, 2))
        cases.append((generator.normal(0.5, 1, one), generator.normal(0, 1, other)))
    for (first, second), (p_value, t) in zip(cases, references.of(cases, welch_by_scipy), strict=True):
        found = unpaired_difference(first.tolist(), second.tolist())
        assert found is not None
        assert found.p_method == "Welch's t-test"
        assert found.p_value == pytest.approx(p_value, abs=1e-9)
        # Student's t is d over the root of 1/n + 1/m (Cohen 1988, section 2.5.2).
        assert found.effect_size == pytest.approx(t * math.sqrt(1 / len(first) + 1 / len(second)), rel=1e-9)


def test_unpaired_shares_have_the_score_test_of_statsmodels(references: References) -> None:
    def by_statsmodels(case: tuple[int, int, int, int]) -> float:
        from scipy.stats import norm
        from statsmodels.stats.proportion import test_proportions_2indep as score_test

        k, n, j, m = case
        # The variance of a share is p (1 - p) / (n - 1) here, as that of any mean.
        counts = (k * (n - 1) / n, n - 1, j * (m - 1) / m, m - 1)
        statistic = score_test(*counts, compare="diff", method="score", correction=False).statistic
        return float(2 * norm.sf(abs(statistic)))

    generator = np.random.default_rng(11)
    cases = []
    for _ in range(CASES):
        n, m = (int(size) for size in generator.integers(30, 300, 2))
        cases.append((int(generator.integers(5, n - 4)), n, int(generator.integers(5, m - 4)), m))
    for (k, n, j, m), expected in zip(cases, references.of(cases, by_statsmodels), strict=True):
        found = unpaired_difference([1.0] * k + [0.0] * (n - k), [1.0] * j + [0.0] * (m - j))
        assert found is not None
        assert found.p_method == "score test"
        assert found.p_value == pytest.approx(expected, abs=1e-6)


def test_test_and_interval_of_unpaired_samples_agree() -> None:
    generator = np.random.default_rng(12)
    for case in range(CASES // 4):
        n, m = (int(size) for size in generator.integers(15, 200, 2))
        first, second = (
            generator.random(size) < share if case % 2 else np.exp(generator.normal(share, 1, size))
            for size, share in ((n, 0.8), (m, 0.9))
        )
        found = unpaired_difference(first.astype(float).tolist(), second.astype(float).tolist())
        assert found is not None
        if found.interval is not None and found.p_value is not None:
            assert (found.p_value > 0.05) == (found.interval[0] <= 0 <= found.interval[1])


def test_power_is_that_of_statsmodels() -> None:
    power = pytest.importorskip("statsmodels.stats.power").NormalIndPower()
    generator = np.random.default_rng(13)
    for _ in range(CASES):
        std, correlation, effect = generator.uniform(0.1, 1), generator.uniform(-0.5, 0.9), generator.uniform(0.01, 0.4)
        n, alpha = int(generator.integers(5, 3_000)), float(generator.uniform(0.01, 0.1))
        deviation = math.sqrt(2 * std**2 * (1 - correlation))
        shape = {"std_a": std, "std_b": std, "correlation": correlation, "alpha": alpha}
        expected = power.power(effect / deviation, n, alpha, ratio=0)  # a ratio of 0: one sample, that of differences
        assert achieved_power(effect, n, **shape) == pytest.approx(expected, abs=1e-9)
        least = detectable_effect(n, power=0.8, **shape)
        # The formulas of Miller leave out the far tail, which is small where the power is high.
        assert power.power(least / deviation, n, alpha, ratio=0) == pytest.approx(0.8, abs=1e-4)
        needed = needed_samples(effect, power=0.9, **shape)
        assert power.power(effect / deviation, needed, alpha, ratio=0) >= 0.9 - 1e-4
        if needed > 1:
            assert power.power(effect / deviation, needed - 1, alpha, ratio=0) < 0.9 + 1e-4
