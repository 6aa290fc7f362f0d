"""What ``evaluate`` returns, as numbers with names."""

import numpy as np
import pandas as pd
import pytest

from polymeter.core.errors import ScoreError
from polymeter.interop.ulmeval.tasks.results.tabulate import MOST_ROWS, as_json, check_returned, numbers, rows_of_type


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        ({"acc": 0.5, "n": 3}, {"acc": 0.5, "n": 3}),
        ({"acc": np.float64(0.5), "n": np.int64(3), "name": "x", "ok": True, "none": None}, {"acc": 0.5, "n": 3}),
        ({"a": {"b": {"c": 1}, "d": 2}}, {"a/b/c": 1, "a/d": 2}),
        ({"acc": [0.5]}, {"acc": 0.5}),
        ({"split": ["val", "test"], "acc": [1, 2]}, {"val/acc": 1, "test/acc": 2}),
        ({"split": ["val", "val"], "acc": [1, 2]}, {"val/acc": 1, "val (2)/acc": 2}),
        ({"acc": [1, 2], "f1": [3, 4]}, {"0/acc": 1, "0/f1": 3, "1/acc": 2, "1/f1": 4}),
        ({"acc": [1, 2], "all": 3}, {"acc/0": 1, "acc/1": 2, "all": 3}),
        ({"acc": float("nan"), "b": 1}, {"b": 1}),
        (pd.DataFrame({"acc": [0.5], "n": [2]}), {"acc": 0.5, "n": 2}),
        (pd.DataFrame({"acc": [0.5, 1.0]}, index=["val", "test"]), {"val/acc": 0.5, "test/acc": 1.0}),
        (pd.DataFrame({"k": ["val", "test"], "acc": [0.5, None]}), {"val/acc": 0.5}),
        (pd.DataFrame({"n": [1, 2], "k": ["val", "test"]}), {"val/n": 1, "test/n": 2}),
        ({"table": pd.DataFrame({"k": ["x"], "acc": [1]})}, {"table/x/acc": 1}),
        (pd.DataFrame({("a", "b"): [1, 2]}), {"0/a/b": 1, "1/a/b": 2}),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {"a": 1, "a (2)": 2}),
        (pd.DataFrame({"n": [1]}, index=pd.MultiIndex.from_tuples([("x", "y")])), {"x/y/n": 1}),
        ({"scores": list(range(MOST_ROWS + 1)), "mean": 1}, {"mean": 1}),
        (pd.DataFrame({"score": range(MOST_ROWS + 1)}), {}),
        ({"results": [{"index": 1, "pf": 4, "s": "a"}, {"index": 2, "pf": 7, "s": "b"}]}, {"results/pf": 5.5}),
        ({"results": [{"pf": 4}, {"pf": "failed"}]}, {"results/pf": 4, "results/pf (number)": 1}),
        ({"results": [{"pf": place} for place in range(MOST_ROWS + 1)]}, {"results/pf": MOST_ROWS / 2}),
        (
            pd.DataFrame({"split": ["counting", "all"], "Overall": ["counting   = 50.00% (1 / 2)", "0.55000"]}),
            {"counting/Overall": 0.5, "all/Overall": 0.55},
        ),
        (pd.DataFrame({"k": ["x"], "model": ["v1.5"], "n": ["12"]}), {}),
        (
            pd.DataFrame({"split": ["val"] * 3, "n": [1, 2, 3], "category": ["a", "b", "b"]}),
            {"val/a/n": 1, "val/b/n": 2, "val/b (2)/n": 3},
        ),
        (pd.DataFrame({"split": ["val", None], "acc": [0.5, 0.25]}), {"val/acc": 0.5, "1/acc": 0.25}),
        (pd.DataFrame({"Overall": ["0.50"], "n": [3]}), {"Overall": 0.5, "n": 3}),
        ({"all": {"overall": "0.512", "valid": "-1.00", "why": "good"}}, {"all/overall": 0.512, "all/valid": -1.0}),
        ({"overall": [3, 4, "75.00%"]}, {"0/overall": 3, "1/overall": 4, "2/overall": 0.75}),
        ({"overall": 50.0, "tabulated_keys": "overall, a", "tabulated_results": "50.0, 40.0"}, {"overall": 50.0}),
        ([{"index": 1, "hit": 1}, {"index": 2, "hit": 0}], {"hit": 0.5}),
        ([pd.DataFrame({"acc": [1]}), pd.DataFrame({"acc": [2]})], {"0/acc": 1, "1/acc": 2}),
        (np.float64(0.5), {"value": 0.5}),
        ({}, {}),
        (None, {}),
    ],
)
def test_every_number_has_a_name(returned: object, found: dict) -> None:
    assert {name: number.value for name, number in numbers(returned).items()} == found


def test_numbers_of_numpy_become_plain_ones() -> None:
    (found,) = numbers({"a": np.int64(3)}).values()
    assert type(found.value) is int


def test_what_is_kept_is_plain_data() -> None:
    table = pd.DataFrame({"acc": [np.float32(0.5)]}, index=["val"])
    assert as_json({"t": table, "n": np.int64(1)}) == {"t": {"index": ["val"], "acc": [0.5]}, "n": 1}
    assert as_json(pd.DataFrame({"acc": [1, 2]})) == {"acc": [1, 2]}


@pytest.mark.parametrize("returned", [True, {1, 2}, "good"])
def test_what_is_no_result_is_refused(returned: object) -> None:
    with pytest.raises(ScoreError, match=r"evaluate of Mine returned a .*must return a dict"):
        check_returned(returned, "Mine")


def test_a_count_beside_numbers_is_theirs() -> None:
    returned = {
        "results": [{"index": "1", "Weighted Score": 3.0}, {"index": "2", "Weighted Score": 5.0}],
        "statistics_by_type": {
            "animal": {"Weighted Score": 3.0, "count": 12},
            "plant": {"Weighted Score": 5.0, "count": 7},
        },
        "overall_statistics": {"overall": {"Weighted Score": 4.0, "count": 19}},
    }
    found = {name: number.n for name, number in numbers(returned).items()}
    assert found["statistics_by_type/animal/Weighted Score"] == 12
    assert found["statistics_by_type/plant/Weighted Score"] == 7
    assert found["overall_statistics/overall/Weighted Score"] == 19
    assert found["overall_statistics/overall/count"] is None
    assert found["results/Weighted Score"] is None


def test_a_row_of_a_table_with_a_count_rests_on_it() -> None:
    table = pd.DataFrame({"type": ["animal", "plant"], "score": [0.5, 0.75], "count": [4, 8]})
    assert [number.n for number in numbers(table).values()] == [4, None, 8, None]


def test_a_type_of_the_table_says_on_which_rows_a_number_rests() -> None:
    columns = {
        "discipline": {"culture": frozenset({0, 1, 2}), "time": frozenset({3, 4})},
        "l2": {"clock": frozenset({2, 3, 5}), "now": frozenset({1})},
    }
    assert rows_of_type(("coarse_valid", "CULTURE"), columns) == {0, 1, 2}
    assert rows_of_type(("L2_score", "time", "Clock"), columns) == {3}
    assert rows_of_type(("time", "now"), columns) == {1}
    assert rows_of_type(("culture:Accuracy",), columns) == {0, 1, 2}
    assert rows_of_type(("l2=clock", "Overall"), columns) == {2, 3, 5}
    assert rows_of_type(("coarse_valid", "overall"), columns) is None


def test_a_mean_over_some_of_the_records_rests_on_those() -> None:
    found = numbers({"results": [{"PF": 3.0, "SC": 1.0}, {"PF": "failed", "SC": 2.0}]})
    assert {name: number.n for name, number in found.items()} == {
        "results/PF": 1,
        "results/PF (number)": None,
        "results/SC": None,
    }
