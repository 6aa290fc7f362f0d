"""What the values of several judges come to."""

import math
from typing import Any

import pytest

from polymeter.core.errors import ScoreError
from polymeter.judge.panel import Panel, combined, seat, seats_of

KEY = ("judged", "none")


def of(*values: Any, rule: Any = "mean", quorum: int = 2) -> Any:
    return combined([{KEY: value} for value in values], Panel(("judge", "judge_2", "judge_3"), rule, quorum))[KEY]


def test_the_mean() -> None:
    assert of(1.0, 0.0) == 0.5
    assert of(1, 1) == 1
    assert of(0.2, 0.4, 0.9) == pytest.approx(0.5)


def test_the_majority_and_the_mean_of_a_tie() -> None:
    assert of(1.0, 0.0, 1.0, rule="majority") == 1.0
    assert of(1.0, 0.0, rule="majority") == 0.5
    assert of(3.0, 7.0, 8.0, rule="majority") == 6.0


def test_values_with_keys_and_lists_are_combined_one_by_one() -> None:
    assert of({"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 0.0}) == {"a": 0.5, "b": 0.0}
    assert of([1.0, 0.0], [0.0, 0.0]) == [0.5, 0.0]
    assert of(("x", 1.0), ("x", 0.0)) == ("x", 0.5)
    assert of("same", "same") == "same"


def test_values_that_differ_and_are_no_numbers_are_refused() -> None:
    for values in (("a", "b"), ({"a": 1}, {"b": 1}), ([1.0], [1.0, 2.0]), (1.0, "a")):
        with pytest.raises(ScoreError, match="cannot be combined"):
            of(*values)


def test_a_number_of_too_few_judges_is_none() -> None:
    assert math.isnan(of(1.0, math.nan))
    assert of(1.0, math.nan, quorum=1) == 1.0
    panel = Panel(("judge", "judge_2"), "mean", 2)
    assert math.isnan(combined([{KEY: 1.0}, {}], panel)[KEY])


def test_the_roles_of_judges() -> None:
    assert [seat(0), seat(1), seat(9)] == ["judge", "judge_2", "judge_10"]
    assert seats_of({"judge_10", "judge_2", "judge", "judges", "helper"}) == ("judge", "judge_2", "judge_10")
