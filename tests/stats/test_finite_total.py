"""The sum over a finite population of which a random sample is known."""

from __future__ import annotations

import math
import random

import pytest

from polymeter.stats.finite_total import Predicted, predict_rest, total

Values = list[tuple[float, float]]


def drawn(kind: str, source: random.Random, n: int = 300) -> Values:
    """A population: sizes and values."""
    sizes = [source.lognormvariate(5, 0.6) for _ in range(n)]
    if kind == "in proportion":
        return [(size, 2 * size * source.uniform(0.9, 1.1)) for size in sizes]
    if kind == "not related":
        return [(size, source.lognormvariate(3, 0.5)) for size in sizes]
    if kind == "both":
        return [(size, 0.5 * size + source.lognormvariate(4, 0.6)) for size in sizes]
    return [(size, min(source.lognormvariate(4, 1.0), 200.0)) for size in sizes]


@pytest.mark.parametrize("kind", ["in proportion", "not related", "both", "cut off"])
def test_the_range_holds_the_sum_in_nine_of_ten(kind: str) -> None:
    source = random.Random(kind)
    n_held = 0
    for _ in range(200):
        values = drawn(kind, source)
        source.shuffle(values)
        known, rest = values[:20], values[20:]
        interval = predict_rest(known, [size for size, _ in rest]).interval()
        assert interval is not None
        n_held += interval[0] <= sum(value for _, value in rest) <= interval[1]
    assert n_held >= 184


def test_the_range_is_wider_as_long_as_it_is_within_a_factor_of_two() -> None:
    narrow, wide, wider = (Predicted(100.0, error**2, 18.0).interval() for error in (5.0, 14.0, 30.0))
    assert narrow
    assert wide
    assert wider
    assert math.log(narrow[1] / 100) == pytest.approx(0.05 * 2.878, rel=1e-3)  # Student's, at 99 %
    assert wide[1] / wide[0] == pytest.approx(2)
    assert math.log(wider[1] / 100) == pytest.approx(0.30 * 1.734, rel=1e-3)  # and at 90 %


def test_a_known_size_narrows_the_range() -> None:
    values = drawn("in proportion", random.Random(1))
    known, rest = values[:20], values[20:]
    by_size = predict_rest(known, [size for size, _ in rest])
    by_mean = predict_rest([(1.0, value) for _, value in known], [1.0] * len(rest))
    assert by_size.variance < by_mean.variance / 20
    assert by_size.value == pytest.approx(sum(value for _, value in rest), rel=0.05)


def test_equal_values_are_certain() -> None:
    predicted = predict_rest([(5.0, 3.0)] * 10, [5.0] * 40)
    assert predicted.interval() == pytest.approx((120.0, 120.0))


def test_nothing_is_left() -> None:
    assert predict_rest([(1.0, 2.0)], []).interval() == (0.0, 0.0)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_two_values_show_no_range(n: int) -> None:
    predicted = predict_rest([(1.0, 2.0), (2.0, 5.0)][:n], [1.0, 1.0])
    assert predicted.interval() is None
    assert math.isinf(predicted.variance)


def test_a_line_never_leads_below_zero() -> None:
    known = [(float(size), 100.0 - size) for size in range(90, 100)]
    assert predict_rest(known, [500.0] * 5).value > 0


def test_errors_of_independent_sums_add_in_squares() -> None:
    one = Predicted(100.0, 9.0, 10.0)
    both = total([one, one, one, one])
    assert both.value == 400
    assert both.variance == 36
    assert both.df == pytest.approx(40)
    alone, whole = one.interval(), both.interval()
    assert alone is not None
    assert whole is not None
    assert math.log(whole[1] / whole[0]) < math.log(alone[1] / alone[0])
