"""Estimates from repeats, against a count of all draws; the names of their values; votes."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from polymeter.core.records.attempts import (
    estimates_among,
    filter_of,
    is_of_repeat,
    majority,
    own_filter,
    pass_all_k,
    pass_at_k,
    repeats_in,
    shown_filters,
    with_estimates,
    with_means,
)


@pytest.mark.parametrize("n", range(1, 8))
def test_estimates_are_the_shares_of_all_draws_without_replacement(n: int) -> None:
    for n_passed in range(n + 1):
        attempts = [True] * n_passed + [False] * (n - n_passed)
        for k in range(1, n + 1):
            draws = [*combinations(attempts, k)]
            assert pass_at_k(n, n_passed, k) == pytest.approx(sum(map(any, draws)) / len(draws), abs=1e-12)
            assert pass_all_k(n, n_passed, k) == pytest.approx(sum(map(all, draws)) / len(draws), abs=1e-12)


def test_large_numbers_do_not_overflow() -> None:
    assert 0 < pass_at_k(5000, 3, 100) < pass_at_k(5000, 3, 2000) < 1
    assert pass_all_k(5000, 4999, 5000) == 0


@pytest.mark.parametrize("estimate", [pass_at_k, pass_all_k])
def test_k_attempts_are_needed(estimate: object) -> None:
    with pytest.raises(ValueError, match="pass@3 needs at least 3 attempts, and there are 2"):
        estimate(2, 1, 3)  # type: ignore[operator]


def _repeats(*values: object, metric: str = "acc", own: str = "none") -> dict[tuple[str, str], object]:
    return {(metric, filter_of(f"repeat {n}", own)): value for n, value in enumerate(values, 1)}


def test_names_of_repeats_and_estimates() -> None:
    assert filter_of("repeat 2", "none") == "repeat 2"
    assert filter_of("pass@2", "strict/match") == "strict/match/pass@2"
    assert is_of_repeat("strict/repeat 12")
    assert not any(map(is_of_repeat, ("none", "repeat", "repeat 0", "repeats 1", "strict")))
    assert [own_filter(name) for name in ("repeat 3", "strict/repeat 3", "strict")] == ["none", "strict", "strict"]
    assert repeats_in({**_repeats(1, 0, own="strict"), ("acc", "strict"): 0.5}) == {("acc", "strict"): [1, 0]}


def test_estimates_of_a_question() -> None:
    found = with_estimates(_repeats(1.0, 0, True, 0.0))
    assert found["acc", "mean@4"] == 0.5
    assert found["acc", "pass@1"] == found["acc", "pass^1"] == 0.5
    assert found["acc", "pass@2"] == pytest.approx(5 / 6)
    assert found["acc", "pass^2"] == pytest.approx(1 / 6)
    assert found["acc", "pass@4"] == 1
    assert found["acc", "pass^3"] == 0


def test_only_zeros_and_ones_pass() -> None:
    found = with_estimates(_repeats(0.5, 1.0, own="strict"))
    assert found["acc", "strict/mean@2"] == 0.75
    assert not any("pass" in name for _, name in found)


def test_a_missing_value_does_not_count() -> None:
    assert with_means(_repeats(1.0, math.nan))["acc", "none"] == 1
    assert math.isnan(with_means(_repeats(math.nan, math.nan))["acc", "none"])
    assert not any("pass" in name for _, name in with_estimates(_repeats(1.0, math.nan)))
    assert with_estimates(_repeats(("a", "b"), ("a", "c"))) == _repeats(("a", "b"), ("a", "c"))


@pytest.mark.parametrize(
    ("answers", "winner"),
    [
        (["b", "a", "a"], 1),
        (["b", "a", "a", "b"], 0),  # a tie: the one that came first
        ([None, None, "a"], 2),  # nothing read is no vote
        ([None, None], 0),
    ],
)
def test_the_most_frequent_answer_wins(answers: list[str | None], winner: int) -> None:
    assert majority(answers) == winner


def test_a_table_shows_some_of_the_estimates() -> None:
    names = ["none", "mean@6", *(f"pass{how}{k}" for how in "@^" for k in range(1, 7)), "maj@6"]
    shown = ["mean@6", "pass@1", "pass@2", "pass@4", "pass@6", "pass^2", "pass^4", "pass^6", "maj@6"]
    assert shown_filters(names) == set(shown)
    assert shown_filters(["strict", "strict/mean@2", "none"]) == {"strict/mean@2", "none"}
    assert shown_filters(["none", "pass@3", "pass^1"]) == {"none", "pass@3", "pass^1"}, "a task's own ways"


def test_a_filter_of_the_task_is_no_estimate() -> None:
    own = {("acc", "none"), ("acc", "pass@2"), ("acc", "x/mean@3")}
    made = {("acc", "mean@4"), ("acc", "pass@4"), ("acc", "pass@2/mean@4"), ("acc", "pass@2/maj@4")}
    assert estimates_among(own | made | {("acc", "x/mean@3/mean@4")}) == made | {("acc", "x/mean@3/mean@4")}
    assert estimates_among({("acc", "none"), ("acc", "pass@2")}) == set()
