"""Values of orders of choices in a score, alone and with repeats."""

from __future__ import annotations

import math

import pytest

from polymeter.core.records.attempts import (
    estimates_among,
    is_of_part,
    orders_in,
    own_filter,
    repeats_in,
    shown_filters,
    with_means,
)


def test_names() -> None:
    assert all(map(is_of_part, ("order 1", "repeat 2", "strict/order 3", "order 1/repeat 2", "a/order 1/repeat 2")))
    assert not any(map(is_of_part, ("none", "all orders", "order sd", "order", "disorder 1")))
    assert [*map(own_filter, ("order 1", "strict/order 3/repeat 1", "repeat 2", "x"))] == [
        "none",
        "strict",
        "none",
        "x",
    ]


def test_means_of_orders_of_repeats() -> None:
    values = {
        ("acc", f"order {order}/repeat {repeat}"): float(order == 1 or repeat == 2)
        for order in (1, 2)
        for repeat in (1, 2)
    }
    found = with_means(values)
    assert (found["acc", "order 1"], found["acc", "order 2"]) == (1, 0.5)
    assert (found["acc", "repeat 1"], found["acc", "repeat 2"]) == (0.5, 1)
    assert found["acc", "none"] == 0.75
    assert orders_in(values) == {("acc", "repeat 1"): [1, 0], ("acc", "repeat 2"): [1, 1]}
    assert repeats_in(values) == {("acc", "order 1"): [1, 1], ("acc", "order 2"): [0, 1]}


def test_a_missing_value_does_not_count() -> None:
    found = with_means({("acc", "strict/order 1"): 1.0, ("acc", "strict/order 2"): math.nan})
    assert found["acc", "strict"] == 1


@pytest.mark.parametrize("own", ["none", "strict"])
def test_estimates_and_the_filters_that_tables_show(own: str) -> None:
    before = "" if own == "none" else "strict/"
    names = [own, *(f"{before}{name}" for name in ("order 1", "order 2", "all orders", "order sd", "order spread"))]
    assert estimates_among([("acc", name) for name in names]) == {("acc", name) for name in names[1:]}
    assert shown_filters(names) == {name for name in names if not name.endswith("order 2")}
    assert estimates_among([("acc", "all orders"), ("acc", "none")]) == set(), "a filter of the task's own"
