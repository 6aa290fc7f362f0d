"""Which samples an HTML report shows first."""

from __future__ import annotations

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from polymeter.report.run.choose import order_of
from tests.report.synthetic import result, sample, task

SAMPLE = st.tuples(st.sampled_from(["ok", "ok", "ok", "error"]), st.floats(0, 1))


def scored(place, value, status="ok", metric="exact_match"):
    return sample(place, status=status, scores=[{"metric": metric, "filter": "none", "value": value}])


def ordered(pairs, **values):
    samples = [scored(place, value, status) for place, (status, value) in enumerate(pairs)]
    return order_of(task("T", [result("exact_match", 0.5, len(samples), **values)], len(samples)), iter(samples))


@given(st.lists(SAMPLE, max_size=200))
def test_every_sample_has_one_place_in_the_order(pairs):
    order = ordered(pairs)
    assert sorted(order.places) == list(range(len(pairs)))
    assert order.n_failed == sum(status != "ok" for status, _ in pairs)


@given(st.lists(SAMPLE, min_size=1, max_size=200), st.integers(4, 40))
def test_failures_and_the_worst_come_first(pairs, limit):
    order = ordered(pairs)
    first = order.places[:limit]
    n_failed = sum(order.failed[place] for place in first)
    if order.n_failed <= limit * 0.75:
        assert n_failed == order.n_failed
    values = [value for status, value in pairs if status == "ok"]
    if values:
        assert min(values) in [pairs[place][1] for place in first if not order.failed[place]]


def test_three_of_four_of_those_with_a_score_are_the_worst():
    order = ordered([("ok", place / 1000) for place in range(1000)])
    assert set(range(30)) <= set(order.places[:40])


def test_lower_is_worse_only_where_higher_is_better():
    pairs = [("ok", value) for value in (0.2, 0.9, 0.5)]
    assert ordered(pairs).places[0] == 0
    assert ordered(pairs, higher_is_better=False).places[0] == 1


def test_the_rest_is_spread_over_the_whole_dataset():
    order = ordered([("ok", math.nan)] * 1000)
    shown = sorted(order.places[:40])
    assert order.main is None
    assert shown[0] < 50
    assert shown[-1] > 900
    assert max(b - a for a, b in itertools.pairwise(shown)) < 100


def test_a_run_of_failures_leaves_room_for_answers():
    order = ordered([("error", 0.0)] * 500 + [("ok", 0.5)] * 500)
    assert sum(order.failed[place] for place in order.places[:40]) == 30


def test_when_all_failed_the_report_is_full_of_failures():
    assert len(ordered([("error", 0.0)] * 500).places) == 500


def test_no_samples_are_no_trouble():
    assert list(ordered([]).places) == []


def test_the_metric_that_orders_is_the_one_that_most_samples_have():
    samples = [scored(0, 0.1, metric="rare"), *(scored(place, place / 10) for place in range(1, 9))]
    results = [result("rare", 0.1, 1), result("exact_match", 0.5, 8)]
    order = order_of(task("T", results, 9), samples)
    assert order.main is not None
    assert order.main.metric == "exact_match"
    assert order.places[0] == 1


def test_the_least_and_greatest_value_of_each_metric_are_known():
    samples = [scored(place, value, metric="cer") for place, value in enumerate([0.25, math.nan, 2.0])]
    order = order_of(
        task("T", [result("cer", 1.0, 3, higher_is_better=False), result("acc", 1.0, 3)], 3), iter(samples)
    )
    assert order.extents == {"cer": (0.25, 2.0)}
