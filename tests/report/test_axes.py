"""Axes of drawings: places, and the round numbers beside them."""

from __future__ import annotations

import pytest

from polymeter.report.axes import Axis


@pytest.mark.parametrize(
    ("axis", "n", "texts"),
    [
        (Axis(0.43, 0.91, 0, 100), 5, ["0.5", "0.6", "0.7", "0.8", "0.9"]),
        (Axis(0.5, 0.6, 0, 100), 4, ["0.500", "0.525", "0.550", "0.575", "0.600"]),
        (Axis(100, 900, 0, 100, is_whole=True), 4, ["200", "400", "600", "800"]),
        (Axis(0, 1, 0, 100, is_whole=True), 4, ["0", "1"]),
        (Axis(1_250_000, 1_250_000, 0, 100, is_whole=True), 4, ["1,250,000"]),
        (Axis(0.3, 900, 0, 100, is_logarithmic=True), 6, ["1", "10", "100"]),
        (Axis(-0.2, 0.2, 0, 100), 4, ["-0.2", "-0.1", "0.0", "0.1", "0.2"]),
    ],
)
def test_ticks_are_round_numbers_within_the_axis(axis, n, texts):
    ticks = axis.ticks(n)
    assert [tick.text for tick in ticks] == texts
    assert all(-1e-6 <= tick.at <= 100 + 1e-6 for tick in ticks)


def test_values_lie_between_the_ends_and_one_alone_in_the_middle():
    assert Axis(0, 10, 200, 100).place(2.5) == 175
    assert Axis(1, 100, 0, 100, is_logarithmic=True).place(10) == pytest.approx(50)
    assert Axis(3, 3, 0, 100).place(3) == 50
