"""What clusters, groups, ranks and judges rest on, against scipy and statsmodels on 1,000 random cases each."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipys

from polymeter.analysis.comparison.answers import divergences
from polymeter.judge.agreement import cohens_kappa, spearman
from polymeter.stats import Partition, bradley_terry, paired_difference, paired_gaps, permutation_test, wilson_interval
from polymeter.stats.comparisons import MemberDifference, group_difference
from polymeter.stats.paired import difference_spread
from polymeter.stats.ranking.ranks import Gaps, rank_intervals
from tests.helpers.recorded import References

CASES = 1_000


def mid_p(case: tuple[np.ndarray]) -> float:
    """The mid-p value of scipy's exact permutation test of paired differences."""
    (units,) = case
    expected = scipys.permutation_test(
        (units,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    distances, observed = np.abs(expected.null_distribution), abs(units.sum())
    return float(expected.pvalue - np.isclose(distances, observed, rtol=0, atol=1e-9).mean() / 2)


def test_clusters_change_their_signs_together(references: References) -> None:
    generator = np.random.default_rng(21)
    cases, units = [], []
    for _ in range(CASES):
        size = int(generator.integers(4, 20))
        labels = np.append(generator.integers(0, 6, size - 2), [0, 1])
        values = generator.normal(size=size)
        cases.append((values, labels))
        units.append((np.array([values[labels == label].sum() for label in np.unique(labels)]),))
    for (values, labels), expected in zip(cases, references.of(units, mid_p), strict=True):
        found = permutation_test(values, Partition.of(labels.tolist()))
        assert found.p_value == pytest.approx(expected, abs=1e-12)


def test_groups_change_signs_with_the_weights_of_their_tasks(references: References) -> None:
    generator = np.random.default_rng(22)
    groups, cases = [], []
    for _ in range(CASES):
        sizes = [int(size) for size in generator.integers(2, 5, 2)]
        share = float(generator.uniform(0.2, 0.8))
        pairs = [generator.normal(size=(2, size)) for size in sizes]
        members = [
            MemberDifference(weight, one - other, difference_spread(one, other, None))
            for weight, (one, other) in zip((share, 1 - share), pairs, strict=True)
        ]
        groups.append((sizes, members))
        cases.append((np.concatenate([own.weight * own.differences / own.differences.size for own in members]),))
    expected = references.of(cases, mid_p)
    for (sizes, members), (units,), p_value in zip(groups, cases, expected, strict=True):
        found = group_difference(members)
        assert found.difference == pytest.approx(units.sum())
        assert found.p_value == pytest.approx(p_value, abs=1e-12)
        if all(size > 1 and np.abs(own.differences).max() > 1 for size, own in zip(sizes, members, strict=True)):
            errors = [member.weight * scipys.sem(member.differences) for member in members]
            assert found.stderr == pytest.approx(np.hypot(*errors), rel=1e-9)


def test_errors_of_differences_in_clusters_are_those_of_statsmodels(references: References) -> None:
    def by_statsmodels(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[float, float, float]:
        from statsmodels.regression.linear_model import OLS

        first, second, labels = case
        model = OLS(first - second, np.ones(len(labels)))
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": labels}, use_t=True)
        return fit.params[0], fit.bse[0], fit.pvalues[0]

    generator = np.random.default_rng(23)
    cases = []
    for _ in range(CASES):
        n = int(generator.integers(24, 60))
        labels = np.append(generator.integers(0, 12, n - 12), np.arange(12))
        hard = generator.normal(size=12)[labels]
        first, second = hard + generator.normal(0.2, 1, n), hard + generator.normal(0, 1, n)
        cases.append((first, second, labels))
    expected = references.of(cases, by_statsmodels)
    for (first, second, labels), (difference, error, p_value) in zip(cases, expected, strict=True):
        found = paired_difference(first.tolist(), second.tolist(), clusters=labels.tolist())
        assert found.difference == pytest.approx(difference, abs=1e-12)
        assert found.stderr == pytest.approx(error, rel=1e-9)
        # Ranks rest on the one-sided test of the same error, which is never surer than that of 12 signs could be.
        gaps = paired_gaps(np.stack([first, second]), Partition.of(labels.tolist()))
        one_sided = p_value / 2 if difference > 0 else 1 - p_value / 2
        assert gaps.p_value[0, 1] == pytest.approx(max(one_sided, 0.5**12), abs=1e-9)


def test_ranks_of_right_and_wrong_rest_on_the_exact_binomial_test() -> None:
    generator = np.random.default_rng(24)
    for _ in range(CASES):
        n = int(generator.integers(20, 80))
        values = (generator.random((2, n)) < generator.uniform(0.2, 0.9, (2, 1))).astype(float)
        ahead, behind = int((values[0] > values[1]).sum()), int((values[0] < values[1]).sum())
        expected = scipys.binom.sf(ahead - 1, ahead + behind, 0.5)
        assert paired_gaps(values).p_value[0, 1] == pytest.approx(expected, abs=1e-12)


def test_ranks_of_graded_values_rest_on_the_t_test_of_pairs(references: References) -> None:
    generator = np.random.default_rng(25)
    cases = [
        (generator.normal(size=(2, int(generator.integers(20, 80)))) + generator.normal(0, 0.3, (2, 1)),)
        for _ in range(CASES)
    ]
    by_scipy = references.of(cases, lambda case: scipys.ttest_rel(*case[0], alternative="greater").pvalue)
    for (values,), expected in zip(cases, by_scipy, strict=True):
        assert paired_gaps(values).p_value[0, 1] == pytest.approx(expected, abs=1e-12)


def test_ranks_are_corrected_as_by_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    generator = np.random.default_rng(26)
    for _ in range(CASES):
        n = int(generator.integers(2, 7))
        p_values = generator.beta(0.2, 1.5, size=(n, n))
        off = ~np.eye(n, dtype=bool)
        is_better = np.zeros((n, n), dtype=bool)
        is_better[off] = multitest.multipletests(p_values[off], method="holm")[0]
        blank = np.zeros_like(p_values)
        expected = [(1 + is_better[:, i].sum(), n - is_better[i].sum()) for i in range(n)]
        assert rank_intervals(Gaps(blank, blank, blank, p_values)) == expected


def test_strengths_and_errors_of_players_are_those_of_a_clustered_logistic_regression(
    references: References,
) -> None:
    generator = np.random.default_rng(27)
    pairs = np.array([(0, 1), (0, 2), (1, 2)])
    n = 12
    design = np.zeros((3, 3))
    design[np.arange(3), pairs[:, 0]], design[np.arange(3), pairs[:, 1]] = 1.0, -1.0
    design, groups = np.tile(design, (n, 1)), np.repeat(np.arange(n), 3)
    centre = np.eye(3) - 1 / 3

    def by_statsmodels(case: tuple[np.ndarray]) -> list[float]:
        from statsmodels.genmod.families import Binomial
        from statsmodels.genmod.generalized_linear_model import GLM
        from statsmodels.tools.sm_exceptions import PerfectSeparationError

        try:
            fit = GLM(case[0], design[:, 1:], family=Binomial()).fit(
                cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}, tol=1e-12
            )
        except PerfectSeparationError:
            return [np.nan] * 6
        covariance = centre[:, 1:] @ fit.cov_params() @ centre[:, 1:].T
        return [*centre[:, 1:] @ fit.params, *np.sqrt(np.diag(covariance) * n / (n - 1))]

    cases = [(generator.choice([0.0, 0.5, 1.0], size=3 * n, p=[0.4, 0.2, 0.4]),) for _ in range(CASES)]
    for (won,), expected in zip(cases, references.of(cases, by_statsmodels), strict=True):
        found = bradley_terry(
            [(int(i), int(j), float(got)) for (i, j), got in zip(np.tile(pairs, (n, 1)), won, strict=True)],
            3,
            clusters=groups.tolist(),
        )
        if found.problem:
            continue
        assert found.values == pytest.approx(expected[:3], abs=1e-8)
        assert found.stderrs == pytest.approx(expected[3:], rel=1e-6)


def test_kappa_and_its_error_are_those_of_statsmodels() -> None:
    rater = pytest.importorskip("statsmodels.stats.inter_rater")
    generator = np.random.default_rng(28)
    for _ in range(CASES):
        size = int(generator.integers(2, 6))
        table = generator.integers(1, 30, (size, size)) + np.diag(generator.integers(0, 60, size))
        expected = rater.cohens_kappa(table)
        assert cohens_kappa(table) == pytest.approx((expected.kappa, expected.std_kappa), rel=1e-9)


def test_rank_correlations_are_scipys() -> None:
    generator = np.random.default_rng(29)
    for _ in range(CASES):
        first = generator.integers(0, 8, int(generator.integers(10, 40)))
        second = first + generator.integers(-3, 4, first.size)
        expected = scipys.spearmanr(first, second).statistic
        assert spearman(first.tolist(), second.tolist()).value == pytest.approx(expected, abs=1e-12)


def test_divergences_of_choices_are_scipys() -> None:
    from scipy.spatial.distance import jensenshannon

    generator = np.random.default_rng(30)
    first, second = np.log(generator.dirichlet(np.full(4, 0.5), (2, CASES)))
    expected = jensenshannon(np.exp(first), np.exp(second), axis=1, base=2) ** 2
    assert divergences(first, second) == pytest.approx(expected, abs=1e-12)


def test_shares_have_the_interval_of_statsmodels() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    generator = np.random.default_rng(31)
    n = generator.integers(1, 2_000, CASES)
    right = generator.integers(0, n + 1)
    expected = np.transpose(proportion.proportion_confint(right, n, method="wilson"))
    found = [wilson_interval(k / size, size) for k, size in zip(right.tolist(), n.tolist(), strict=True)]
    assert np.array(found) == pytest.approx(expected, abs=1e-12)
