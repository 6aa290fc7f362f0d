"""Rank intervals: worked out by hand, against single tests of scipy, and their coverage by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from polymeter.stats import Partition, mcnemar_test, mean_gaps, paired_gaps, rank_intervals, unpaired_gaps
from polymeter.stats.ranking.ranks import Gaps


def gaps(p_values: list[list[float]]) -> Gaps:
    table = np.array(p_values, dtype=float)
    return Gaps(np.zeros_like(table), np.zeros_like(table), np.ones_like(table), table)


def test_ranks_by_hand() -> None:
    # The first is surely ahead of the third; six hypotheses, so 0.05 / 6 is the first threshold.
    found = rank_intervals(gaps([[1, 0.2, 0.008], [0.8, 1, 0.02], [0.992, 0.98, 1]]))
    assert found == [(1, 2), (1, 3), (2, 3)]
    # The same p-values just above it show nothing.
    assert rank_intervals(gaps([[1, 0.2, 0.0084], [0.8, 1, 0.02], [0.992, 0.98, 1]])) == [(1, 3)] * 3


def test_holm_steps_down() -> None:
    # 0.009 alone is more than 0.05 / 6, but not than 0.05 / 5 once another one is rejected.
    found = rank_intervals(gaps([[1, 0.3, 0.001], [0.7, 1, 0.0095], [0.999, 0.9905, 1]]))
    assert found == [(1, 2), (1, 2), (3, 3)]


def test_without_a_test_every_rank_is_left() -> None:
    found = unpaired_gaps([0.9, 0.5, 0.1], [(0.88, 0.92), None, (0.08, 0.12)], [500, 10, 500])
    assert rank_intervals(found) == [(1, 2), (1, 3), (2, 3)]


def test_right_and_wrong_are_compared_by_mcnemar() -> None:
    generator = np.random.default_rng(3)
    values = (generator.random((4, 300)) < np.array([[0.5], [0.6], [0.7], [0.75]])).astype(float)
    found = paired_gaps(values)
    for one in range(4):
        for other in range(4):
            if one == other:
                continue
            ahead, behind = int((values[one] > values[other]).sum()), int((values[one] < values[other]).sum())
            expected = scipy_stats.binomtest(ahead, ahead + behind, alternative="greater").pvalue
            assert found.p_value[one, other] == pytest.approx(expected, rel=1e-9)
            less = min(found.p_value[one, other], found.p_value[other, one])
            # Exact: a promise about all ranks at once may err less often than it says. ``compare`` has the mid-p test.
            tied = scipy_stats.binom.pmf(ahead, ahead + behind, 0.5) * (0.5 if ahead == behind else 1)
            assert min(1.0, 2 * less) == pytest.approx(mcnemar_test(ahead, behind).p_value + tied, rel=1e-9)


def test_graded_values_are_compared_by_the_t_test_over_shared_samples() -> None:
    generator = np.random.default_rng(4)
    values = generator.normal(size=(3, 80)) + np.array([[0.0], [0.2], [0.4]])
    values[0, :7] = math.nan
    values[2, 5:12] = math.nan
    found = paired_gaps(values)
    both = ~np.isnan(values[0] + values[2])
    expected = scipy_stats.ttest_rel(values[2, both], values[0, both], alternative="greater")
    assert found.p_value[2, 0] == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.df[2, 0] == both.sum() - 1


def test_clusters_make_a_difference_less_sure() -> None:
    generator = np.random.default_rng(5)
    shared = np.repeat(generator.normal(0.1, 1, size=40), 10)
    values = np.stack([shared + generator.normal(0, 0.1, 400), generator.normal(0, 0.1, 400)])
    partition = Partition.of(np.repeat(np.arange(40), 10).tolist())
    alone, together = paired_gaps(values), paired_gaps(values, partition)
    sums = (values[0] - values[1]).reshape(40, 10).mean(axis=1)
    assert together.p_value[0, 1] == pytest.approx(
        scipy_stats.ttest_1samp(sums, 0, alternative="greater").pvalue, rel=1e-9
    )
    assert together.variance[0, 1] > 5 * alone.variance[0, 1]


def test_few_samples_show_nothing() -> None:
    assert rank_intervals(paired_gaps(np.array([[1.0] * 19, [0.0] * 19]))) == [(1, 2), (1, 2)]
    assert rank_intervals(paired_gaps(np.array([[1.0] * 20, [0.0] * 20]))) == [(1, 1), (2, 2)]


def test_a_permutation_test_could_not_be_surer() -> None:
    values = np.zeros((2, 100))
    values[0, :3] = (0.5, 0.5001, 0.4999)
    assert paired_gaps(values).p_value[0, 1] >= 1 / 8


def test_the_mean_of_tasks_has_the_variance_of_a_mean() -> None:
    generator = np.random.default_rng(6)
    tables = [generator.normal(size=(3, 60)) for _ in range(2)]
    parts = [paired_gaps(table) for table in tables]
    found = mean_gaps(parts)
    assert found.gap[0, 1] == pytest.approx((parts[0].gap[0, 1] + parts[1].gap[0, 1]) / 2)
    assert found.variance[0, 1] == pytest.approx((parts[0].variance[0, 1] + parts[1].variance[0, 1]) / 4)
    assert 59 <= found.df[0, 1] <= 118


ABILITIES = np.array([0.50, 0.50, 0.55, 0.62, 0.62, 0.80])
TRUE_RANKS = [1 + int((own < ABILITIES).sum()) for own in ABILITIES]


def covers(intervals: list[tuple[int, int]]) -> bool:
    return all(low <= rank <= high for (low, high), rank in zip(intervals, TRUE_RANKS, strict=True))


@pytest.mark.parametrize("kind", ["paired", "clusters", "graded", "unpaired", "two tasks"])
def test_all_ranks_are_covered_at_once(kind: str) -> None:
    """Ties, small and large gaps: the share of replications in which every interval holds its true rank."""
    generator = np.random.default_rng(7)
    n, n_runs = 200, 300
    n_covered, n_certain = 0, 0
    for _ in range(n_runs):
        hard = generator.random(n)
        if kind == "clusters":
            hard = np.repeat(generator.random(n // 4), 4)
        luck = generator.normal(0, 0.3, (ABILITIES.size, n))
        # Luck moves the shares away from the abilities, but keeps their order and what is equal.
        right = (hard + luck < ABILITIES[:, None]).astype(float)
        if kind == "paired":
            found = paired_gaps(right)
        elif kind == "clusters":
            found = paired_gaps(right, Partition.of(np.repeat(np.arange(n // 4), 4).tolist()))
        elif kind == "graded":
            found = paired_gaps(np.clip(ABILITIES[:, None] - 0.3 * hard + 0.5 * luck, 0, 1))
        elif kind == "two tasks":
            other = (generator.random(n) + generator.normal(0, 0.3, right.shape) < ABILITIES[:, None]).astype(float)
            found = mean_gaps([paired_gaps(right), paired_gaps(other)])
        else:
            shares = (generator.random(right.shape) < ABILITIES[:, None]).mean(axis=1)
            half = 1.96 * np.sqrt(shares * (1 - shares) / n)
            found = unpaired_gaps(
                shares.tolist(), list(zip((shares - half).tolist(), (shares + half).tolist(), strict=True)), [n] * 6
            )
        intervals = rank_intervals(found)
        n_covered += covers(intervals)
        n_certain += intervals[-1] == (1, 1)
    assert n_covered / n_runs >= 0.93
    assert n_certain / n_runs >= 0.5
