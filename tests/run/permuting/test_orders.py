"""The orders of choices, and choices that keep their questions in one order."""

from __future__ import annotations

import math

import pytest

from polymeter.run.permuting.orders import orders_of
from polymeter.run.permuting.references import refer_to_places


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_as_many_orders_as_choices_show_each_choice_at_each_place(n: int) -> None:
    orders = orders_of(n, n, 0, "task", "1")
    assert orders[0] == tuple(range(n))
    assert all({order[place] for order in orders} == set(range(n)) for place in range(n))


@pytest.mark.parametrize(("n", "k"), [(4, 3), (4, 6), (4, 24), (4, 30), (6, 4), (10, 12), (2, 5), (26, 30)])
def test_orders_are_different_permutations_and_the_first_is_the_authors(n: int, k: int) -> None:
    orders = orders_of(n, k, 7, "task", "1")
    assert orders[0] == tuple(range(n))
    assert len(set(orders)) == len(orders) == min(k, math.factorial(min(n, 12)))
    assert all(sorted(order) == list(range(n)) for order in orders)


def test_drawn_orders_depend_on_seed_task_and_sample_alone() -> None:
    own = orders_of(8, 5, 7, "task", "1")
    assert own == orders_of(8, 5, 7, "task", "1")
    others = {
        orders_of(8, 5, seed, task, sample)
        for seed, task, sample in ((8, "task", "1"), (7, "x", "1"), (7, "task", "2"))
    }
    assert own not in others
    assert len(others) == 3
    assert orders_of(8, 9, 7, "task", "1")[:5] == own, "more orders begin with the same ones"


@pytest.mark.parametrize(
    "texts",
    [
        ("a cat", "a dog", "None of the above"),
        ("a cat", "a dog", "All of the above."),
        ("All of these options", "a dog"),
        ("none of these", "a dog"),
        ("a cat", "a dog", "A and B"),
        ("a cat", "a dog", "Both A and B"),
        ("a cat", "a dog", "a bird", "A, B, and C"),
        ("a cat", "a dog", "Neither (A) nor (B)"),
        ("a cat", "a dog", "Only A"),
        ("a cat", "the first option"),
        ("猫", "狗", "以上都不是"),
        ("猫", "狗", "A和B"),
    ],
)
def test_choices_that_refer_to_places(texts: tuple[str, ...]) -> None:
    assert refer_to_places(texts)


@pytest.mark.parametrize(
    "texts",
    [
        ("a cat", "a dog"),
        ("A and B", "B and C", "A and C"),  # the points of a figure
        ("All cats", "Some dogs", "No birds"),
        ("None", "One", "Two"),
        ("I and II only", "II only"),
        ("The plane above the house", "The car"),
        ("Vitamin A and vitamin B", "Vitamin C"),
    ],
)
def test_choices_that_do_not(texts: tuple[str, ...]) -> None:
    assert not refer_to_places(texts)
