"""The results of groups: weighted or plain means of what their members have, with the error that follows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polymeter.core.errors import ScoreError
from polymeter.core.names.parity import NO_PARITY
from polymeter.core.options import RunOptions
from polymeter.core.records.progress import Silence
from polymeter.core.task import GroupSpec, Result
from polymeter.models.mock import MockBatch
from polymeter.run.finish.groups import mark_lost_subsets, reduce_group, reduce_groups
from polymeter.run.plan.plan import Plan
from polymeter.run.plan.selection import SelectedTasks
from polymeter.run.session import run_plan
from polymeter.stats import mean_spread, sum_interval
from polymeter.store.folder import RunFolder
from tests.helpers.tasks import ListTask, answer_of, docs

RESULTS = {
    "one": [Result("acc", "none", 0.5, 100, stderr=0.03, higher_is_better=True), Result("f1", "none", 0.9, 100)],
    "two": [Result("acc", "none", 0.8, 300, stderr=0.04, higher_is_better=True)],
}


def reduced(results: Any = RESULTS, members: tuple[str, ...] = ("one", "two"), **aggregate: Any) -> list[Result]:
    group = GroupSpec("both", "Both", members, ({"metric": "acc", **aggregate},), Path("g.yaml"))
    return reduce_group(group, results)


def test_groups_are_reduced_members_first_whatever_their_order() -> None:
    mean = ({"metric": "m", "aggregation": "mean"},)
    inner, outer = GroupSpec("in", "in", ("t",), mean), GroupSpec("out", "out", ("in",), mean)
    failures: list[str] = []
    for order in ([inner, outer], [outer, inner]):
        specs = {group.name: group for group in order}
        reduced = reduce_groups(specs, {"t": [Result("m", "none", 0.5, 10)]}, NO_PARITY, failures.append)
        assert {name: [result.value for result in results] for name, results in reduced.items()} == {
            "in": [0.5],
            "out": [0.5],
        }
    assert not failures


def test_a_group_whose_aggregation_fails_is_told_and_has_no_results() -> None:
    def broken(values: Any, sizes: Any, is_weighted: bool) -> float:
        raise ValueError("not today")

    specs = {
        name: GroupSpec(name, name, ("t",), ({"metric": "m", "aggregation": how},))
        for name, how in (("bad", broken), ("good", "mean"))
    }
    failures: list[str] = []
    reduced = reduce_groups(specs, {"t": [Result("m", "none", 0.5, 10)]}, NO_PARITY, failures.append)
    assert reduced["bad"] == []
    assert [result.value for result in reduced["good"]] == [0.5]
    assert "not today" in failures[0]


def test_a_plain_mean_counts_every_member_once() -> None:
    (result,) = reduced()
    assert result.value == pytest.approx(0.65)
    assert result.stderr == pytest.approx(math.hypot(0.03, 0.04) / 2)
    assert (result.n, result.stderr_method, result.higher_is_better) == (400, "pooled", True)
    assert (result.interval, result.no_interval) == (None, "the uncertainty of a member is not known")


def test_a_mean_is_the_same_to_the_last_digit_under_every_version_of_python() -> None:
    members = tuple(f"member_{n}" for n in range(10))
    (result,) = reduced({name: [Result("acc", "none", 0.1, 7, stderr=0.1)] for name in members}, members)
    assert (result.value, result.stderr) == (0.1, math.sqrt(math.fsum([0.1 * 0.1] * 10)) / 10)


def test_the_interval_of_a_group_is_that_of_a_sum_of_its_members() -> None:
    spreads = {
        "one": mean_spread(np.repeat([1.0, 0.0], 10), None, (0, 1)),
        "two": mean_spread(np.ones(20), None, (0, 1)),
    }
    results = {name: [Result("acc", "none", s.mean, 20, stderr=0.1, spread=s)] for name, s in spreads.items()}
    (result,) = reduced(results)
    assert result.interval == sum_interval(((0.5, spreads["one"]), (0.5, spreads["two"]))).interval
    assert result.ci_method == "score"
    outer = GroupSpec("outer", "Outer", ("both", "one"), ({"metric": "acc"},))
    (nested,) = reduce_group(outer, {**results, "both": [result]}, {"both"})
    assert nested.interval == sum_interval(((0.75, spreads["one"]), (0.25, spreads["two"]))).interval


def test_a_group_names_the_members_that_it_lacks() -> None:
    lost = {**RESULTS, "two": [Result("acc", "none", None, 0)]}
    (result,) = reduced(lost)
    assert (result.value, result.n_members, result.failed_members) == (0.5, 2, ("two",))
    assert (result.interval, result.no_interval) == (None, "a member has no result")
    (whole,) = reduced()
    assert (whole.n_members, whole.failed_members) == (2, ())
    (raised,) = reduced({**RESULTS, "two": []})
    assert raised.failed_members == ("two",)
    outer = GroupSpec("outer", "Outer", ("both", "one"), ({"metric": "acc"},))
    (nested,) = reduce_group(outer, {**lost, "both": [result]}, {"both"})
    assert (nested.n_members, nested.failed_members) == (3, ("both/two",))


def test_a_member_without_the_metric_is_not_missing() -> None:
    (result,) = reduced({**RESULTS, "two": [Result("f1", "none", 0.8, 300)]})
    assert (result.n_members, result.failed_members) == (1, ())


def test_a_task_names_the_subsets_that_it_lacks() -> None:
    results = [
        Result("acc", "none", 0.5, 4),
        Result("acc", "none", 0.5, 4, ("a",)),
        Result("acc", "none", None, 0, ("b",)),
    ]
    whole, *_ = mark_lost_subsets(results, {("a",): True, ("b",): False})
    assert (whole.n_members, whole.failed_members) == (2, ("b",))
    assert mark_lost_subsets(results[:2], {("a",): True})[0].failed_members == ()


def test_a_weighted_mean_counts_members_by_their_samples() -> None:
    (result,) = reduced(weight_by_size=True)
    assert result.value == pytest.approx((0.5 * 100 + 0.8 * 300) / 400)
    assert result.stderr == pytest.approx(math.hypot(100 * 0.03, 300 * 0.04) / 400)


def test_an_error_is_known_only_when_every_members_is() -> None:
    results = {**RESULTS, "two": [Result("acc", "none", 0.8, 300)]}
    (result,) = reduced(results)
    assert (result.stderr, result.interval, result.stderr_method) == (None, None, None)


@pytest.mark.parametrize("value", [None, math.nan, "text", {"a": 1}, True])
def test_a_member_without_a_number_does_not_count(value: Any) -> None:
    (result,) = reduced({**RESULTS, "two": [Result("acc", "none", value, 300)]})
    assert (result.value, result.n) == (0.5, 100)


def test_only_whole_tasks_and_the_filter_that_was_named_count() -> None:
    results = {
        "one": [
            Result("acc", "strict", 0.1, 10),
            Result("acc", "none", 0.2, 5, subset=("en",)),
            Result("acc", "none", 0.3, 10),
        ]
    }
    assert [result.value for result in reduced(results)] == [0.3]
    found = reduced(results, filter_list=["strict", "none", "absent"])
    assert [(result.filter, result.value) for result in found] == [("strict", 0.1), ("none", 0.3)]


def test_members_that_disagree_on_the_direction_give_none() -> None:
    results = {**RESULTS, "two": [Result("acc", "none", 0.8, 300, higher_is_better=False)]}
    assert reduced(results)[0].higher_is_better is None


def test_a_group_of_nothing_has_no_result() -> None:
    assert reduced({}) == []
    assert reduce_group(GroupSpec("g", "G", ("one",)), RESULTS) == []


def test_a_function_of_the_author_gets_values_sizes_and_the_wish() -> None:
    calls: list[Any] = []

    def aggregate(*arguments: Any) -> float:
        calls.append(arguments)
        return 7.0

    (result,) = reduced(aggregation=aggregate, weight_by_size=True)
    assert calls == [([0.5, 0.8], [100, 300], True)]
    assert (result.value, result.n, result.stderr) == (7.0, 400, None)


def test_a_function_that_fails_is_attributed() -> None:
    def aggregate(*_: Any) -> float:
        raise ZeroDivisionError("no members")

    with pytest.raises(ScoreError, match="Aggregating group 'both' raised ZeroDivisionError") as caught:
        reduced(aggregation=aggregate)
    assert caught.value.where.startswith(__file__)


def test_a_group_whose_function_fails_costs_no_other_result(tmp_path: Path) -> None:
    def aggregate(*_: Any) -> float:
        raise ZeroDivisionError("no members")

    task = ListTask(docs(3))
    group = GroupSpec("both", "Both", ("list",), ({"metric": "exact_match", "aggregation": aggregate},))
    plan = Plan(
        MockBatch(answer_of),
        None,
        ("both",),
        SelectedTasks((task.spec,), (group,)),
        RunOptions(),
        opened=(task.as_task(),),
    )
    outcome = run_plan(plan, RunFolder(tmp_path / "run"), Silence())
    assert outcome.results["tasks"]["list"]["results"][0]["value"] == 1.0
    assert outcome.results["groups"]["both"]["results"] == []
    assert any("Aggregating group 'both' raised ZeroDivisionError" in note for note in outcome.results["notes"])
    assert outcome.n_failed == 1


@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_member_of_no_samples_does_not_count(is_weighted: bool) -> None:
    empty = {"one": [Result("acc", "none", 0.0, 0)]}
    (nothing,) = reduced(empty, weight_by_size=is_weighted)
    assert (nothing.value, nothing.n, nothing.failed_members) == (None, 0, ("one",))
    (result,) = reduced({**RESULTS, **empty}, weight_by_size=is_weighted)
    assert result.value == 0.8
