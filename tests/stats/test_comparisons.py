"""Differences of groups, and of models on different samples."""

import numpy as np
import pytest

from polymeter.stats import Partition, paired_difference
from polymeter.stats.comparisons import MemberDifference, group_difference, unpaired_difference
from polymeter.stats.paired import difference_spread

RNG = np.random.default_rng(21)


def member(weight: float, first: np.ndarray, second: np.ndarray, labels: list[int] | None = None) -> MemberDifference:
    partition = None if labels is None else Partition.of(labels)
    return MemberDifference(weight, first - second, difference_spread(first, second, partition), partition)


def test_an_unpaired_interval_of_shares() -> None:
    first, second = [1.0] * 60 + [0.0] * 40, [1.0] * 50 + [0.0] * 50
    found = unpaired_difference(first, second)
    assert found is not None
    assert found.interval is not None
    assert found.interval == pytest.approx((-0.037, 0.234), abs=0.01)  # Newcombe 1998, method 10, gives the same
    assert unpaired_difference([], second) is None


def test_a_group_of_one_task_is_that_task() -> None:
    first, second = RNG.normal(0.3, 1, 80), RNG.normal(0, 1, 80)
    alone, group = paired_difference(first, second), group_difference([member(1.0, first, second)])
    assert group.difference == pytest.approx(alone.difference)
    assert group.interval == pytest.approx(alone.interval)
    assert group.p_value == pytest.approx(alone.p_value, abs=0.02)


def test_a_group_weighted_by_size_is_all_of_its_pairs() -> None:
    first, second = RNG.integers(0, 2, (2, 300)).astype(float)
    parts = [slice(0, 100), slice(100, 300)]
    group = group_difference([member((p.stop - p.start) / 300, first[p], second[p]) for p in parts])
    whole = paired_difference(first, second)
    assert group.difference == pytest.approx(whole.difference)
    assert group.interval == pytest.approx(whole.interval, abs=0.01)


def test_intervals_of_groups_cover_and_the_test_errs_as_it_says() -> None:
    missed, found = 0, 0
    for _ in range(300):
        members = []
        for n, weight in ((40, 0.5), (120, 0.5)):
            hard = RNG.normal(size=n // 4)[np.arange(n) // 4]
            shared = hard + RNG.normal(size=n)
            first, second = shared + RNG.normal(size=n), shared + RNG.normal(size=n)
            members.append(member(weight, first, second, (np.arange(n) // 4).tolist()))
        group = group_difference(members)
        assert group.interval is not None
        assert group.p_value is not None
        missed += not group.interval[0] <= 0 <= group.interval[1]
        found += group.p_value <= 0.05
    assert missed / 300 == pytest.approx(0.05, abs=0.038)  # three standard errors
    assert found / 300 == pytest.approx(0.05, abs=0.038)


def test_a_group_that_hardly_differs_has_no_interval() -> None:
    same = np.ones(50)
    group = group_difference([member(1.0, same, same)])
    assert (group.difference, group.interval, group.p_value) == (0.0, None, 1.0)
    assert group.no_interval == "fewer than 5 samples differ"
