"""From values to results: aggregations, standard errors and groups, against those that lm-eval 0.4.13 states."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.names.parity import parity_with
from polymeter.core.task import GroupSpec, Result, Score
from polymeter.guests.loading.load import FunctionRef
from polymeter.interop.lm_eval.tasks.groups import aggregates, stated_group
from polymeter.interop.lm_eval.tasks.scoring.aggregations import AGGREGATIONS, FUNCTIONS, mean
from polymeter.interop.lm_eval.tasks.scoring.stated_errors import stated_stderr
from polymeter.run.finish.groups import reduce_groups
from tests.helpers.differences import difference
from tests.interop.lm_eval.tasks.kit import results, scored, scorer

CASES = json.loads((Path(__file__).parent / "cases" / "stated_errors.json").read_text("utf-8"))


def of_values(values: Sequence[Any], *, parity: str = "none", **entry: Any) -> Result:
    """The result of one metric with these values."""
    scores = scorer(metric_list=[{"metric": "m", **entry}], process_results=len, parity=parity_with(parity))
    return results(scores, [Score({("m", "none"): value}) for value in values])["m,none"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["aggregation"])
def test_aggregates_and_errors_are_those_of_lm_eval(case: dict[str, Any]) -> None:
    name = case["aggregation"]
    values = [math.nan if value is None else value for value in case["values"]]
    assert FUNCTIONS[name](values) == pytest.approx(case["value"], rel=1e-12)
    if name != "median":
        measured = [value for value in values if value == value]
        assert AGGREGATIONS[name].aggregate(measured) == pytest.approx(case["value"], rel=1e-12)
    stated = stated_stderr(name, name, values, case["iterations"])
    assert stated == (case["stderr"] if case["stderr"] == "N/A" else pytest.approx(case["stderr"], rel=1e-9))


def test_no_error_is_stated_for_one_value_a_function_or_no_resamples() -> None:
    assert stated_stderr("acc", "mean", [1.0]) == "N/A"
    assert stated_stderr("acc", "", [1.0, 0.0]) == "N/A"
    assert stated_stderr("acc", "mean", [1.0, 0.0], 0) == "N/A"
    assert stated_stderr("acc", "mean", [1.0, 0.0], None) == "N/A"
    assert stated_stderr("bypass", "bypass", ["a", "b"]) == "N/A"


def test_metrics_that_only_values_name_are_means() -> None:
    scores = scorer(metric_list=[{"metric": "acc"}], process_results=len)
    found = results(
        scores,
        [Score({("acc", "none"): 1.0, ("extra", "none"): 2.0}), Score({("acc", "none"): 0.0, ("extra", "none"): 5.0})],
    )
    assert {key: (result.value, result.n) for key, result in found.items()} == {
        "acc,none": (0.5, 2),
        "extra,none": (3.5, 2),
    }


def test_parts_of_a_metric_are_aggregated_as_it_is() -> None:
    def pass_at_k(references: list[str], predictions: list[str]) -> dict[str, float]:
        return {"pass@1": float(predictions[0] == references[0])}

    entry = {"metric": pass_at_k, "aggregation": lambda values: max(values), "higher_is_better": False}
    scores = scorer(metric_list=[entry])
    found = results(scores, [scored(scores, {"a": "x"}, "x"), scored(scores, {"a": "x"}, "y")])
    assert [(key, result.value, result.higher_is_better) for key, result in found.items()] == [
        ("pass@1,none", 1.0, False)
    ]


def test_samples_without_a_score_or_a_metric_are_left_out() -> None:
    scores = scorer(metric_list=[{"metric": "acc"}, {"metric": "rare"}], process_results=len)
    found = results(scores, [Score({("acc", "none"): 1.0}), None, Score({("acc", "none"): 0.0, ("rare", "none"): 4.0})])
    assert [(key, result.value, result.n) for key, result in found.items()] == [
        ("acc,none", 0.5, 2),
        ("rare,none", 4.0, 1),
    ]


def test_a_task_none_of_whose_samples_has_a_score_has_results_without_values() -> None:
    found = results(scorer("multiple_choice", doc_to_choice="c"), [None, None])
    assert [(key, result.value, result.n) for key, result in found.items()] == [
        ("acc,none", None, 0),
        ("acc_norm,none", None, 0),
    ]


def test_an_authors_aggregation_is_called_once_over_all_values() -> None:
    calls: list[Any] = []

    def agree(items: list[Any]) -> float:
        calls.append(items)
        return 0.25

    assert of_values([[1, 2], [3, 3]], aggregation=agree).value == 0.25
    assert calls == [[[1, 2], [3, 3]]]


def test_a_mean_that_task_code_names_is_the_mean() -> None:
    result = of_values([1.0, 0.0, 1.0] * 10, aggregation=mean)
    assert result.interval is not None
    assert result.stderr == pytest.approx(statistics.stdev([1, 0, 1] * 10) / math.sqrt(30))


def test_nan_is_no_value() -> None:
    result = of_values([1.0, math.nan, 0.0], aggregation="nanmean")
    assert (result.value, result.n) == (0.5, 2)


def test_an_aggregation_that_fails_leaves_the_others_alone() -> None:
    def broken(items: list[Any]) -> float:
        raise ZeroDivisionError("nothing")

    scores = scorer(metric_list=[{"metric": "acc"}, {"metric": "b", "aggregation": broken}], process_results=len)
    failures: list[Any] = []
    found = results(scores, [Score({("acc", "none"): 1.0, ("b", "none"): 1})], failed=failures.append)
    assert (found["acc,none"].value, found["b,none"].value) == (1.0, None)
    assert "'b' of task 't' raised ZeroDivisionError: nothing" in str(failures[0])


@difference("median-upper", here=2.5, there=4.0)
def test_a_median_lies_between_the_two_in_the_middle(parity: str, expected: float) -> None:
    assert of_values([4.0, 1.0, 0.0, 9.0], parity=parity, aggregation="median").value == expected


@difference("fewest-references", here=True, there=False)
def test_all_references_count(parity: str, expected: bool) -> None:
    values = [
        [["a cat sat", "the dog ran home now"], "the dog ran home now"],
        ["one two three four", "one two three four"],
    ]
    assert (of_values(values, parity=parity, aggregation="bleu").value > 99) is expected


@difference("resampled-error", here=("bootstrap", True), there=("bootstrap", False))
def test_errors_are_those_of_polymeter(parity: str, expected: tuple[str, bool]) -> None:
    values = [-1.0, -2.0, -2.5, -4.0, -1.5, -3.0] * 6
    result = of_values(values, parity=parity, aggregation="perplexity")
    assert (result.stderr_method, result.interval is not None) == expected
    assert (result.stderr == pytest.approx(stated_stderr("m", "perplexity", values))) is (parity != "none")


# --- groups -----------------------------------------------------------------------------------------------------------


def test_a_group_states_what_lm_eval_states() -> None:
    leaves = [
        {"acc,none": value, "acc_stderr,none": error, "sample_len": size}
        for value, error, size in zip((0.2, 0.5, 0.9), (0.1, 0.05, 0.02), (10, 35, 7), strict=True)
    ]
    weighted = stated_group(aggregates({"metric": "acc"}, ""), leaves)
    assert weighted == {
        "acc,none": pytest.approx(0.49615384615384617),
        "acc_stderr,none": pytest.approx(0.039081888830209986),
        "sample_len": 52,
        "sample_count": {"acc,none": 52},
    }
    plain = stated_group(aggregates([{"metric": "acc", "weight_by_size": False, "filter_list": "none"}], ""), leaves)
    assert plain["acc,none"] == pytest.approx(1.6 / 3)
    assert plain["acc_stderr,none"] == pytest.approx(0.03785938897200183)
    leaves[0]["acc_stderr,none"] = "N/A"
    assert stated_group(aggregates({"metric": "acc"}, ""), leaves)["acc_stderr,none"] == "N/A"
    assert stated_group(aggregates({"metric": "f1"}, ""), leaves) == {"sample_len": 52}


def test_a_group_finds_a_metric_by_its_function() -> None:
    function = FunctionRef("bleu", "smoothed_bleu_4", Path(), Path("g.yaml"), 3)
    (entry,) = aggregates({"metric": function}, "g.yaml:3")
    leaf = {"smoothed_bleu_4,none": 0.5, "smoothed_bleu_4_stderr,none": "N/A", "sample_len": 2}
    assert stated_group([entry], [leaf])["smoothed_bleu_4,none"] == 0.5


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("acc", "must be a list"),
        ([{"filter_list": "none"}], "needs 'metric'"),
        ([{"metric": "acc", "weight_by_sise": True}], "no key 'weight_by_sise'.*'weight_by_size'"),
        ([{"metric": "acc", "aggregation": max}], "results of a group are means"),
    ],
)
def test_what_a_group_cannot_aggregate_is_refused(listed: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        aggregates(listed, "g.yaml:3")


def grouped(
    results_of: dict[str, list[Result]],
    members: dict[str, tuple[str, ...]],
    entry: dict[str, Any],
    parity: str = "none",
) -> list[Result]:
    """The results of the group ``all``."""
    groups = {
        name: GroupSpec(name, "", below, aggregates(entry, "") if name == "all" else ())
        for name, below in members.items()
    }
    failures: list[str] = []
    found = reduce_groups(groups, results_of, parity_with(parity), failures.append)
    assert failures == []
    return list(found["all"])


def test_a_group_is_over_all_tasks_below_it_and_all_filters() -> None:
    def task(value: float, n: int) -> list[Result]:
        return [Result("acc", "strict", value, n, stderr=0.1), Result("acc", "loose", 1.0, n), Result("f1", "x", 0, n)]

    tasks = {"a": task(0.0, 10), "b": task(0.5, 30), "c": task(1.0, 60)}
    found = grouped(tasks, {"all": ("a", "inner"), "inner": ("b", "c")}, {"metric": "acc"})
    assert [(each.metric, each.filter, each.value, each.n) for each in found] == [
        ("acc", "loose", 1.0, 100),
        ("acc", "strict", pytest.approx(0.75), 100),
    ]
    plain = grouped(
        tasks, {"all": ("a", "b", "c")}, {"metric": "acc", "filter_list": "strict", "weight_by_size": False}
    )
    assert [each.value for each in plain] == [pytest.approx(0.5)]


@difference("group-task-twice", here=0.5, there=2 / 3)
def test_a_task_that_is_below_a_group_twice_counts_once(parity: str, expected: float) -> None:
    tasks = {"a": [Result("acc", "none", 1.0, 10)], "b": [Result("acc", "none", 0.0, 10)]}
    members = {"all": ("one", "two"), "one": ("a", "b"), "two": ("a",)}
    assert grouped(tasks, members, {"metric": "acc"}, parity)[0].value == pytest.approx(expected)


@difference("group-sizes", here=0.75, there=0.5)
def test_a_number_weighs_what_it_rests_on(parity: str, expected: float) -> None:
    tasks = {
        "a": [Result("acc", "none", 1.0, 30), Result("other", "none", 1.0, 30)],
        "b": [Result("acc", "none", 0.0, 10), Result("other", "none", 0.0, 30)],
    }
    assert grouped(tasks, {"all": ("a", "b")}, {"metric": "acc"}, parity)[0].value == pytest.approx(expected)


@difference(
    "pooled-group-error", here=math.sqrt(1.0**2 + 3.0**2) / 40, there=math.sqrt(0.01 * (9 * 10 + 29 * 30) / 38 / 40)
)
def test_the_error_of_a_weighted_group_is_that_of_independent_means(parity: str, expected: float) -> None:
    tasks = {"a": [Result("acc", "none", 0.5, 10, stderr=0.1)], "b": [Result("acc", "none", 0.5, 30, stderr=0.1)]}
    result = grouped(tasks, {"all": ("a", "b")}, {"metric": "acc"}, parity)[0]
    assert result.stderr == pytest.approx(expected)
    unweighted = grouped(tasks, {"all": ("a", "b")}, {"metric": "acc", "weight_by_size": False}, parity)[0]
    assert unweighted.stderr == pytest.approx(math.sqrt(0.02) / 2)
