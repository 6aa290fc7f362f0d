"""Which samples an HTML report shows."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from polymeter.report.choose import choose

SAMPLE = st.tuples(st.sampled_from(["ok", "ok", "ok", "error"]), st.floats(0, 1))


def made(pairs):
    return [{"place": place, "status": status, "value": value} for place, (status, value) in enumerate(pairs)]


def places(choice):
    return [sample["place"] for sample in choice.samples]


@given(st.lists(SAMPLE, max_size=200), st.integers(1, 40))
def test_the_choice_is_bounded_ordered_and_counts_everything(pairs, limit):
    samples = made(pairs)
    choice = choose(iter(samples), limit, lambda sample: sample["value"])
    assert len(choice.samples) == min(limit, len(samples))
    assert places(choice) == sorted(set(places(choice)))
    assert sorted(choice.ranks) == list(range(len(choice.samples)))
    assert choice.n_total == len(samples)
    assert choice.n_failed == sum(status != "ok" for status, _ in pairs)


@given(st.lists(SAMPLE, min_size=1, max_size=200), st.integers(4, 40))
def test_failures_and_the_worst_are_shown(pairs, limit):
    choice = choose(iter(made(pairs)), limit, lambda sample: sample["value"])
    if choice.n_failed <= limit * 0.75:
        assert choice.n_failed_shown == choice.n_failed
    scored = [value for status, value in pairs if status == "ok"]
    if scored:
        assert min(scored) in [sample["value"] for sample in choice.samples if sample["status"] == "ok"]


def test_the_rest_is_spread_over_the_whole_dataset():
    choice = choose(iter(made([("ok", 1.0)] * 1000)), 40, lambda sample: None)
    shown = places(choice)
    assert shown[0] < 50
    assert shown[-1] > 900
    assert max(b - a for a, b in itertools.pairwise(shown)) < 100


def test_a_run_of_failures_leaves_room_for_answers():
    pairs = [("error", 0.0)] * 500 + [("ok", 0.5)] * 500
    choice = choose(iter(made(pairs)), 40, lambda sample: sample["value"])
    assert choice.n_failed_shown == 30
    assert len(choice.samples) == 40


def test_when_all_failed_the_report_is_full_of_failures():
    assert len(choose(iter(made([("error", 0.0)] * 500)), 40, lambda sample: None).samples) == 40


def test_no_samples_are_no_trouble():
    assert choose(iter([]), 10, lambda sample: None).samples == ()
